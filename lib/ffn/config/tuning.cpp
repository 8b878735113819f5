#include "ffn/config/tuning.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "ffn/base/text.hpp"
#include "ffn/config/study_config.hpp"

namespace ffn {

namespace {

constexpr int kDigits = 3;  // of values that are not written down

}  // namespace

std::size_t TuningConfig::num_points() const {
  std::size_t n = 1;
  for (const auto& axis : axes) n *= axis.values.size();
  return n;
}

std::vector<JsonValue> TuningConfig::point(std::size_t index) const {
  std::vector<JsonValue> out(axes.size());
  for (std::size_t i = axes.size(); i-- > 0; index /= axes[i].values.size()) out[i] = axes[i].values[index % axes[i].values.size()];
  return out;
}

std::string tuning_metric(const std::string& judged) {
  return judged == "flops_to_target" || judged == "seconds_to_target" ? "steps_to_target" : judged;
}

std::vector<std::int64_t> tuning_seeds(const TuningConfig& tune, std::int64_t seed) {
  const auto count = static_cast<std::int64_t>(tune.seeds);
  const std::int64_t first = kFirstTuningSeed + (tune.per_seed ? seed * count : 0);
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(first + i);
  return out;
}

std::optional<TuningConfig> read_tuning(const Json& tune, const TellProblem& problem) {
  if (tune.empty()) return std::nullopt;
  TuningConfig out;
  constexpr std::int64_t kMostSeeds = 1000;
  constexpr std::size_t kMostPoints = 1000;
  std::int64_t seeds = 0;
  for (const auto& item : tune.items()) {
    const std::string& key = item.key();
    const Json& value = item.value();
    const std::string pointer = "/tune/" + escape_pointer(key);
    if (key == "seeds") {
      if (!value.is_number_integer() || (seeds = value.get<std::int64_t>()) < 1 || seeds > kMostSeeds)
        problem(pointer, "expected a count of seeds between 1 and " + std::to_string(kMostSeeds) + ", got " + shortened(value));
    } else if (key == "metric") {
      out.metric = value.is_string() ? value.get<std::string>() : dump_json(value);
    } else if (key == "retune") {
      if (value != "once" && value != "per_seed") problem(pointer, R"(expected "once" or "per_seed", got )" + shortened(value));
      out.per_seed = value == "per_seed";
    } else {
      TuningAxis axis{key, {}};
      const bool shown_short = value.is_object() && value.contains("logspace");  // 0.00316, not 0.00316227766017
      try {
        for (auto& x : axis_values(value))
          axis.values.emplace_back(shown_short && x.is_number_float() ? Json(rounded_number(x.get<double>(), kDigits)) : x);
      } catch (const std::invalid_argument& error) {
        problem(pointer, error.what());
      }
      for (std::size_t i = 0; i < axis.values.size(); ++i) {
        const auto same = [&](const JsonValue& x) { return *x == *axis.values[i]; };
        const auto end = axis.values.begin() + static_cast<std::ptrdiff_t>(i);
        if (std::any_of(axis.values.begin(), end, same))
          problem(pointer, shortened(*axis.values[i]) + " occurs twice" +
                               (shown_short ? " (values are rounded to " + std::to_string(kDigits) + " digits)" : "") +
                               "; name each value once");
      }
      if (axis.values.size() == 1) problem(pointer, "one value leaves nothing to choose; name two or more, or set " + key + " itself");
      out.axes.push_back(std::move(axis));
    }
  }
  // Five seeds choose well enough (comparisons on identical methods); where every judging seed has a choice of its own, one does.
  out.seeds = seeds > 0 ? static_cast<std::size_t>(seeds) : out.per_seed ? 1 : 5;
  if (out.axes.empty()) problem("/tune", R"(names no key to tune, as "train.optimizer.lr": {"logspace": [1e-4, 1e-1, 5]})");
  else if (out.num_points() > kMostPoints) problem("/tune", "more than " + std::to_string(kMostPoints) + " grid points");
  return out;
}

bool extend(TuningAxis& axis, GridEnd end) {
  std::vector<double> x;
  bool integers = true;
  for (const auto& value : axis.values) {
    if (!value->is_number()) return false;
    x.push_back(value->get<double>());
    integers = integers && value->is_number_integer();
  }
  const bool ascending = x.size() > 1 && std::adjacent_find(x.begin(), x.end(), std::greater_equal<>()) == x.end();
  if (!ascending) return false;
  const std::size_t n = x.size();
  const double edge = end == GridEnd::low ? x[0] : x[n - 1], inner = end == GridEnd::low ? x[1] : x[n - 2];
  const auto beyond = [&](int steps) {
    const double y = x[0] > 0 ? edge * std::pow(edge / inner, steps) : edge + steps * (edge - inner);
    return integers ? std::nearbyint(y) : rounded_number(y, kDigits);
  };
  const double near = beyond(1), far = beyond(2);
  const double way = end == GridEnd::low ? -1 : 1;
  if (x[0] > 0 && !(far > 0)) return false;  // rounded to 0, from which no ratio leads on
  if (!(way * (near - edge) > 0) || !(way * (far - near) > 0) || !std::isfinite(far)) return false;
  const auto as_json = [](double y) { return std::nearbyint(y) == y ? JsonValue(Json(static_cast<std::int64_t>(y))) : JsonValue(Json(y)); };
  if (end == GridEnd::low) axis.values.insert(axis.values.begin(), {as_json(far), as_json(near)});
  else axis.values.insert(axis.values.end(), {as_json(near), as_json(far)});
  return true;
}

// ---- as JSON

Json to_json(const TuningResult& result) {
  const auto or_null = [](const std::optional<double>& x) { return x ? Json(*x) : Json(nullptr); };
  Json variants = Json::array();
  for (const auto& variant : result.variants) {
    Json curve = Json::array();
    for (const auto& point : variant.curve) {
      Json values = Json::array();
      for (const auto& value : point.values) values.push_back(*value);
      curve.push_back({{"values", values},
                       {"score", or_null(point.score)},
                       {"judged", or_null(point.judged)},
                       {"standard_error", or_null(point.standard_error)},
                       {"measured_runs", point.measured},
                       {"bad_runs", point.bad},
                       {"chosen", point.chosen}});
    }
    variants.push_back({{"name", variant.name}, {"curve", curve}, {"logarithms", variant.logarithms}, {"edge", variant.edge}});
    if (!variant.sensitivity.empty()) variants.back()["sensitivity"] = variant.sensitivity;
  }
  return {{"study", result.study}, {"metric", result.metric},     {"retune", result.per_seed ? "per_seed" : "once"},
          {"seeds", result.seeds}, {"by_ranks", result.by_ranks}, {"keys", result.keys},
          {"variants", variants}};
}

TuningResult tuning_result(const Json& json) {
  TuningResult out;
  json.at("study").get_to(out.study);
  json.at("metric").get_to(out.metric);
  out.per_seed = json.at("retune") == "per_seed";
  json.at("seeds").get_to(out.seeds);
  json.at("by_ranks").get_to(out.by_ranks);
  json.at("keys").get_to(out.keys);
  for (const auto& item : json.at("variants")) {
    TunedVariant variant{
        item.at("name").get<std::string>(), {}, item.at("logarithms").get<bool>(), item.at("edge").get<std::vector<std::string>>()};
    for (const auto& at : item.at("curve")) {
      TunedVariant::Point point;
      for (const auto& value : at.at("values")) point.values.emplace_back(value);
      if (!at.at("score").is_null()) point.score = at.at("score").get<double>();
      const auto read = [&](const char* key, std::optional<double>& value) {
        if (!at.at(key).is_null()) value = at[key].get<double>();
      };
      read("judged", point.judged);
      read("standard_error", point.standard_error);
      at.at("measured_runs").get_to(point.measured);
      at.at("bad_runs").get_to(point.bad);
      at.at("chosen").get_to(point.chosen);
      if (point.values.size() != out.keys.size()) throw Json::other_error::create(501, "a point with another number of keys", &item);
      variant.curve.push_back(std::move(point));
    }
    variant.sensitivity = item.value("sensitivity", std::vector<double>());
    out.variants.push_back(std::move(variant));
  }
  return out;
}

}  // namespace ffn
