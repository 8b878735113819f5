// The scale of a comparison.
#include "ffn/stats/scale.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>
#include <utility>

#include "ffn/stats/check.hpp"
#include "ffn/stats/distributions.hpp"
#include "ffn/stats/summary.hpp"

namespace ffn::stats {
namespace {

using detail::kInfinity;

void check_pairs(const std::vector<Outcome>& variant, const std::vector<Outcome>& reference) {
  if (variant.size() != reference.size())
    detail::fail("scale: ", variant.size(), " runs of the variant against ", reference.size(), " of the reference");
  if (variant.empty()) detail::fail("scale: no seeds");
}

template <class Holds>
std::size_t count_runs(const std::vector<Outcome>& variant, const std::vector<Outcome>& reference, Holds holds) {
  return static_cast<std::size_t>(std::count_if(variant.begin(), variant.end(), holds) +
                                  std::count_if(reference.begin(), reference.end(), holds));
}

/// Largest |d| over the median one; 0 if all are 0.
double tail_ratio(const std::vector<double>& finite) {
  std::vector<double> sizes;
  for (const double d : finite)
    if (d != 0.0) sizes.push_back(std::abs(d));
  if (sizes.empty()) return 0.0;
  const double largest = *std::max_element(sizes.begin(), sizes.end());
  return largest / median(std::move(sizes));
}

}  // namespace

PairedTest tail_rule(const std::vector<double>& differences) {
  const bool finite = std::all_of(differences.begin(), differences.end(), [](double d) { return std::isfinite(d); });
  return finite && tail_ratio(differences) <= kHeavyTail ? PairedTest::sign_flip_of_mean : PairedTest::signed_rank;
}

TestRule test_rule(MetricKind kind) {
  if (kind != MetricKind::time_to_target) return tail_rule;
  return [](const std::vector<double>&) { return PairedTest::signed_rank; };
}

PairedValues choose_values(MetricKind kind, const std::vector<Outcome>& runs) {
  const bool positive = std::all_of(runs.begin(), runs.end(), [](const Outcome& run) { return !has_value(run) || *run > 0.0; });
  return kind == MetricKind::minimised && positive ? PairedValues::log_ratio : PairedValues::difference;
}

std::string missing_text(std::size_t missing, std::size_t runs) {
  return std::to_string(missing) + " of " + std::to_string(runs) + " runs " + (missing == 1 ? "has" : "have") + " no value";
}

Scale choose_test(MetricKind kind, PairedValues values, const std::vector<Outcome>& variant, const std::vector<Outcome>& reference) {
  check_pairs(variant, reference);
  if (kind == MetricKind::time_to_target)
    return {PairedValues::difference, PairedTest::signed_rank, "ranks, because a run that never reaches the target has no time"};
  const std::size_t missing = count_runs(variant, reference, [](const Outcome& run) { return !has_value(run); });
  const std::string of = values == PairedValues::log_ratio ? "ranks of the log ratio" : "ranks";

  std::ostringstream reason;
  if (missing > 0) {
    reason << of << ", because " << missing_text(missing, 2 * variant.size());
    return {values, PairedTest::signed_rank, reason.str()};
  }
  const std::vector<double> d = advantages(kind, values, variant, reference);
  if (tail_rule(d) == PairedTest::signed_rank) {
    reason << std::fixed << std::setprecision(0) << of << ", because the largest difference is " << tail_ratio(d)
           << " times the median one";
    return {values, PairedTest::signed_rank, reason.str()};
  }
  if (values == PairedValues::log_ratio)
    return {values, PairedTest::sign_flip_of_mean, "log ratio, because all values of the loss are positive"};
  return {values, PairedTest::sign_flip_of_mean,
          kind == MetricKind::minimised ? "difference, because not all values are positive" : "difference"};
}

std::vector<double> advantages(MetricKind kind, PairedValues values, const std::vector<Outcome>& variant,
                               const std::vector<Outcome>& reference) {
  check_pairs(variant, reference);
  const double favour = kind == MetricKind::maximised ? 1.0 : -1.0;
  const auto number = [&](const Outcome& run) {
    if (!has_value(run)) return -favour * kInfinity;
    return values == PairedValues::log_ratio ? std::log(*run) : *run;
  };
  std::vector<double> result;
  for (std::size_t i = 0; i < variant.size(); ++i) {
    const double v = number(variant[i]), r = number(reference[i]);
    result.push_back(v == r && std::isfinite(v) ? 0.0 : favour * (v - r));  // 0, not −0; ∞ − ∞ is NaN
  }
  return result;
}

BadRuns bad_runs(const std::vector<Outcome>& variant, const std::vector<Outcome>& reference) {
  check_pairs(variant, reference);
  std::vector<double> pooled;
  for (const auto* side : {&variant, &reference})
    for (const Outcome& run : *side) pooled.push_back(has_value(run) ? *run : kInfinity);
  std::sort(pooled.begin(), pooled.end());
  // The lower of the two middle values: if half of all are 0, the median is half of the smallest value above 0, which measures nothing.
  const bool positive = pooled[(pooled.size() - 1) / 2] > 0.0;
  BadRuns bad{0, 0, 0, 0, positive ? kBadRun * median(std::move(pooled)) : kInfinity, 1.0};
  const auto is_bad = [&](const Outcome& run) { return !has_value(run) || *run > bad.limit; };
  for (std::size_t i = 0; i < variant.size(); ++i) {
    const bool v = is_bad(variant[i]), r = is_bad(reference[i]);
    bad.variant += v;
    bad.reference += r;
    bad.only_variant += v && !r;
    bad.only_reference += r && !v;
  }
  bad.p = mcnemar_p(bad.only_variant, bad.only_reference);
  return bad;
}

double mcnemar_p(std::size_t b, std::size_t c) {
  if (b + c == 0) return 1.0;
  return std::min(1.0, 2.0 * detail::coins_cdf(b + c, std::min(b, c)));
}

}  // namespace ffn::stats
