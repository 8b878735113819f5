#include "ffn/store/json_text.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "ffn/base/checksum.hpp"
#include "ffn/base/error.hpp"
#include "ffn/base/json_document.hpp"

namespace ffn::store {

std::string shown(const std::string& name) { return dump_json_lossy(name.size() > 80 ? name.substr(0, 80) + "..." : name); }

Json number_json(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

double number_from(const Json& value) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return kInfinity;
  if (value == "-inf") return -kInfinity;
  if (!value.is_number()) throw Json::type_error::create(302, "expected a number, got " + shortened(value), &value);
  return value.get<double>();
}

std::int64_t integer_from(const Json& value, std::int64_t low, std::int64_t high) {
  const bool fits = value.is_number_integer() && !(value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX);
  if (!fits) throw Json::type_error::create(302, "expected an integer, got " + shortened(value), &value);
  const auto number = value.get<std::int64_t>();
  if (number < low || number > high)
    throw Json::out_of_range::create(
        401, std::to_string(number) + " does not lie between " + std::to_string(low) + " and " + std::to_string(high), &value);
  return number;
}

double value_of_metric(double x) { return std::abs(x) > kLargestValue ? std::copysign(INFINITY, x) : x; }

double value_from(const Json& value) {
  const double number = number_from(value);
  if (std::isfinite(number) && std::abs(number) > kLargestValue)
    throw Json::out_of_range::create(401, shortened(value) + " is no value of a metric", &value);
  return number;
}

double seconds_from(const Json& value) {
  const double seconds = number_from(value);
  if (!(seconds >= 0 && std::isfinite(seconds))) throw Json::out_of_range::create(401, shortened(value) + " are no seconds", &value);
  return seconds;
}

Json facts_json(const FileFacts& facts) { return {{"bytes", facts.bytes}, {"checksum", facts.checksum}}; }

FileFacts facts_from(const Json& json) { return {json.at("bytes").get<std::uint64_t>(), json.at("checksum").get<std::string>()}; }

namespace {

constexpr const char* kSeal = "checksum";

std::string seal_of(const Json& json) { return checksum_of(dump_json_lossy(json)); }

void check_version_and_seal(Json& json, const std::string& source, bool sealed) {
  if (const auto version = json.value("schema_version", std::int64_t{kSchemaVersion}); version != kSchemaVersion) {
    throw VersionError(source + ": schema_version " + std::to_string(version) + ", this ffn-train reads " + std::to_string(kSchemaVersion) +
                       "; use the one that wrote it, or train again in another directory (-o DIR)");
  }
  const auto seal = json.find(kSeal);
  if (seal == json.end()) {
    if (sealed) throw DataError(source + ": damaged: its checksum is missing");
    return;
  }
  const std::string found = seal->is_string() ? seal->get<std::string>() : "";
  json.erase(kSeal);
  if (seal_of(json) != found) throw DataError(source + ": damaged: its checksum differs");
}

}  // namespace

std::string sealed_text(const Json& json) {
  Json sealed = json;
  sealed[kSeal] = seal_of(json);
  return dump_json_lossy(sealed, 2) + "\n";
}

void read_json_text(const std::string& text, const std::string& source, const std::function<void(const Json& json)>& read, bool sealed) {
  Json json = parse_json(text);
  if (!json.is_object()) throw DataError(source + (text.empty() ? ": empty" : ": no JSON object"));
  try {
    check_version_and_seal(json, source, sealed);
    read(json);
  } catch (const Json::exception& error) {
    throw DataError(source + ": " + reason_of(error));
  }
}

}  // namespace ffn::store

namespace ffn {

namespace {

void flatten(const Json& value, const std::string& prefix, std::map<std::string, std::string>& out) {
  if (!value.is_object()) {
    const bool whole =
        value.is_number_float() && std::nearbyint(value.get<double>()) == value.get<double>() && std::abs(value.get<double>()) < 1e15;
    out[prefix] = value.is_string() ? value.get<std::string>() : whole ? std::to_string(value.get<std::int64_t>()) : dump_json(value);
    return;
  }
  for (const auto& item : value.items()) flatten(item.value(), prefix.empty() ? item.key() : prefix + "." + item.key(), out);
}

}  // namespace

std::map<std::string, std::string> flat_keys(const Json& config) {
  std::map<std::string, std::string> keys;
  flatten(config, "", keys);
  return keys;
}

}  // namespace ffn
