#include "ffn/config/json_reader.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "ffn/base/files.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/base/text.hpp"
#include "ffn/config/names.hpp"
#include "ffn/config/schema.hpp"

namespace ffn {

namespace {

template <class T>
std::string bounds_text(const Bounds<T>& b) {
  const std::string low = number_text(b.low), high = number_text(b.high);
  if (b.high == std::numeric_limits<T>::max()) return (b.above ? "above " : "at least ") + low;
  return b.above ? "above " + low + " and at most " + high : "between " + low + " and " + high;
}

// Accepts 2000 and 2000.0, not 3.7: JSON knows one kind of number, a count is a whole one.
std::optional<std::int64_t> whole_number(const Json& value) {
  if (value.is_number_unsigned()) {
    const auto n = value.get<std::uint64_t>();
    if (n > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
    return static_cast<std::int64_t>(n);
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  const double x = value.get<double>();
  if (std::nearbyint(x) != x || std::abs(x) > 9007199254740992.0) return std::nullopt;  // 2^53: exact in a double
  return static_cast<std::int64_t>(x);
}

// A suggestion where there is one, and always the whole list.
std::string or_known(const std::string& typed, const std::vector<std::string>& names) {
  const auto usual = usual_name(typed, names);
  const auto suggestion = usual.empty() ? did_you_mean(typed, names) : "; here that is " + usual + ".";
  return (suggestion.empty() ? "; known: " : suggestion + " Known: ") + join(names);
}

// The remedy for an unknown key: it is another kind's or a study's, it belongs elsewhere, or it is mistyped.
std::string key_remedy(const Json& tree, const std::string& section, const std::string& key, const JsonReader::KindKeys& kinds,
                       const std::vector<std::string>& names) {
  if (const auto owners = kinds.find(key); owners != kinds.end())
    return "; only kind " + join(owners->second, " or ") + " has it" +
           (tree.contains("sweep") ? "; where kinds vary, each takes its own keys in sweep.include" : "");
  if (section == "/compute" && key == "tf32") return "; compute.precision=tf32 asks for it";
  if (section == "/log" && key == "tensorboard") return "; scripts/to_tensorboard DIR LOGDIR writes event files, also while runs train";
  const auto& all = override_paths();
  if (const auto meant = paths_ending_in(key); section == "/sweep" && meant.size() == 1)
    return "; keys that vary go into \"sweep\": {\"grid\": {\"" + meant[0] + "\": [...]}}";
  if (section.empty() && std::find(all.begin(), all.end(), key) != all.end())
    return "; it is for a study, which has \"seeds\" or \"sweep\"";
  std::string dotted = key;
  std::replace(dotted.begin(), dotted.end(), '/', '.');
  if (dotted != key && std::find(all.begin(), all.end(), dotted) != all.end()) return "; did you mean " + dotted + "?";
  std::vector<std::string> known = names;
  if (section.empty()) known.insert(known.end(), all.begin(), all.end());  // a study's keys, too
  const std::string near = did_you_mean(key, known), elsewhere = did_you_mean_path(key);
  return !elsewhere.empty() ? elsewhere : !near.empty() ? near : "; known here: " + join(names);
}

}  // namespace

JsonReader::JsonReader(const Document& document) : document_(document) {}

void JsonReader::read(const Describe& describe) { members(&document_.tree(), "", describe); }

void JsonReader::read_at(const std::string& pointer, const Describe& describe) {
  members(&document_.tree()[Json::json_pointer(pointer)], pointer, describe);
}

void JsonReader::check(const std::string& pointer, const Describe& facts) { members(nullptr, pointer, facts); }

std::string JsonReader::pointer_to(const std::string& name) const { return scopes_.back().pointer + "/" + escape_pointer(name); }

void JsonReader::problem(const std::string& pointer, const std::string& message) {
  problems.push_back({document_.origin(pointer).text(), pointer, message});
}

void JsonReader::wrong_type(const Field& field, const char* expected, const Json& found) {
  const std::string pointer = pointer_to(field.name);
  problem(pointer, std::string("expected ") + expected + ", got " + shortened(found) +
                       (found.is_array() && !std::strchr(expected, '{') ? instead_of_list(pointer, found) : ""));
}

// A list where one value belongs: its writer wants to compare the values.
std::string JsonReader::instead_of_list(const std::string& pointer, const Json& list) const {
  if (pointer == "/seed") return "; several seeds are \"seeds\"";
  const bool of_runs = pointer.rfind("/model/", 0) == 0 || pointer.rfind("/train/", 0) == 0 || pointer.rfind("/task/", 0) == 0 ||
                       pointer.rfind("/compute/", 0) == 0;
  if (!of_runs || list.empty()) return "";
  std::string key;
  for (const char c : pointer.substr(1)) key += c == '/' ? '.' : c;
  if (document_.origin(pointer).line == 0) return "; to compare values, write them without brackets: " + key + "=a,b";
  return "; to compare these, put them into \"sweep\": {\"grid\": {\"" + key + "\": " + shortened(list) + "}}";
}

const Json* JsonReader::find(const char* name) {
  auto& scope = scopes_.back();
  scope.known.insert(name);
  if (!scope.node) return nullptr;
  const auto found = scope.node->find(name);
  return found == scope.node->end() ? nullptr : &*found;
}

const Json* JsonReader::find_value(const char* name) {
  const Json* value = find(name);
  return value && value->is_null() ? nullptr : value;
}

void JsonReader::members(const Json* node, const std::string& pointer, const Describe& describe, bool has_kind, const KindKeys& kinds) {
  scopes_.push_back({node, pointer, {}});
  if (has_kind) scopes_.back().known.insert("kind");
  describe(*this);
  const auto& known = scopes_.back().known;
  if (node) {
    const std::vector<std::string> names(known.begin(), known.end());
    for (const auto& item : node->items()) {
      if (known.count(item.key())) continue;
      // A kind that was chosen on top of a config leaves the older kind's keys without meaning, not wrong.
      const auto layer = [&](const std::string& key) { return document_.origin(pointer + "/" + escape_pointer(key)).layer; };
      if (kinds.count(item.key()) && layer(item.key()) < layer("kind")) continue;
      problem(pointer + "/" + escape_pointer(item.key()),
              "unknown key " + shortened(item.key()) + key_remedy(document_.tree(), pointer, item.key(), kinds, names));
    }
  }
  scopes_.pop_back();
}

template <class T>
void JsonReader::take(const Field& field, T& member, T value, const Bounds<T>& bounds) {
  if (!bounds.contains(value))
    return problem(pointer_to(field.name), number_text(value) + " is out of range; expected " + bounds_text(bounds));
  member = value;
}

void JsonReader::integer(const Field& field, std::int64_t& member, Bounds<std::int64_t> bounds) {
  const Json* value = find(field.name);
  if (!value) return;
  const auto number = whole_number(*value);
  if (!number) return wrong_type(field, "an integer", *value);
  take(field, member, *number, bounds);
}

void JsonReader::real(const Field& field, double& member, Bounds<double> bounds) {
  const Json* value = find(field.name);
  if (!value) return;
  if (!value->is_number()) return wrong_type(field, "a number", *value);
  take(field, member, value->get<double>(), bounds);
}

void JsonReader::flag(const Field& field, bool& member) {
  const Json* value = find(field.name);
  if (!value) return;
  if (!value->is_boolean()) return wrong_type(field, "true or false", *value);
  member = value->get<bool>();
}

void JsonReader::text(const Field& field, std::string& member) {
  const Json* value = find(field.name);
  if (!value) return;
  if (!value->is_string()) return wrong_type(field, "a string", *value);
  member = value->get<std::string>();
}

void JsonReader::choice(const Field& field, std::string& member, const std::vector<Choice>& choices) {
  const Json* value = find(field.name);
  if (!value) return;
  if (!value->is_string()) return wrong_type(field, "a string", *value);
  member = value->get<std::string>();
  std::vector<std::string> names;
  for (const auto& choice : choices) {
    if (choice.name == member) return;
    if (!choice.is_open) names.push_back(choice.name);
    else if (std::any_of(member.begin(), member.end(), [](unsigned char c) { return std::isalnum(c) == 0 && c != '_'; })) return;
  }
  problem(pointer_to(field.name), "unknown value " + shortened(*value) + or_known(member, names));
}

void JsonReader::path(const Field& field, std::string& member) {
  const Json* value = find(field.name);
  if (!value) return;
  if (!value->is_string()) return wrong_type(field, "a path", *value);
  const std::filesystem::path typed = expand_home(value->get<std::string>());
  const auto& origin = document_.origin(pointer_to(field.name));
  if (first_invalid_utf8(origin.directory))
    return problem(pointer_to(field.name), "the config's directory is not named in UTF-8, so run.json could not hold this path");
  member = typed.empty() || typed.is_absolute() || origin.directory.empty() ? typed.string()
                                                                            : (origin.directory / typed).lexically_normal().string();
}

void JsonReader::json(const Field& field, Json& member, Shape shape) {
  const Json* value = find(field.name);
  if (!value) return;
  if (shape == Shape::object && !value->is_object()) return wrong_type(field, "an object { … }", *value);
  if (shape == Shape::list && !value->is_array()) return wrong_type(field, "a list [ … ]", *value);
  member = *value;
}

void JsonReader::optional_integer(const Field& field, std::optional<std::int64_t>& member, Bounds<std::int64_t> bounds) {
  member.reset();
  if (!find_value(field.name)) return;
  std::int64_t value = bounds.low;
  integer(field, value, bounds);
  member = value;
}

void JsonReader::optional_real(const Field& field, std::optional<double>& member, Bounds<double> bounds) {
  member.reset();
  if (!find_value(field.name)) return;
  double value = bounds.low;
  real(field, value, bounds);
  member = value;
}

void JsonReader::section(const Field& field, const Describe& describe) {
  const Json* value = find(field.name);
  if (value && !value->is_object()) return wrong_type(field, "an object { … }", *value);
  members(value, pointer_to(field.name), describe);
}

void JsonReader::optional_section(const Field& field, const OptionalSection& section) {
  const Json* value = find_value(field.name);
  section.set_present(value != nullptr);
  if (!value) return;
  if (!value->is_object()) return wrong_type(field, "null or an object { … }", *value);
  members(value, pointer_to(field.name), section.describe);
}

namespace {

// Keys of all kinds of a union, and whose they are: "ffn[moe].top_k" → "top_k" of "moe". Visiting leaves the union at its first
// choice's defaults.
JsonReader::KindKeys keys_of_all_kinds(const Field& field, const FieldVisitor::Union& section) {
  JsonReader::KindKeys keys;
  for (const auto& key : key_docs([&](FieldVisitor& v) { v.union_section(field, section); })) {
    const auto open = key.path.find('['), at = key.path.find("].");
    const bool is_kind = key.path.back() == ']';  // of a union inside
    if (at == std::string::npos || is_kind || key.path.find('.', at + 2) != std::string::npos) continue;
    keys[key.path.substr(at + 2)].push_back(key.path.substr(open + 1, at - open - 1));
  }
  return keys;
}

}  // namespace

void JsonReader::union_section(const Field& field, const Union& section) {
  const Json* value = find(field.name);
  const std::string pointer = pointer_to(field.name);
  if (value && value->is_string()) {
    std::vector<std::string> kinds;
    for (const auto& alternative : section.alternatives) kinds.push_back(alternative.kind);
    std::string key = pointer.substr(1);
    std::replace(key.begin(), key.end(), '/', '.');
    return problem(pointer, "expected an object { \"kind\": … }, got " + shortened(*value) + "; a kind is set as " + key +
                                ".kind. Kinds: " + join(kinds));
  }
  if (value && !value->is_object()) return wrong_type(field, "an object { \"kind\": … }", *value);
  const KindKeys kinds_keys = value && !value->empty() ? keys_of_all_kinds(field, section) : KindKeys();
  if (value && value->contains("kind")) {
    const Json& kind = (*value)["kind"];
    std::vector<std::string> kinds;
    bool selected = false;
    for (const auto& alternative : section.alternatives) {
      kinds.push_back(alternative.kind);
      if (kind != alternative.kind) continue;
      alternative.select();
      selected = true;
    }
    if (!selected) {
      const std::string typed = kind.is_string() ? kind.get<std::string>() : "";
      return problem(pointer + "/kind", "unknown kind " + shortened(kind) + or_known(typed, kinds));
    }
  }
  members(value, pointer, section.describe, /*has_kind=*/true, kinds_keys);
}

bool JsonReader::in_error(const std::string& pointer) const {
  for (const auto& p : problems) {
    if (pointer == p.pointer || pointer.rfind(p.pointer + "/", 0) == 0) return true;
  }
  return false;
}

void JsonReader::require(bool holds, const char* field, const std::string& message, const std::vector<const char*>& others) {
  if (holds) return;
  // An unreadable key has its default here: blaming that would only raise follow-up errors.
  const auto pointer = [&](const char* dotted) { return scopes_.back().pointer + pointer_of(dotted); };
  for (const char* other : others) {
    if (in_error(pointer(other))) return;
  }
  if (!in_error(pointer(field))) problem(pointer(field), message);
}

}  // namespace ffn
