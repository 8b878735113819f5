// Answers scripts/check/stats-against-scipy: reads one request per line on stdin, prints one line of numbers each.
//   NAME PARAMETER… : VALUE…        e.g.  bca 0.95 10000 1 : 0.3 -0.1 0.7
// A hit is the pair TIME BUDGET, TIME −1 for never. Numbers are printed so that they read back exactly.
#include <cmath>
#include <iomanip>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "ffn/stats/bootstrap.hpp"
#include "ffn/stats/inversion.hpp"
#include "ffn/stats/permutation.hpp"
#include "ffn/stats/power.hpp"
#include "ffn/stats/summary.hpp"
#include "ffn/stats/survival.hpp"
#include "ffn/stats/verdict.hpp"

using namespace ffn::stats;

namespace {

using Numbers = std::vector<double>;
using Answer = Numbers (*)(const Numbers& parameters, const Numbers& values);

std::size_t whole(double number) { return static_cast<std::size_t>(number); }

Bootstrap resampled(const Numbers& p, const Numbers& x) { return bootstrap(x, mean, whole(p[1]), whole(p[2])); }
Numbers limits(const Interval& interval) { return {interval.low, interval.high}; }

SurvivalCurve curve(const Numbers& times_and_budgets) {
  std::vector<Hit> runs;
  for (std::size_t i = 0; i + 1 < times_and_budgets.size(); i += 2) {
    const double time = times_and_budgets[i];
    runs.push_back({time < 0.0 ? std::nullopt : std::optional<double>(time), times_and_budgets[i + 1]});
  }
  return kaplan_meier(runs);
}

const std::map<std::string, Answer> kAnswers{
    {"mean_sd_iqm",
     [](const Numbers&, const Numbers& x) -> Numbers {
       return {mean(x), standard_deviation(x), interquartile_mean(x)};
     }},
    {"quantile", [](const Numbers& p, const Numbers& x) -> Numbers { return {quantile(x, p[0])}; }},
    {"t_interval", [](const Numbers& p, const Numbers& x) { return limits(t_interval(x, p[0])); }},
    {"bca", [](const Numbers& p, const Numbers& x) { return limits(bca_interval(resampled(p, x), p[0])); }},
    {"sign_flip", [](const Numbers&, const Numbers& x) -> Numbers { return {sign_flip_test(x).p}; }},
    {"signed_rank", [](const Numbers&, const Numbers& x) -> Numbers { return {signed_rank_test(x).p}; }},
    {"typical_limits",  // alpha: the limits, and whether they are open
     [](const Numbers& p, const Numbers& x) -> Numbers {
       const Interval interval = typical_difference(x, signed_rank_test(x).p, p[0]).interval;
       return {interval.low, interval.high, interval.low_open ? 1.0 : 0.0, interval.high_open ? 1.0 : 0.0};
     }},
    {"holm", [](const Numbers&, const Numbers& x) { return closed_adjusted(x, x); }},
    {"splits",  // n₂/n₁ and min_effect: p, the interval's limits, and p of equivalence
     [](const Numbers& p, const Numbers& x) -> Numbers {
       CompareOptions options;
       options.held_out_per_training = p[0];
       options.min_effect = p[1];
       options.resamples = 1;
       const PairedResult result = compare_contrast(x, Direction::higher_is_better, PairedValues::difference, options);
       return {result.p, result.effect->interval.low, result.effect->interval.high, *result.p_equivalence};
     }},
    {"power", [](const Numbers& p, const Numbers&) -> Numbers { return {paired_power(p[0], whole(p[1]), p[2])}; }},
    {"detectable",
     [](const Numbers& p, const Numbers&) -> Numbers { return {smallest_detectable_difference(whole(p[0]), p[1], p[2], p[3])}; }},
    {"survival_at",  // S after each parameter time
     [](const Numbers& p, const Numbers& x) {
       Numbers result;
       for (const double time : p) {
         double unreached = 1.0;
         for (const SurvivalStep& step : curve(x).steps)
           if (step.time <= time) unreached = step.unreached;
         result.push_back(unreached);
       }
       return result;
     }},
    {"median_time", [](const Numbers&, const Numbers& x) -> Numbers { return {median_time(curve(x)).value_or(-1.0)}; }},
    {"restricted_mean",
     [](const Numbers& p, const Numbers& x) -> Numbers {
       const RestrictedMean result = restricted_mean(curve(x), p[0]);
       return {result.mean, result.standard_error};
     }},
};

}  // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string name, word;
    words >> name;
    Numbers parameters, values;
    for (Numbers* target = &parameters; words >> word;) {
      if (word == ":") target = &values;
      else target->push_back(std::stod(word));
    }
    const auto answer = kAnswers.find(name);
    if (answer == kAnswers.end()) {
      std::cerr << "unknown request: " << line << '\n';
      return 2;
    }
    std::cout << std::setprecision(17);
    for (const double number : answer->second(parameters, values)) std::cout << number << ' ';
    std::cout << '\n';
  }
}
