#include "ffn/base/json.hpp"

#include <nlohmann/json.hpp>

namespace ffn {

namespace {

// Reads brackets and quotes alone. Up to the first syntax error that is exact, and behind it nothing is parsed.
bool within_limits(const std::string& text) {
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\0') return false;  // nlohmann takes it for the end of the text
    if (quoted && c == '\\') ++i;
    else if (c == '"') quoted = !quoted;
    else if (!quoted && (c == '{' || c == '[') && ++depth > kMaxJsonDepth) return false;
    else if (!quoted && (c == '}' || c == ']') && depth > 0) --depth;
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
