// Paired comparisons of outcomes and of hits: estimates, tests, and what is done with missing values.
#include <cmath>
#include <limits>

#include "ffn/stats/paired.hpp"
#include "ffn/stats/random.hpp"
#include "one_pair.hpp"
#include "support/catch_plain.hpp"
#include "values.hpp"

using namespace ffn::stats;

namespace {

constexpr auto kHigher = Direction::higher_is_better;

std::vector<Hit> hits(const std::vector<std::optional<double>>& times, double budget = 1000) {
  std::vector<Hit> runs;
  for (const auto& time : times) runs.push_back({time, budget});
  return runs;
}

}  // namespace

TEST_CASE("rliable's probability of improvement counts wins over all pairs of runs") {
  const PairedResult result = compare_paired({.91, .88, .93, .90, .87}, {.89, .86, .90, .88, .85}, kHigher);
  CHECK(result.improvement.all_pairs == Approx(.76));
  CHECK(result.improvement.paired == 1);
  CHECK(result.p == .0625);  // differences .02 .02 .03 .02 .02
  CHECK(result.smallest_p == .0625);
  CHECK(result.exact_p);
  CHECK(result.difference->mean == Approx(.022));
}

TEST_CASE("a fall of the loss is a negative difference and a win") {
  const std::vector<Outcome> low{1.0, 1.1, 1.2, 0.9}, high{1.5, 1.4, 1.9, 0.8};
  const PairedResult loss = compare_paired(low, high, kLower), accuracy = compare_paired(low, high, kHigher);
  CHECK(loss.difference->mean == Approx(-0.35));
  CHECK(accuracy.difference->mean == Approx(-0.35));
  CHECK(loss.wins == 3);
  CHECK(loss.losses == 1);
  CHECK(accuracy.wins == 1);
  CHECK(accuracy.losses == 3);
  CHECK(loss.improvement.paired == 0.75);
  CHECK(accuracy.improvement.paired == 0.25);
  CHECK(loss.standardised_effect == Approx(-accuracy.standardised_effect));
  CHECK(loss.standardised_effect > 0);
  CHECK(loss.p == accuracy.p);
}

TEST_CASE("exchanging variant and reference exchanges everything") {
  const std::vector<Outcome> a{1.0, 1.3, 1.2, 0.9, 1.7, 1.1}, b{1.5, 1.4, 1.1, 0.8, 1.9, 1.1};
  const PairedResult ab = compare_paired(a, b, kLower), ba = compare_paired(b, a, kLower);
  CHECK(ab.wins == ba.losses);
  CHECK(ab.ties == 1);
  CHECK(ab.p == ba.p);
  CHECK(ab.improvement.paired == Approx(1 - ba.improvement.paired));
  CHECK(ab.improvement.all_pairs == Approx(1 - ba.improvement.all_pairs));
  CHECK(ab.difference->interval->low == Approx(-ba.difference->interval->high));
}

TEST_CASE("intervals have the level of the options") {
  CompareOptions options;
  options.alpha = 0.1;
  const std::vector<Outcome> variant{1.0, 1.3, 1.2, 0.9, 1.0, 1.1, 1.4}, reference{1.1, 1.1, 1.5, 0.8, 1.0, 1.2, 1.1};
  const PairedResult result = compare_paired(variant, reference, kLower, options);
  CHECK(result.difference->interval->level == Approx(0.9));
  CHECK(result.effect->interval.level == Approx(0.9));
  CHECK(result.improvement.interval.level == Approx(0.9));
}

TEST_CASE("the effect is what the test judges, with the interval that inverts it") {
  const std::vector<Outcome> variant{1.2, 1.1, 1.5, 1.4, 1.3, 1.7, 1.2, 1.9}, zero(8, 1.0);
  const PairedResult by_mean = compare_paired(variant, zero, kLower);
  CHECK(by_mean.effect->estimand == Estimand::mean_difference);
  CHECK(by_mean.effect->value == by_mean.difference->mean);
  CHECK(by_mean.effect->interval.low == by_mean.difference->interval->low);
  CHECK(by_mean.effect->interval.excludes(0));

  std::vector<Outcome> gap = variant;
  gap[7] = kDiverged;
  const PairedResult by_ranks = compare_paired(gap, zero, kLower);
  CHECK(by_ranks.effect->estimand == Estimand::typical_difference);
  CHECK_FALSE(by_ranks.difference.has_value());
  CHECK(by_ranks.effect->value == Approx(0.4));  // half of the 36 averages, infinity among them, are at most 0.4
  CHECK(by_ranks.effect->interval.high == std::numeric_limits<double>::infinity());
  CHECK(by_ranks.effect->interval.excludes(0));
}

TEST_CASE("equivalence is tested on either side of the margin") {
  CompareOptions options;
  CHECK_FALSE(compare_paired({1.0, 2.0}, {1.0, 2.0}, kLower, options).p_equivalence.has_value());
  options.min_effect = 0.2;
  const std::vector<Outcome> small{1.1, 0.95, 1.0, 1.05, 0.9, 1.1}, zero(6, 1.0);
  CHECK(*compare_paired(small, zero, kLower, options).p_equivalence == 1.0 / 64);  // all d + 0.2 and all 0.2 − d are positive
  CHECK(*compare_paired(zero, small, kLower, options).p_equivalence == 1.0 / 64);
  options.min_effect = 0.05;
  CHECK(*compare_paired(small, zero, kLower, options).p_equivalence > 0.1);

  // By ranks a run without a value is no evidence for a small difference, a pair without any none at all.
  options.min_effect = 0.2;
  std::vector<Outcome> one = small;
  one[2] = kDiverged;
  CHECK(*compare_paired(one, zero, kLower, options).p_equivalence > 0.2);
  const std::vector<Outcome> none(6, kDiverged);
  CHECK(*compare_paired(none, none, kLower, options).p_equivalence == 1);
  CHECK_FALSE(compare_paired(none, none, kLower, options).effect.has_value());
}

TEST_CASE("a margin between rounded values gives the paired p of whole numbers") {
  SplitMix64 random(11);
  CompareOptions whole, tenths;
  whole.min_effect = 2;
  tenths.min_effect = 0.2;
  for (int sample = 0; sample < 20; ++sample) {
    std::vector<Outcome> values[2], in_tenths[2];
    for (std::size_t i = 0; i < 20; ++i) {
      const auto value = static_cast<double>(8 + random.index(5));
      values[i % 2].emplace_back(value);
      in_tenths[i % 2].emplace_back(value / 10);
    }
    for (const auto test : {PairedTest::sign_flip_of_mean, PairedTest::signed_rank}) {
      const Scale scale{PairedValues::difference, test, ""};
      CHECK(compare_paired(in_tenths[0], in_tenths[1], kHigher, scale, tenths).p_equivalence ==
            compare_paired(values[0], values[1], kHigher, scale, whole).p_equivalence);
    }
  }
}

TEST_CASE("all values present are compared by their mean, a missing one moves the test to ranks and says so") {
  const PairedResult full = compare_paired({1.0, 2.0}, {1.5, 2.5}, kLower);
  CHECK(full.test == PairedTest::sign_flip_of_mean);
  CHECK(full.test_reason == "sign flips of the mean difference: every run has a value");

  const PairedResult gap = compare_paired({1.0, kDiverged}, {1.5, 2.5}, kLower);
  CHECK(gap.test == PairedTest::signed_rank);
  CHECK(gap.test_reason == "signed ranks, because 1 of 4 runs have no value");
  CHECK_FALSE(gap.difference.has_value());
  CHECK(gap.missing_variant == 1);
  CHECK(gap.missing_reference == 0);
}

TEST_CASE("a diverged run is worse than every value in both directions and two of them tie") {
  for (const Direction direction : {kHigher, kLower}) {
    // The third pair has one missing side: above all finite differences. The last pair has two: a tie.
    const PairedResult result = compare_paired({1.0, 2.0, 0.5, std::nan("")}, {1.0, 9.0, INFINITY, kDiverged}, direction);
    CHECK(result.missing_reference == 2);
    CHECK(result.missing_variant == 1);
    CHECK(result.ties == 2);
    CHECK(result.wins == (direction == kLower ? 2 : 1));
    CHECK(result.losses == (direction == kLower ? 0 : 1));
    CHECK(result.p == (direction == kLower ? 0.5 : 1.0));  // signed mid-ranks 0 ±3 4 0: |7| of {7, 1}, |1| of {7, 1}
  }
}

TEST_CASE("six diverged references against six finished variants reach the smallest p") {
  const PairedResult result = compare_paired({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, std::vector<Outcome>(6, kDiverged), kLower);
  CHECK(result.p == 0.03125);
  CHECK(result.improvement.paired == 1);
  CHECK(result.improvement.all_pairs == 1);
}

TEST_CASE("a side that wins every seed has the exact binomial interval") {
  const PairedResult wins = compare_paired({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, std::vector<Outcome>(6, 9.0), kLower);
  CHECK(wins.improvement.interval.low == Approx(std::pow(0.025, 1.0 / 6.0)));  // 0.541
  CHECK(wins.improvement.interval.high == 1);
  const PairedResult losses = compare_paired({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, std::vector<Outcome>(6, 9.0), kHigher);
  CHECK(losses.improvement.interval.high == Approx(1 - std::pow(0.025, 1.0 / 6.0)));
}

TEST_CASE("one seed decides nothing") {
  const PairedResult result = compare_paired({1.0}, {2.0}, kLower);
  CHECK(result.p == 1);
  CHECK(result.smallest_p == 1);
  CHECK_FALSE(result.difference->interval->excludes(0));
  CHECK_FALSE(result.improvement.interval.excludes(0.5));
  CHECK(result.difference->sd == 0);
}

TEST_CASE("identical runs have no difference and p = 1") {
  const std::vector<Outcome> same{1.0, 2.0, 3.0, 4.0, 5.0, 6.0};
  const PairedResult result = compare_paired(same, same, kLower);
  CHECK(result.p == 1);
  CHECK(result.ties == 6);
  CHECK(result.difference->interval->low == 0);
  CHECK(result.difference->interval->high == 0);
  CHECK(result.improvement.paired == 0.5);
  CHECK(result.standardised_effect == 0);
}

TEST_CASE("a comparison is a function of its seed") {
  std::vector<Outcome> a, b;
  for (int i = 0; i < 24; ++i) {
    a.push_back(std::sin(3.0 * i));
    b.push_back(std::sin(5.0 * i + 1));
  }
  CompareOptions options;
  options.seed = 4;
  const auto low = [&] { return compare_paired(a, b, kLower, options).difference->interval->low; };
  const double first = low();
  CHECK(low() == first);
  options.seed = 5;
  CHECK(low() != first);
}

TEST_CASE("misuse of a comparison is refused with its values") {
  const std::vector<Outcome> two{1.0, 2.0};
  const auto with = [&](auto change) {
    CompareOptions options;
    change(options);
    compare_paired(two, two, kLower, options);
  };
  CHECK_THROWS_WITH(compare_paired(two, {1.0}, kLower),
                    "paired comparison: 2 runs of the variant against 1 of the reference; they must be the same seeds");
  CHECK_THROWS_WITH(compare_paired({}, {}, kLower), "paired comparison: no seeds");
  CHECK_THROWS_WITH(with([](auto& o) { o.alpha = 1.5; }), "alpha (1.5) must lie in (0, 0.5)");
  CHECK_THROWS_WITH(with([](auto& o) { o.alpha = 0; }), "alpha (0) must lie in (0, 0.5)");
  CHECK_THROWS_WITH(with([](auto& o) { o.min_effect = -1; }), "min_effect (-1) must be finite and not negative");
  CHECK_THROWS_WITH(with([](auto& o) { o.resamples = 0; }), "resamples (0) must be positive");
  CHECK_THROWS_WITH(with([](auto& o) { o.comparisons = 0; }), "comparisons (0) must be positive");
}

TEST_CASE("in a comparison of hits never is worse than any hit and two nevers tie") {
  const HitResult result = compare_hits(hits({100, 200, 300, kNever}), hits({150, 180, kNever, kNever}));
  CHECK(result.paired.direction == kLower);
  CHECK(result.paired.test == PairedTest::signed_rank);
  CHECK(result.paired.wins == 2);
  CHECK(result.paired.losses == 1);
  CHECK(result.paired.ties == 1);
  CHECK(result.paired.missing_variant == 1);
  CHECK(result.paired.missing_reference == 2);
  // In favour of the variant: +50, −20, +∞, 0 → signed mid-ranks 3 −2 4 0, sum 5. Of the 8 patterns of the three
  // that count, |sum| is 9, 5, 3, 1, each twice: four reach 5.
  CHECK(result.paired.p == 0.5);
}

TEST_CASE("hits are summarised by median and restricted mean up to the horizon") {
  const HitResult result = compare_hits(hits({100, 200, 300, kNever}), hits({150, 180, kNever, kNever}));
  CHECK(result.horizon == 1000);
  CHECK(result.variant.num_hits == 3);
  CHECK(result.variant.median == 200);
  CHECK(result.variant.restricted_mean.mean == 400);
  CHECK(result.reference.median == 180);
  CHECK(result.reference.restricted_mean.mean == 582.5);
  CHECK(result.paired.difference->mean == Approx(400 - 582.5));
  const Interval t = t_interval({-50, 20, -700, 0}, .95);
  CHECK(result.paired.difference->interval->low == Approx(t.low));
  CHECK(result.paired.difference->interval->high == Approx(t.high));
}

TEST_CASE("the difference of hits is that of the restricted means, whatever is censored") {
  const auto a = hits({10, kNever, 700, 30, kNever, 999, 1000}), b = hits({kNever, 5, 600, 31, kNever, 1, 1000});
  const HitResult result = compare_hits(a, b);
  CHECK(result.paired.difference->mean == Approx(result.variant.restricted_mean.mean - result.reference.restricted_mean.mean));
}

TEST_CASE("unequal budgets are compared up to the smallest") {
  const HitResult result = compare_hits(hits({100, 800, 900}, 1000), hits({200, 300, kNever}, 500));
  CHECK(result.horizon == 500);
  CHECK(result.variant.num_hits == 1);  // the hits at 800 and 900 came after the horizon
  CHECK(result.paired.wins == 1);
  CHECK(result.paired.losses == 1);
  CHECK(result.paired.ties == 1);
  CHECK_THROWS_WITH(compare_hits(hits({100}, 50), hits({10}, 50)), "run 0: hit time (100) must lie in [0, budget (50)]");
}

TEST_CASE("runs that never hit on either side leave nothing to compare") {
  const HitResult result = compare_hits(hits(std::vector<std::optional<double>>(6)), hits(std::vector<std::optional<double>>(6)));
  CHECK(result.paired.p == 1);
  CHECK_FALSE(result.paired.effect.has_value());
  CHECK(result.paired.difference->mean == 0);
  CHECK_FALSE(result.variant.median.has_value());
  CHECK(result.variant.restricted_mean.mean == 1000);
}
