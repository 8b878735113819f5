// Overrides of the command line that may also widen a sweep: key=a,b,c.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "ffn/base/files.hpp"
#include "ffn/config/names.hpp"
#include "ffn/config/schema.hpp"
#include "ffn/config/study_config.hpp"

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

// An object of the document at `pointer`, made if need be.
Json& object_at(Document& document, const char* pointer, const std::string& shown) {
  try {
    Json& object = document.tree()[Json::json_pointer(pointer)];
    if (object.is_null()) object = Json::object();
    if (object.is_object()) return object;
  } catch (const Json::exception&) {  // a section above it is not an object
  }
  throw UsageError(shown + ": " + pointer + " is not an object { … }");
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

// The section above the key that every variant sets whole, so that the key would reach none of them; "" if there is none.
std::string set_whole_by_sweep(const Json& tree, const std::string& key) {
  if (!tree.contains("sweep") || !tree["sweep"].is_object()) return "";
  const auto list = [&](const char* name) { return tree["sweep"].value(name, Json::array()); };
  const Json grid = tree["sweep"].value("grid", Json::object()), zip = list("zip"), include = list("include");
  const auto has = [](const Json& object, const std::string& section) { return object.is_object() && object.contains(section); };
  for (auto dot = key.rfind('.'); dot != std::string::npos && dot > 0; dot = key.rfind('.', dot - 1)) {
    const std::string section = key.substr(0, dot);
    const auto sets = [&](const Json& entry) { return has(entry, section); };
    const bool crossed = has(grid, section) || std::any_of(zip.begin(), zip.end(), sets);
    const bool only_included = grid.empty() && zip.empty() && !include.empty();
    if (crossed || (only_included && std::all_of(include.begin(), include.end(), sets))) return section;
  }
  return "";
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
  Json& tune = object_at(document, "/tune", shown);
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

bool is_of_type(const std::string& key, const std::string& type) {
  static const auto types = [] {
    std::set<std::pair<std::string, std::string>> out;
    for (const auto& doc : key_docs(describe_document)) out.insert({override_path(doc.path), doc.type});
    return out;
  }();
  return types.count({key, type}) > 0;
}

// Keys whose values are words: name=20240101 is that name and no number.
bool is_text(const std::string& key) { return is_of_type(key, "text") || is_of_type(key, "path"); }

// Words and numbers for a key that takes a list: a, 1 and [a, 1] are {"a", 1}; none are an empty list. Nothing of other keys and of JSON.
std::optional<Json> list_of_words(const std::string& key, std::string typed) {
  if (!is_of_type(key, "list") || typed == "null" || (!typed.empty() && typed[0] == '[' && Json::accept(typed))) return std::nullopt;
  if (typed.size() > 1 && typed.front() == '[' && typed.back() == ']') typed = typed.substr(1, typed.size() - 2);
  Json out = Json::array();
  for (const auto& part : split_values(typed)) {
    const auto first = part.find_first_not_of(' '), last = part.find_last_not_of(' ');
    const std::string word = first == std::string::npos ? "" : part.substr(first, last - first + 1);
    const Json parsed = Json::parse(word, nullptr, /*allow_exceptions=*/false);
    const bool is_number = parsed.is_number() && key.rfind("engine.", 0) != 0;  // words of a command stay words
    out.push_back(is_number || (parsed.is_string() && word[0] == '"') ? parsed : Json(word));
  }
  return out == Json{""} ? Json::array() : out;
}

// Forms of other programs.
void refuse_sweep_function(const std::string& key, const std::string& typed, const std::string& shown) {
  for (const char* name : {"choice", "range", "linspace", "logspace", "interval", "uniform", "loguniform", "glob"}) {
    if (typed.rfind(std::string(name) + "(", 0) == 0)
      throw UsageError(shown + ": " + name + "(…) is no value",
                       "list the values: " + key +
                           "=0.1,0.2,0.4; a file may sweep {\"range\": [start, stop, step]} or {\"logspace\": [low, high, count]}");
  }
}

// A value as its key takes it; a text may stand in quotes.
Json typed_value(const std::string& key, const std::string& typed, const std::string& shown) {
  Json value = override_value(typed, shown);
  return is_text(key) && !value.is_string() ? Json(typed) : value;
}

// Keys that the study sets itself for each run.
void refuse_overruled(const Document& document, const std::vector<std::string>& overrides) {
  if (!is_study(document)) return;
  const Json tune = document.tree().value("tune", Json::object());
  for (const auto& text : overrides) {
    const auto [key, typed, shown] = split_override(text);
    if (key == "seed")
      throw UsageError(shown + " would have no effect: a study's runs have seeds",
                       "write seeds=[" + typed + "] for this one, or seeds=10 for ten");
    if (key.find('.') != std::string::npos && tune.is_object() && tune.contains(key))  // "seeds" of tune is how
      throw UsageError(shown + " would have no effect: the study tunes " + key,
                       "tune." + key + "=" + typed + " names the values that it is tuned over");
  }
}

}  // namespace

void apply_overrides(Document& document, const std::vector<std::string>& overrides) {
  const auto layer = document.new_layer();  // one for all: none of them is newer than the others
  std::set<std::string> given;
  for (const auto& text : overrides) {
    const auto [key, typed, shown] = split_override(text);
    if (!given.insert(key).second) throw UsageError(shown + ": " + key + " is given twice", "give it once");
    if (!is_text(key)) refuse_sweep_function(key, typed, shown);
    if (const auto words = list_of_words(key, typed)) {
      set_value(document, key, *words, {shown, current_directory().string(), 0, layer});
      continue;
    }
    if (takes_tuning(document, key, typed, shown)) continue;
    if (!is_text(key) && typed.size() > 1 && typed.front() == '[' && typed.back() == ']' && override_value(typed, shown).is_string()) {
      throw UsageError(shown + " is not a JSON list; its strings need quotes",
                       "to compare values, write them without brackets: " + key + "=" + typed.substr(1, typed.size() - 2));
    }
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
    if (const auto section = describes_the_study || parts.size() > 1 ? "" : set_whole_by_sweep(document.tree(), key); !section.empty()) {
      throw UsageError(shown + " would have no effect: the sweep sets " + section + " whole",
                       "put " + key.substr(section.size() + 1) + " into each value of " + section +
                           " in the file, or give two values or more to sweep it, too: " + key + "=a,b");
    }
    if (describes_the_study || (parts.size() == 1 && !sweeps(document, key))) {
      set_value(document, key, typed_value(key, typed, shown), {shown, current_directory().string(), 0, layer});
      continue;
    }
    Json values = Json::array();
    for (const auto& part : parts) values.push_back(typed_value(key, part, shown));
    object_at(document, "/sweep/grid", shown)[key] = std::move(values);
    document.set_origin("/sweep/grid/" + escape_pointer(key), {shown, current_directory().string(), 0});
  }
  refuse_overruled(document, overrides);
}

}  // namespace ffn
