#include "ffn/core/json.hpp"

#include <nlohmann/json.hpp>

namespace ffn {

Json parse_json(const std::string& text) { return Json::parse(text, nullptr, /*allow_exceptions=*/false); }

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
