#include "ffn/config/json_reader.hpp"

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "ffn/config/schema.hpp"
#include "ffn/core/suggest.hpp"
#include "ffn/core/utf8.hpp"

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

// A suggestion where one is near, and always the whole list.
std::string or_known(const std::string& typed, const std::vector<std::string>& names) {
  const auto suggestion = did_you_mean(typed, names);
  return (suggestion.empty() ? "; known: " : suggestion + " Known: ") + join(names);
}

}  // namespace

JsonReader::JsonReader(const Document& document) : document_(document) {}

void JsonReader::read(const Describe& describe) { members(&document_.tree(), "", describe); }

void JsonReader::check(const std::string& pointer, const Describe& facts) { members(nullptr, pointer, facts); }

std::string JsonReader::pointer_to(const std::string& name) const { return scopes_.back().pointer + "/" + escape_pointer(name); }

void JsonReader::problem(const std::string& pointer, const std::string& message) {
  problems.push_back({document_.origin(pointer).text(), pointer, message});
}

void JsonReader::wrong_type(const Field& field, const char* expected, const Json& found) {
  problem(pointer_to(field.name), std::string("expected ") + expected + ", got " + shortened(found));
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

void JsonReader::members(const Json* node, const std::string& pointer, const Describe& describe, bool has_kind,
                         const std::set<std::string>& superseded) {
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
      if (superseded.count(item.key()) && layer(item.key()) < layer("kind")) continue;
      const std::string remedy = did_you_mean(item.key(), names);
      problem(pointer + "/" + escape_pointer(item.key()),
              "unknown key " + shortened(item.key()) + (remedy.empty() ? "; known here: " + join(names) : remedy));
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
    names.push_back(choice.name);
  }
  problem(pointer_to(field.name), "unknown value " + shortened(*value) + or_known(member, names));
}

void JsonReader::path(const Field& field, std::string& member) {
  const Json* value = find(field.name);
  if (!value) return;
  if (!value->is_string()) return wrong_type(field, "a path", *value);
  const std::filesystem::path typed = value->get<std::string>();
  const auto& origin = document_.origin(pointer_to(field.name));
  if (first_invalid_utf8(origin.directory))
    return problem(pointer_to(field.name), "the config's directory is not named in UTF-8, so config.json could not hold this path");
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

// Keys of all kinds of a union: "ffn[moe].top_k" → "top_k". Visiting leaves the union at its first choice's defaults.
std::set<std::string> keys_of_all_kinds(const Field& field, const FieldVisitor::Union& section) {
  std::set<std::string> keys;
  for (const auto& key : key_docs([&](FieldVisitor& v) { v.union_section(field, section); })) {
    const auto at = key.path.find("].");
    const bool is_kind = key.path.back() == ']';  // of a union inside
    if (at != std::string::npos && !is_kind && key.path.find('.', at + 2) == std::string::npos) keys.insert(key.path.substr(at + 2));
  }
  return keys;
}

}  // namespace

void JsonReader::union_section(const Field& field, const Union& section) {
  const Json* value = find(field.name);
  const std::string pointer = pointer_to(field.name);
  if (value && !value->is_object()) return wrong_type(field, "an object { \"kind\": … }", *value);
  std::set<std::string> superseded;
  if (value && value->contains("kind")) {
    superseded = keys_of_all_kinds(field, section);
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
  members(value, pointer, section.describe, /*has_kind=*/true, superseded);
}

bool JsonReader::in_error(const std::string& pointer) const {
  for (const auto& p : problems) {
    if (pointer == p.pointer || pointer.rfind(p.pointer + "/", 0) == 0) return true;
  }
  return false;
}

void JsonReader::require(bool holds, const char* field, const std::string& message, const std::vector<const char*>& others) {
  if (holds) return;
  // Where a key could not be read as written, its default stands in: blaming that would only raise follow-up errors.
  const auto pointer = [&](const char* dotted) { return scopes_.back().pointer + pointer_of(dotted); };
  for (const char* other : others) {
    if (in_error(pointer(other))) return;
  }
  if (!in_error(pointer(field))) problem(pointer(field), message);
}

}  // namespace ffn
