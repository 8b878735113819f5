// Overrides of the command line that may also widen a sweep: key=a,b,c.
#include <nlohmann/json.hpp>

#include "ffn/config/study_config.hpp"
#include "ffn/core/files.hpp"

namespace ffn {

namespace {

// Splits at commas outside of brackets and quotes: "a,b" is two values, "[1,2]" and "concat(a, b)" one.
std::vector<std::string> split_values(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '[' || c == '{' || c == '(')) ++depth;
    if (!quoted && (c == ']' || c == '}' || c == ')')) --depth;
    if (c == ',' && depth == 0 && !quoted) parts.emplace_back();
    else parts.back() += c;
  }
  return parts;
}

// The study's grid, made if need be.
Json& grid_of(Document& document, const std::string& key, const std::string& shown) {
  Json* node = &document.tree();
  std::string walked;
  for (const char* section : {"sweep", "grid"}) {
    node = &(*node)[section];
    walked += (walked.empty() ? "" : ".") + std::string(section);
    if (node->is_null()) *node = Json::object();
    const std::string next = walked == "sweep" ? "grid" : key;
    if (!node->is_object()) throw UsageError(shown + ": " + walked + " is " + shortened(*node) + ", so it has no key " + shortened(next));
  }
  return *node;
}

bool sweeps(const Document& document, const std::string& key) {
  const auto pointer = Json::json_pointer("/sweep/grid/" + escape_pointer(key));
  return document.tree().contains(pointer);
}

// True if the file sweeps the key together with others.
bool moves_along(const Json& tree, const std::string& key) {
  if (!tree.contains("sweep") || !tree["sweep"].is_object()) return false;
  for (const char* list : {"zip", "include"}) {
    for (const auto& entry : tree["sweep"].value(list, Json::array())) {
      if (entry.is_object() && entry.contains(key)) return true;
    }
  }
  return false;
}

// The key that the file sweeps, in whatever way, and that would overrule a width on the command line; null if there is none.
const char* swept_width(const Document& document, const std::string& key) {
  const char* other = other_width(key);
  if (!other) return nullptr;
  const bool in_file = sweeps(document, other) && !document.origin("/sweep/grid/" + escape_pointer(other)).is_override();
  return in_file || moves_along(document.tree(), other) ? other : nullptr;
}

// tune.train.optimizer.lr=0.001,0.01 is {"tune": {"train.optimizer.lr": [0.001, 0.01]}}; tune.seeds=3 is how.
bool takes_tuning(Document& document, const std::string& key, const std::string& typed, const std::string& shown) {
  if (key.rfind("tune.", 0) != 0) return false;
  const std::string what = key.substr(5);
  Json& tune = document.tree()["tune"];
  if (tune.is_null()) tune = Json::object();
  if (!tune.is_object()) throw UsageError(shown + ": tune is " + shortened(tune) + ", so it has no key " + shortened(what));
  const auto parts = split_values(typed);
  Json value = override_value(typed, shown);
  const bool is_axis = what != "seeds" && what != "metric" && what != "retune";
  if (is_axis && !value.is_object() && !value.is_array()) {
    value = Json::array();
    for (const auto& part : parts) value.push_back(override_value(part, shown));
  }
  tune[what] = std::move(value);
  document.set_origin("/tune/" + escape_pointer(what), {shown, current_directory().string(), 0});
  return true;
}

}  // namespace

void apply_overrides(Document& document, const std::vector<std::string>& overrides) {
  for (const auto& text : overrides) {
    const auto [key, typed, shown] = split_override(text);
    if (takes_tuning(document, key, typed, shown)) continue;
    const bool describes_the_study = key == "seeds" || key.rfind("seeds.", 0) == 0 || key == "tune" || key.rfind("sweep", 0) == 0;
    const auto parts = split_values(typed);
    if (key == "seeds" && typed == "auto") {  // written out, so that seeds.max=200 may follow
      apply_override(document, "seeds={\"until\": \"settled\"}");
      continue;
    }
    if (key == "seeds" && parts.size() > 1) {
      apply_override(document, "seeds=[" + typed + "]");
      continue;
    }
    if (parts.size() > 1 && (key == "seed" || key == "name")) {
      throw UsageError(shown + " would make variants of a " + key,
                       key == "seed" ? "seeds are replicates: write seeds=3 or seeds=0,1,2" : "give one name");
    }
    if (!describes_the_study && moves_along(document.tree(), key)) {
      throw UsageError(shown + " would have no effect: the file sweeps " + key + " in zip or include",
                       "change the file, or extend it with another sweep");
    }
    if (const char* width = parts.size() == 1 && typed != "null" ? swept_width(document, key) : nullptr) {
      throw UsageError(shown + " would have no effect: the file sweeps " + width + ", which is the same width",
                       "sweep this one instead of it: change the file, or extend it with another sweep");
    }
    if (describes_the_study || (parts.size() == 1 && !sweeps(document, key))) {
      apply_override(document, text);
      continue;
    }
    Json values = Json::array();
    for (const auto& part : parts) values.push_back(override_value(part, shown));
    grid_of(document, key, shown)[key] = std::move(values);
    document.set_origin("/sweep/grid/" + escape_pointer(key), {shown, current_directory().string(), 0});
  }
}

}  // namespace ffn
