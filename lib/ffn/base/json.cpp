#include "ffn/base/json.hpp"

#include <nlohmann/json.hpp>
#include <vector>

namespace ffn {

namespace {

// Reads brackets, colons and quotes alone. Up to the first error of syntax that is exact, and behind it nothing is parsed.
bool within_limits(const std::string& text) {
  std::vector<std::size_t> keys;  // of each value that is open
  KeyLimit limit;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\0') return false;  // nlohmann takes it for the end of the text
    if (quoted) {
      if (c == '\\') ++i;
      else quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      keys.push_back(0);
      if (keys.size() > kMaxJsonDepth) return false;
    } else if ((c == '}' || c == ']') && !keys.empty()) {
      keys.pop_back();
    } else if (c == ':' && !keys.empty() && !limit.allows(keys.back()++)) {
      return false;
    }
  }
  return true;
}

}  // namespace

Json parse_json(const std::string& text) {
  if (!within_limits(text)) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

std::string dump_json(const Json& json, int indent) { return json.dump(indent); }
std::string dump_json_lossy(const Json& json, int indent) { return json.dump(indent, ' ', false, Json::error_handler_t::replace); }

JsonValue::JsonValue() : value_(std::make_unique<Json>()) {}
JsonValue::JsonValue(const Json& value) : value_(std::make_unique<Json>(value)) {}
JsonValue::JsonValue(const JsonValue& other) : JsonValue(*other) {}
JsonValue::JsonValue(JsonValue&&) noexcept = default;
JsonValue& JsonValue::operator=(const JsonValue& other) { return *this = JsonValue(other); }
JsonValue& JsonValue::operator=(JsonValue&&) noexcept = default;
JsonValue::~JsonValue() = default;

JsonValue JsonValue::object() { return Json(Json::object()); }
JsonValue JsonValue::array() { return Json(Json::array()); }
JsonValue JsonValue::number(std::int64_t x) { return Json(x); }

}  // namespace ffn
