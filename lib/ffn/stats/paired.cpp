// Compares a variant with a reference, paired by seed.
#include "ffn/stats/paired.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ffn/stats/check.hpp"
#include "ffn/stats/distributions.hpp"
#include "ffn/stats/flips.hpp"
#include "ffn/stats/permutation.hpp"

namespace ffn::stats {
namespace {

// The bootstrap and the Monte-Carlo test draw from unrelated streams.
enum Stream : std::uint64_t { kImprovementStream = 1, kTestStream, kNumStreams };

std::uint64_t stream_seed(const CompareOptions& options, Stream stream) { return options.seed * kNumStreams + stream; }

void check_pairing(const CompareOptions& options, std::size_t num_variant, std::size_t num_reference) {
  if (num_variant != num_reference)
    detail::fail("paired comparison: ", num_variant, " runs of the variant against ", num_reference,
                 " of the reference; they must be the same seeds");
  if (num_variant == 0) detail::fail("paired comparison: no seeds");
  detail::check_between("alpha", options.alpha, 0.0, 0.5);
  if (!(options.min_effect >= 0.0 && std::isfinite(options.min_effect)))
    detail::fail("min_effect (", options.min_effect, ") must be finite and not negative");
  if (options.resamples == 0) detail::fail("resamples (0) must be positive");
  if (options.comparisons == 0) detail::fail("comparisons (0) must be positive");
  if (!(options.held_out_per_training >= 0.0 && std::isfinite(options.held_out_per_training)))
    detail::fail("held_out_per_training (", options.held_out_per_training, ") must be finite and not negative");
}

/// The outcome as a number that orders like it: a missing one is the worst infinity.
double ordered_value(const Outcome& outcome, Direction direction) {
  if (outcome && std::isfinite(*outcome)) return *outcome;
  const double infinity = std::numeric_limits<double>::infinity();
  return direction == Direction::lower_is_better ? infinity : -infinity;
}

std::vector<double> ordered_values(const std::vector<Outcome>& outcomes, Direction direction) {
  std::vector<double> values;
  values.reserve(outcomes.size());
  for (const Outcome& outcome : outcomes) values.push_back(ordered_value(outcome, direction));
  return values;
}

/// 1, 1/2 or 0: does the variant win?
double score(double variant, double reference, Direction direction) {
  if (variant == reference) return 0.5;
  return (variant > reference) == (direction == Direction::higher_is_better) ? 1.0 : 0.0;
}

double standardised(const std::vector<double>& values) {
  const double centre = mean(values);
  if (values.size() < 2 || centre == 0.0) return 0.0;
  return centre / standard_deviation(values);  // ±∞ without spread
}

std::size_t count(const std::vector<double>& values, double wanted) {
  return static_cast<std::size_t>(std::count(values.begin(), values.end(), wanted));
}

std::size_t count_infinite(const std::vector<double>& values) {
  return static_cast<std::size_t>(std::count_if(values.begin(), values.end(), [](double value) { return std::isinf(value); }));
}

double spread(const std::vector<double>& values) { return values.size() < 2 ? 0.0 : standard_deviation(values); }

MeanDifference mean_difference(const std::vector<double>& differences, const std::optional<Interval>& interval) {
  return {mean(differences), spread(differences), interval};
}

/// Missing values stay infinite.
std::vector<double> logarithms(std::vector<double> values) {
  for (double& value : values) {
    if (std::isinf(value)) continue;
    if (!(value > 0.0)) detail::fail("a log ratio of ", value, ": it needs positive values");
    value = std::log(value);
  }
  return values;
}

/// The terms that the test sums for differences shifted by a margin: the differences, or their signed ranks. NaN, a pair without values,
/// stays a tie.
std::vector<double> added_terms(std::vector<double> differences, PairedTest test) {
  if (test == PairedTest::sign_flip_of_mean) return differences;
  for (double& d : differences)
    if (std::isnan(d)) d = 0.0;
  return signed_midranks(differences);
}

std::optional<double> equivalence_p(const std::vector<double>& differences, PairedTest test, const CompareOptions& options) {
  if (options.min_effect == 0.0) return std::nullopt;
  const auto p_on_side = [&](double sign) {
    const auto terms = added_terms(detail::within_margin(differences, options.min_effect, sign), test);
    return one_sided_sign_flip_test(terms, stream_seed(options, kTestStream)).p;
  };
  return std::max(p_on_side(1.0), p_on_side(-1.0));
}

/// `p`: of the test.
std::optional<Effect> effect_of(const std::vector<double>& differences, PairedTest test, double p, const CompareOptions& options) {
  if (test == PairedTest::sign_flip_of_mean)
    return Effect{Estimand::mean_difference, mean(differences),
                  sign_flip_interval(differences, options.alpha, stream_seed(options, kTestStream)), spread(differences),
                  skewness(differences)};
  if (std::all_of(differences.begin(), differences.end(), [](double d) { return std::isnan(d); })) return std::nullopt;
  const TypicalDifference typical = typical_difference(differences, p, options.alpha);
  return Effect{Estimand::typical_difference, typical.value, typical.interval, 0.0};
}

/// A bootstrap cannot see beyond a sample that always gave the same result; the exact binomial limit can
/// (Clopper & Pearson 1934): n wins of n are compatible with every probability above (alpha/2)^{1/n}.
Interval improvement_interval(const std::vector<double>& scores, const CompareOptions& options) {
  const double level = 1.0 - options.alpha;
  const double limit = std::pow(options.alpha / 2.0, 1.0 / static_cast<double>(scores.size()));
  if (count(scores, 1.0) == scores.size()) return {limit, 1.0, level};
  if (count(scores, 0.0) == scores.size()) return {0.0, 1.0 - limit, level};
  if (scores.size() == 1) return {0.0, 1.0, level};
  return bca_interval(bootstrap(scores, mean, options.resamples, stream_seed(options, kImprovementStream)), level);
}

ProbabilityOfImprovement improvement(const std::vector<double>& variant, const std::vector<double>& reference,
                                     const std::vector<double>& scores, Direction direction, const CompareOptions& options) {
  double sum = 0.0;  // of the scores of all pairs
  std::vector<double> sorted = reference;
  std::sort(sorted.begin(), sorted.end());
  for (const double v : variant) {
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), v);
    const auto wins = direction == Direction::higher_is_better ? first - sorted.begin() : sorted.end() - last;
    sum += static_cast<double>(wins) + 0.5 * static_cast<double>(last - first);
  }
  return {mean(scores), improvement_interval(scores, options), sum / static_cast<double>(variant.size() * reference.size())};
}

std::vector<double> subtract(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < a.size(); ++i) differences.push_back(a[i] - b[i]);
  return differences;
}

/// Into `out`, whose options and num_seeds stand: what the corrected resampled t test says of splits of the same rows.
void test_splits(const std::vector<double>& differences, PairedResult& out) {
  const CompareOptions& options = out.options;
  out.test = PairedTest::corrected_t;
  out.test_reason = "corrected resampled t test, because seeds split the same rows";
  out.p = 1.0;
  out.exact_p = false;
  out.standardised_effect = 0.0;
  out.effect.reset();
  if (options.min_effect > 0.0) out.p_equivalence = 1.0;
  if (!std::all_of(differences.begin(), differences.end(), [](double d) { return std::isfinite(d); })) return;
  const double n = static_cast<double>(differences.size()), centre = mean(differences), sd = spread(differences);
  const double error = std::sqrt(1.0 / n + options.held_out_per_training) * sd;
  const auto upper_tail = [&](double x) {
    const double p = error > 0.0 ? detail::t_above(n - 1.0, x / error) : x > 0.0 ? 0.0 : 1.0;
    return std::max(p, out.smallest_p / 2.0);
  };
  out.p = std::min(1.0, 2.0 * upper_tail(std::abs(centre)));
  out.standardised_effect = (out.direction == Direction::higher_is_better ? 1.0 : -1.0) * standardised(differences);
  const double reach = out.smallest_p < options.alpha ? error * detail::critical_t(n - 1.0, options.alpha / 2.0) : detail::kInfinity;
  out.effect = Effect{Estimand::mean_difference, centre, {centre - reach, centre + reach, 1.0 - options.alpha}, sd, skewness(differences)};
  if (options.min_effect > 0.0)
    out.p_equivalence = std::max(upper_tail(options.min_effect + centre), upper_tail(options.min_effect - centre));
}

/// Everything that the test says; leaves `difference` to the caller.
PairedResult compare_values(const std::vector<double>& variant, const std::vector<double>& reference, Direction direction,
                            const Scale& scale, const CompareOptions& options) {
  const PairedTest test = scale.test;
  const double favour = direction == Direction::higher_is_better ? 1.0 : -1.0;
  std::vector<double> advantage, scores;  // positive: in favour of the variant
  for (std::size_t i = 0; i < variant.size(); ++i) {
    scores.push_back(score(variant[i], reference[i], direction));
    advantage.push_back(scores.back() == 0.5 ? 0.0 : favour * (variant[i] - reference[i]));  // ∞ − ∞ is a tie
  }
  const std::vector<double> differences = subtract(variant, reference);  // NaN: no value on either side
  PairedResult result{direction,
                      options,
                      variant.size(),
                      count(scores, 1.0),
                      count(scores, 0.5),
                      count(scores, 0.0),
                      count_infinite(variant),
                      count_infinite(reference),
                      scale.values,
                      test,
                      scale.reason,
                      1.0,
                      false,
                      smallest_sign_flip_p(variant.size()),
                      0.0,
                      std::nullopt,
                      std::nullopt,
                      std::nullopt,
                      improvement(variant, reference, scores, direction, options)};
  if (options.held_out_per_training > 0.0) {
    test_splits(differences, result);
    return result;
  }
  const std::vector<double> added_up = added_terms(advantage, test);
  const SignFlipTest tested = sign_flip_test(added_up, stream_seed(options, kTestStream));
  result.p = tested.p;
  result.exact_p = tested.exact;
  result.standardised_effect = standardised(added_up);
  result.effect = effect_of(differences, test, tested.p, options);
  result.p_equivalence = equivalence_p(differences, test, options);
  return result;
}

/// The run as seen at the horizon: a later hit is none.
std::vector<Hit> cut(std::vector<Hit> runs, double horizon) {
  for (Hit& run : runs) run = {run.reached() && *run.time <= horizon ? run.time : std::nullopt, horizon};
  return runs;
}

std::vector<Outcome> times(const std::vector<Hit>& runs) {
  std::vector<Outcome> result;
  result.reserve(runs.size());
  for (const Hit& run : runs) result.push_back(run.time);
  return result;
}

TimeToTarget time_to_target(const std::vector<Hit>& runs, double horizon) {
  const SurvivalCurve curve = kaplan_meier(runs);
  const auto hits = std::count_if(runs.begin(), runs.end(), [](const Hit& run) { return run.reached(); });
  return {static_cast<std::size_t>(hits), median_time(curve), restricted_mean(curve, horizon)};
}

}  // namespace

std::string to_string(PairedTest test) {
  switch (test) {
    case PairedTest::signed_rank:
      return "signed_rank";
    case PairedTest::corrected_t:
      return "corrected_t";
    case PairedTest::permutation_of_means:
      return "permutation_of_means";
    case PairedTest::rank_sum:
      return "rank_sum";
    case PairedTest::sign_flip_of_mean:
      break;
  }
  return "sign_flip_of_mean";
}

PairedResult compare_paired(const std::vector<Outcome>& variant, const std::vector<Outcome>& reference, Direction direction,
                            const Scale& scale, const CompareOptions& options) {
  check_pairing(options, variant.size(), reference.size());
  const std::vector<double> v = ordered_values(variant, direction), r = ordered_values(reference, direction);
  const std::size_t missing = count_infinite(v) + count_infinite(r);
  const bool of_splits = options.held_out_per_training > 0.0, as_ratio = scale.values == PairedValues::log_ratio;
  const bool of_mean = of_splits || scale.test == PairedTest::sign_flip_of_mean;
  if (missing > 0 && of_mean && !of_splits)
    detail::fail("a test of the mean with ", missing, " of ", 2 * v.size(), " runs without a value");
  PairedResult result =
      as_ratio ? compare_values(logarithms(v), logarithms(r), direction, scale, options) : compare_values(v, r, direction, scale, options);
  if (missing == 0)
    result.difference = mean_difference(subtract(v, r), of_mean && !as_ratio ? std::optional(result.effect->interval) : std::nullopt);
  return result;
}

HitResult compare_hits(const std::vector<Hit>& variant, const std::vector<Hit>& reference, const CompareOptions& options) {
  check_pairing(options, variant.size(), reference.size());
  for (const auto* side : {&variant, &reference}) kaplan_meier(*side);  // checks every run before anything is cut
  double horizon = variant.front().budget;
  for (const auto* side : {&variant, &reference})
    for (const Hit& run : *side) horizon = std::min(horizon, run.budget);

  const Direction direction = Direction::lower_is_better;
  const std::vector<Hit> v = cut(variant, horizon), r = cut(reference, horizon);
  const std::vector<double> v_times = ordered_values(times(v), direction), r_times = ordered_values(times(r), direction);
  const Scale scale{PairedValues::difference, PairedTest::signed_rank, "signed ranks, because a run that never hits has no time"};
  HitResult result{compare_values(v_times, r_times, direction, scale, options), horizon, time_to_target(v, horizon),
                   time_to_target(r, horizon)};
  std::vector<double> differences;
  for (std::size_t i = 0; i < v.size(); ++i) differences.push_back(std::min(v_times[i], horizon) - std::min(r_times[i], horizon));
  if (options.held_out_per_training > 0.0) test_splits(differences, result.paired);
  const bool of_splits = result.paired.test == PairedTest::corrected_t;
  result.paired.difference =
      mean_difference(differences, of_splits ? result.paired.effect->interval : t_interval(differences, 1.0 - options.alpha));
  return result;
}

PairedResult compare_contrast(const std::vector<double>& contrast, Direction direction, PairedValues values,
                              const CompareOptions& options) {
  const std::vector<Outcome> variant(contrast.begin(), contrast.end()), zero(contrast.size(), Outcome(0.0));
  const Scale scale{PairedValues::difference, PairedTest::sign_flip_of_mean, "sign flips of the mean contrast"};
  PairedResult result = compare_paired(variant, zero, direction, scale, options);
  result.values = values;
  if (values == PairedValues::log_ratio) result.difference.reset();  // the metric's own units have no part in it
  return result;
}

}  // namespace ffn::stats
