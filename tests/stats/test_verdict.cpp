// Verdicts over a family of comparisons, and their sentences.
#include <cmath>

#include "ffn/stats/permutation.hpp"
#include "ffn/stats/power.hpp"
#include "ffn/stats/verdict.hpp"
#include "one_pair.hpp"
#include "support/catch_plain.hpp"
#include "values.hpp"

using namespace ffn::stats;

namespace {

/// A result as compare_paired would give it for these differences (variant − reference).
PairedResult from_differences(const std::vector<double>& differences, double min_effect = 0, Direction direction = kLower) {
  CompareOptions options;
  options.min_effect = min_effect;
  std::vector<Outcome> variant, reference;
  for (const double d : differences) {
    variant.push_back(d);
    reference.push_back(0.0);
  }
  return compare_paired(variant, reference, direction, options);
}

Judgement judge_one(const PairedResult& result) { return judge({result}).front(); }

std::string sentence(const PairedResult& result) { return verdict_sentence(result, judge_one(result)); }

const std::vector<double> kClear{-.05, -.02, -.04, -.03, -.01, -.03, -.04, -.028};
const std::vector<double> kUnclear{-.05, .02, -.04, .03, -.01, -.03, .02, -.02};

}  // namespace

TEST_CASE("a clear fall of the loss is better, and worse where higher is better") {
  const PairedResult loss = from_differences(kClear);
  CHECK(judge_one(loss).verdict == Verdict::better);
  CHECK(sentence(loss) == "better: −0.031 [−0.040, −0.020], p = 0.0078, 8 of 8 seeds");
  const PairedResult accuracy = from_differences(kClear, 0, Direction::higher_is_better);
  CHECK(judge_one(accuracy).verdict == Verdict::worse);
  CHECK(sentence(accuracy) == "worse: −0.031 [−0.040, −0.020], p = 0.0078, 8 of 8 seeds");
}

TEST_CASE("the sentence names the family that the p value is corrected for") {
  const PairedResult clear = from_differences(kClear);
  const auto judgements = judge({clear, from_differences(kUnclear), from_differences(kUnclear)});
  CHECK(judgements[0].p_holm == Approx(3 * 0.0078125));
  CHECK(verdict_sentence(clear, judgements[0]) == "better: −0.031 [−0.040, −0.020], p = 0.0234 (Holm, 3 comparisons), 8 of 8 seeds");
}

TEST_CASE("an unclear difference is undecided and says what chances new studies have") {
  const PairedResult result = from_differences(kUnclear);
  const Judgement judgement = judge_one(result);
  CHECK(judgement.verdict == Verdict::undecided);
  REQUIRE(judgement.chances.size() == 4);
  for (const Chance& chance : judgement.chances) {
    const auto fresh = chance_of_verdict({8, result.standardised_effect}, chance.num_seeds, .05);
    CHECK(chance.if_different == fresh.if_different);
    CHECK(chance.overall == fresh.overall);
  }
  CHECK(sentence(result) ==
        "undecided: −0.010 [−0.037, +0.020], p = 0.43, 5 of 8 seeds; chance of a verdict if there is a difference (overall): 20 fresh "
        "seeds 26 % (14 %), 50: 46 % (23 %), 100: 60 % (29 %), 200: 70 % (34 %)");
}

TEST_CASE("in a family the chances are those at its corrected level") {
  const PairedResult result = from_differences(kUnclear);
  const Judgement judgement = judge({result, result, result})[0];
  CHECK(judgement.chances[0].overall == chance_of_verdict({8, result.standardised_effect}, 20, .05 / 3).overall);
}

TEST_CASE("five seeds are too few whatever they show") {
  const PairedResult result = from_differences({-.02, -.02, -.03, -.02, -.02});
  CHECK(judge_one(result).verdict == Verdict::too_few_seeds);
  CHECK(sentence(result) == "too few seeds: with 5 the smallest possible p is 0.0625; at least 6 are needed");
}

TEST_CASE("Holm's correction asks for more seeds") {
  const PairedResult seven = from_differences({-.02, -.02, -.03, -.02, -.02, -.01, -.04});
  CHECK(judge_one(seven).verdict == Verdict::better);
  const auto judgements = judge(std::vector<PairedResult>(4, seven));
  CHECK(judgements[2].verdict == Verdict::too_few_seeds);
  CHECK(verdict_sentence(seven, judgements[2]) ==
        "too few seeds: with 7 the smallest possible p is 0.0625 (Holm, 4 comparisons); at least 8 are needed");
}

TEST_CASE("a family member with few seeds can profit from the others' small p values") {
  // Alone in a family of two, six seeds are too few (2 · 0.03125 > 0.05); after the other's rejection Holm asks less.
  const PairedResult six = from_differences({-.02, -.02, -.03, -.02, -.02, -.01}), eight = from_differences(kClear);
  CHECK(judge({six, eight})[0].verdict == Verdict::better);
  CHECK(judge({six, from_differences(kUnclear)})[0].verdict == Verdict::too_few_seeds);
}

TEST_CASE("planned comparisons that are not in the family still count") {
  PairedResult result = from_differences(kClear);
  result.options.comparisons = 5;
  CHECK(judge_one(result).comparisons == 5);
  CHECK(judge_one(result).p_holm == Approx(5 * 0.0078125));
}

TEST_CASE("no meaningful difference needs a margin that both one-sided tests keep") {
  const std::vector<double> small{.001, -.002, .0005, -.001, .002, -.0005, .001, -.001};
  CHECK(judge_one(from_differences(small)).verdict == Verdict::undecided);  // no margin given
  CHECK(judge_one(from_differences(small, .0005)).verdict == Verdict::undecided);
  const PairedResult result = from_differences(small, .005);
  CHECK(judge_one(result).verdict == Verdict::no_meaningful_difference);
  CHECK(sentence(result) == "no meaningful difference: 0.0000 [−0.0012, +0.0012] is within ±0.005, p = 0.0039, 8 seeds");
}

TEST_CASE("a significant difference below the margin is no meaningful difference") {
  CHECK(judge_one(from_differences(kClear)).verdict == Verdict::better);
  CHECK(judge_one(from_differences(kClear, .1)).verdict == Verdict::no_meaningful_difference);
  CHECK(judge_one(from_differences(kClear, .02)).verdict == Verdict::better);
}

TEST_CASE("no meaningful difference is corrected for the family, and a comparison stays in it until both claims are shown") {
  // Alone the equivalence has p = 1/2⁶; three of them are not shown at 0.05 / 4 while the fourth comparison is open.
  const PairedResult small = from_differences({.001, -.002, .0005, -.001, .002, -.0005}, .005), open = from_differences(kUnclear, .005);
  CHECK(*small.p_equivalence == 1.0 / 64);
  CHECK(judge_one(small).verdict == Verdict::no_meaningful_difference);
  const auto judgements = judge({small, small, small, open});
  CHECK(*judgements[0].p_equivalence_adjusted == Approx(4.0 / 64));
  CHECK(judgements[0].verdict != Verdict::no_meaningful_difference);

  // "Better" without a margin leaves the family; with one its difference may still be as large as the margin.
  const PairedResult clear = from_differences(kClear, 0), with_margin = from_differences(kClear, .02), other = from_differences(kClear, 0);
  CHECK(judge({clear, other})[0].p_holm == Approx(2 * 0.0078125));
  CHECK(judge({with_margin, from_differences(kUnclear, .02)})[0].p_holm == Approx(2 * 0.0078125));
  CHECK(judge({clear, from_differences({-.05, -.02, -.04, -.03, -.01, -.03, .001, -.028})})[1].p_holm == Approx(0.015625));
  CHECK(judge({with_margin, from_differences({-.05, -.02, -.04, -.03, -.01, -.03, .001, -.028}, .02)})[1].p_holm == Approx(0.03125));
}

TEST_CASE("equal values with every seed are a verdict of their own, and runs without any value are none") {
  CHECK(judge_one(from_differences(std::vector<double>(8, 0.))).verdict == Verdict::same);
  CHECK(sentence(from_differences(std::vector<double>(8, 0.))) == "same: the same value with each of 8 seeds");
  CHECK(judge_one(from_differences(std::vector<double>(5, 0.))).verdict == Verdict::too_few_seeds);
  CHECK(judge_one(from_differences({0, 0, 0, 0, 0, 0, 0, 1e-9})).verdict == Verdict::undecided);
  CHECK(judge_one(from_differences(std::vector<double>(8, 0.), .1)).verdict == Verdict::no_meaningful_difference);
  const std::vector<Hit> never(8, Hit{std::nullopt, 100});
  CHECK(judge_one(compare_hits(never, never).paired).verdict == Verdict::undecided);
}

TEST_CASE("better and worse follow the test alone, on the side of its own sum") {
  PairedResult result = from_differences(kClear);
  result.p = 0.051;
  CHECK(judge_one(result).verdict == Verdict::undecided);

  // Six small losses and six large wins: the signed ranks are for the wins, half of the seeds against.
  const std::vector<Outcome> variant(12, 1.0);
  std::vector<Outcome> reference{2.0, 2.1, 2.2, 2.3, 2.4, std::nullopt, .99, 2.5, 2.6, 2.7, 2.8, 2.9};
  const PairedResult ranks = compare_paired(variant, reference, kLower);
  REQUIRE(ranks.test == PairedTest::signed_rank);
  CHECK(judge_one(ranks).verdict == Verdict::better);
  CHECK(judge_one(compare_paired(reference, variant, kLower)).verdict == Verdict::worse);
}

TEST_CASE("results by ranks show the typical difference") {
  const std::vector<Outcome> variant{1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7};
  const std::vector<Outcome> reference{2.0, 2.1, std::nullopt, 2.3, 2.4, 2.5, std::nullopt, 2.7};
  CHECK(sentence(compare_paired(variant, reference, kLower)) ==
        "better: typical difference −1 [−∞, −1], p = 0.0078, 8 of 8 seeds; signed ranks, because 2 of 16 runs have no value");
  const std::vector<Outcome> never(8);
  CHECK(sentence(compare_paired(never, never, kLower)) ==
        "undecided: no seed has a value on either side, p = 1.00, 0 of 8 seeds; signed ranks, because 16 of 16 runs have no value");
}

TEST_CASE("an interval that seeds are too few for is not shown") {
  // Five pairs have a value, three have none: the smallest p is 2/2⁵.
  const std::vector<Outcome> variant{1.0, 1.1, 1.2, 1.3, 1.4, std::nullopt, std::nullopt, std::nullopt};
  const std::vector<Outcome> reference{2.0, 2.1, 2.2, 2.3, 2.4, std::nullopt, std::nullopt, std::nullopt};
  CHECK_THAT(sentence(compare_paired(variant, reference, kLower)), ContainsSubstring("typical difference −1 (no interval: too few seeds)"));
}

TEST_CASE("hits are judged by ranks and told with their restricted means") {
  std::vector<Hit> variant, reference;
  for (int i = 0; i < 8; ++i) {
    variant.push_back({1000.0 + 50.0 * i, 5000});
    reference.push_back({i < 6 ? std::optional<double>(2000.0 + 100.0 * i) : std::nullopt, 5000});
  }
  const HitResult result = compare_hits(variant, reference);
  CHECK(judge_one(result.paired).verdict == Verdict::better);
  CHECK(sentence(result.paired) ==
        "better: typical difference −1200 [−∞, −1050), p = 0.0078, 8 of 8 seeds; restricted mean difference −1762 [−2752, −773]");
}

TEST_CASE("a family has one alpha and may be empty") {
  PairedResult other = from_differences(kClear);
  other.options.alpha = 0.01;
  CHECK_THROWS_WITH(judge({from_differences(kClear), other}), "one family, two levels: alpha 0.05 and 0.01");
  CHECK(judge({}).empty());
}

TEST_CASE("numbers in a sentence have as many digits as their interval deserves") {
  const auto text = [](double mean, double low, double high, double p) {
    PairedResult result = from_differences(kClear);
    result.effect = {Estimand::mean_difference, mean, {low, high, 0.95}};
    Judgement judgement = judge_one(from_differences(kClear));
    judgement.p_holm = p;
    return verdict_sentence(result, judgement);
  };
  CHECK(text(-1250.4, -1400, -1100, 0.0496) == "better: −1250 [−1400, −1100], p = 0.0496, 8 of 8 seeds");
  CHECK(text(-3.25e12, -4e12, -2e12, 2e-6) == "better: −3.25e+12 [−4e+12, −2e+12], p < 0.0001, 8 of 8 seeds");
  CHECK(text(-2e-12, -3e-12, -1e-12, 0.00123) == "better: −2e-12 [−3e-12, −1e-12], p = 0.0012, 8 of 8 seeds");
  CHECK(text(-0.02, -0.02, -0.02, 0.01) == "better: −0.02 [−0.02, −0.02], p = 0.01, 8 of 8 seeds");
  CHECK(text(-0.0004, -INFINITY, INFINITY, 0.5) == "better: −0.0004 (no interval: too few seeds), p = 0.50, 8 of 8 seeds");
  CHECK(text(0, 0, 0, 0.5) == "better: 0 [0, 0], p = 0.50, 8 of 8 seeds");
  PairedResult nothing = from_differences(kClear);
  nothing.effect = {Estimand::typical_difference, 0, empty_interval(0, 0.95)};
  CHECK_THAT(sentence(nothing), ContainsSubstring("typical difference 0 (empty interval: the test rejects every value)"));
  CHECK(text(-0.0004, -INFINITY, 0.001, 0.5) == "better: −0.0004 [−∞, +0.0010], p = 0.50, 8 of 8 seeds");
}
