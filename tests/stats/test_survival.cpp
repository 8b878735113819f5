// Kaplan–Meier curve, median and restricted mean of times to a target.
#include <cmath>
#include <limits>

#include "ffn/stats/summary.hpp"
#include "ffn/stats/survival.hpp"
#include "support/catch_plain.hpp"
#include "values.hpp"

using namespace ffn::stats;

namespace {

/// Freireich et al. 1963, remission times of leukaemia patients on 6-MP in weeks, the standard textbook example
/// (Klein & Moeschberger 2003, table 1.1): 21 patients, 9 relapses, the others censored.
std::vector<Hit> six_mp() {
  std::vector<Hit> patients;
  for (const double week : {6, 6, 6, 7, 10, 13, 16, 22, 23}) patients.push_back({week, 35});
  for (const double week : {6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35}) patients.push_back({kNever, week});
  return patients;
}

}  // namespace

TEST_CASE("the Kaplan-Meier curve agrees with the published one of the 6-MP data") {
  const SurvivalCurve curve = kaplan_meier(six_mp());
  REQUIRE(curve.steps.size() == 7);
  // Klein & Moeschberger 2003, table 4.1
  const double expected[7][3] = {{6, 21, 0.857},  {7, 17, 0.807}, {10, 15, 0.753}, {13, 12, 0.690},
                                 {16, 11, 0.627}, {22, 7, 0.538}, {23, 6, 0.448}};
  for (std::size_t i = 0; i < 7; ++i) {
    CHECK(curve.steps[i].time == expected[i][0]);
    CHECK(static_cast<double>(curve.steps[i].at_risk) == expected[i][1]);
    CHECK(curve.steps[i].unreached == Approx(expected[i][2]).margin(5e-4));
  }
  CHECK(curve.steps.front().hits == 3);
  CHECK(curve.follow_up == 35);
  CHECK(median_time(curve) == 23);
  const RestrictedMean restricted = restricted_mean(curve, 35);
  CHECK(restricted.mean == Approx(23.287).margin(5e-4));  // R: survfit prints rmean 23.29, se 2.83
  CHECK(restricted.standard_error == Approx(2.827).margin(5e-4));
}

TEST_CASE("without censoring the restricted mean is the mean with its standard error of divisor n") {
  const std::vector<double> times{3, 1, 4, 1, 5, 9, 2, 6};
  std::vector<Hit> runs;
  for (const double time : times) runs.push_back({time, 10});
  const RestrictedMean restricted = restricted_mean(kaplan_meier(runs), 10);
  const double n = 8;
  CHECK(restricted.mean == Approx(mean(times)));
  CHECK(restricted.standard_error == Approx(standard_deviation(times) * std::sqrt((n - 1) / n) / std::sqrt(n)));
}

TEST_CASE("with one budget for all the restricted mean is the mean of the times cut at it") {
  const std::vector<Hit> runs{{100, 500}, {kNever, 500}, {300, 500}, {kNever, 500}, {200, 500}};
  const SurvivalCurve curve = kaplan_meier(runs);
  CHECK(restricted_mean(curve, 500).mean == Approx((100 + 500 + 300 + 500 + 200) / 5.0));
  CHECK(restricted_mean(curve, 250).mean == Approx((100 + 250 + 250 + 250 + 200) / 5.0));
  CHECK(restricted_mean(curve, 50).mean == 50);
  CHECK(restricted_mean(curve, 50).standard_error == 0);
}

TEST_CASE("the median is the first time at which half of the runs have hit, or not reached") {
  const auto runs = [](int hits, int nevers) {
    std::vector<Hit> result;
    for (int i = 1; i <= hits; ++i) result.push_back({10.0 * i, 1000});
    for (int i = 0; i < nevers; ++i) result.push_back({kNever, 1000});
    return result;
  };
  CHECK(median_time(kaplan_meier(runs(3, 3))) == 30);
  CHECK_FALSE(median_time(kaplan_meier(runs(2, 3))).has_value());
  CHECK(median_time(kaplan_meier(runs(5, 0))) == 30);
  for (int half = 1; half <= 40; ++half)  // products of fractions that should be 1/2 come out a little off
    CHECK(median_time(kaplan_meier(runs(half, half))) == 10.0 * half);
}

TEST_CASE("runs that never hit leave the curve at 1") {
  const SurvivalCurve curve = kaplan_meier({{kNever, 100}, {std::nan(""), 100}, {INFINITY, 100}});
  CHECK(curve.steps.empty());
  CHECK_FALSE(median_time(curve).has_value());
  CHECK(restricted_mean(curve, 100).mean == 100);
  CHECK(restricted_mean(curve, 100).standard_error == 0);
}

TEST_CASE("a run censored at the time of a hit is still at risk for it") {
  const SurvivalCurve curve = kaplan_meier({{10, 100}, {kNever, 10}, {20, 100}});
  CHECK(curve.steps[0].at_risk == 3);
  CHECK(curve.steps[0].unreached == Approx(2.0 / 3.0));
  CHECK(curve.steps[1].unreached == 0);
}

TEST_CASE("a restricted mean beyond the follow-up is refused unless every run had hit") {
  CHECK(restricted_mean(kaplan_meier({{10, 50}, {20, 50}}), 100).mean == 15);
  const SurvivalCurve curve = kaplan_meier({{10, 50}, {kNever, 50}});
  CHECK_THROWS_WITH(restricted_mean(curve, 60), "horizon (60) exceeds the follow-up (50) of runs that did not hit");
  CHECK_THROWS_WITH(restricted_mean(curve, 0), "horizon (0) must be positive and finite");
}

TEST_CASE("impossible hits are refused with their values") {
  CHECK_THROWS_WITH(kaplan_meier({}), "Kaplan-Meier needs at least 1 run, got 0");
  CHECK_THROWS_WITH(kaplan_meier({{5, 10}, {11, 10}}), "run 1: hit time (11) must lie in [0, budget (10)]");
  CHECK_THROWS_WITH(kaplan_meier({{-1, 10}}), "run 0: hit time (-1) must lie in [0, budget (10)]");
  CHECK_THROWS_WITH(kaplan_meier({{5, 0}}), "run 0: budget (0) must be positive and finite");
}

TEST_CASE("the log-log interval of the Kaplan-Meier curve is Stata's for the 6-MP data") {
  const auto intervals = unreached_intervals(kaplan_meier(six_mp()), 0.95);
  REQUIRE(intervals.size() == 7);
  // `sts list` prints four decimals of the same patients.
  const double expected[7][2] = {{.6197, .9516}, {.5631, .9228}, {.5032, .8894}, {.4316, .8491},
                                 {.3675, .8049}, {.2678, .7468}, {.1881, .6801}};
  for (std::size_t i = 0; i < 7; ++i) {
    REQUIRE(intervals[i].has_value());
    CHECK(intervals[i]->low == Approx(expected[i][0]).margin(5e-5));
    CHECK(intervals[i]->high == Approx(expected[i][1]).margin(5e-5));
  }
}

TEST_CASE("where every run has hit there is no interval") {
  const auto intervals = unreached_intervals(kaplan_meier({{1.0, 5}, {2.0, 5}}), 0.95);
  REQUIRE(intervals.size() == 2);
  CHECK(intervals[0].has_value());
  CHECK_FALSE(intervals[1].has_value());
}
