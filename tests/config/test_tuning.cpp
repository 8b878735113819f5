#include <nlohmann/json.hpp>

#include "ffn/config/study_config.hpp"
#include "ffn/config/tuning.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

TuningAxis axis(const Json& values) {
  TuningAxis out{"train.optimizer.lr", {}};
  for (const auto& value : values) out.values.emplace_back(value);
  return out;
}

Json values_of(const TuningAxis& a) {
  Json out = Json::array();
  for (const auto& value : a.values) out.push_back(*value);
  return out;
}

Json extended(const Json& values, GridEnd end) {
  auto a = axis(values);
  return extend(a, end) ? values_of(a) : Json("no");
}

}  // namespace

TEST_CASE("a grid grows by two values in the ratio at its end", "[tuning]") {
  CHECK(extended({0.01, 0.1, 0.3}, GridEnd::high) == Json({0.01, 0.1, 0.3, 0.9, 2.7}));
  CHECK(extended({0.01, 0.1, 0.3}, GridEnd::low) == Json({0.0001, 0.001, 0.01, 0.1, 0.3}));
  CHECK(extended({16, 32}, GridEnd::high) == Json({16, 32, 64, 128}));
  CHECK(extended({16, 32}, GridEnd::low) == Json({4, 8, 16, 32}));
  CHECK(extended({0.0, 0.1}, GridEnd::high) == Json({0.0, 0.1, 0.2, 0.3}));  // by the difference, for lack of a ratio
  CHECK(extended({-1, 0}, GridEnd::low) == Json({-3, -2, -1, 0}));
}

TEST_CASE("a grid that has no order does not grow", "[tuning]") {
  CHECK(extended({"relu", "gelu"}, GridEnd::high) == "no");
  CHECK(extended({0.1}, GridEnd::high) == "no");
  CHECK(extended({0.3, 0.1}, GridEnd::high) == "no");
  CHECK(extended({0.1, 0.1}, GridEnd::high) == "no");
  CHECK(extended({1, 2}, GridEnd::low) == "no");  // 0.5 and 0.25 are no integers
  CHECK(extended({2, 4}, GridEnd::low) == "no");  // nor is 0.5
}

TEST_CASE("an end of a grid grows alike before and after the other", "[tuning]") {
  for (const Json& values :
       {Json({2, 4}), Json({4, 8}), Json({8, 16}), Json({2, 3}), Json({0.01, 0.1}), Json({0, 1}), Json({-1, 1}), Json({1, 2, 4})}) {
    auto low_first = axis(values), high_first = axis(values);
    for (int growth = 0; growth < kMostGridGrowth; ++growth) {
      for (const auto end : {GridEnd::low, GridEnd::high}) extend(low_first, end);
      for (const auto end : {GridEnd::high, GridEnd::low}) extend(high_first, end);
    }
    auto lows = axis(values);
    for (const auto end : {GridEnd::low, GridEnd::low, GridEnd::high, GridEnd::high}) extend(lows, end);
    CHECK(values_of(low_first) == values_of(high_first));
    CHECK(values_of(lows) == values_of(high_first));
  }
}

TEST_CASE("tuning seeds judge nothing, and those of two judging seeds differ", "[tuning]") {
  TuningConfig tune;
  tune.seeds = 3;
  CHECK(tuning_seeds(tune, 7) == std::vector<std::int64_t>{1000000, 1000001, 1000002});
  tune.per_seed = true;
  CHECK(tuning_seeds(tune, 0) == std::vector<std::int64_t>{1000000, 1000001, 1000002});
  CHECK(tuning_seeds(tune, 2) == std::vector<std::int64_t>{1000006, 1000007, 1000008});
}

TEST_CASE("grid points are crossed, the last key fastest", "[tuning]") {
  TuningConfig tune;
  tune.axes = {axis({1, 2}), axis({"a", "b", "c"})};
  REQUIRE(tune.num_points() == 6);
  CHECK(*tune.point(0)[0] == 1);
  CHECK(*tune.point(2)[1] == "c");
  CHECK(*tune.point(3)[0] == 2);
  CHECK(*tune.point(3)[1] == "a");
}

TEST_CASE("what tuning came to survives being written", "[tuning]") {
  TuningResult result{"study-tuning", "val/loss", true, 1, {"train.optimizer.lr"}, {}};
  result.variants.push_back(
      {"activation=relu",
       {{{JsonValue(Json(0.1))}, 0.25, -1.4, 0.03, 4, 1, 4}, {{JsonValue(Json(0.2))}, std::nullopt, std::nullopt, std::nullopt, 0, 5, 0}},
       true,
       {"train.optimizer.lr"}});
  const Json json = to_json(result);
  CHECK(to_json(tuning_result(json)) == json);
  CHECK(json["variants"][0]["curve"][1]["score"].is_null());
  const auto variant = tuning_result(json).variants[0];
  const auto& first = variant.curve[0];
  CHECK(variant.logarithms);
  CHECK(first.judged == -1.4);
  CHECK(first.standard_error == 0.03);
  CHECK(first.measured == 4);
}
