// Verdicts over a family of comparisons, and their sentences.
#include <cmath>

#include "ffn/stats/permutation.hpp"
#include "ffn/stats/verdict.hpp"
#include "support/catch_plain.hpp"

using namespace ffn::stats;

namespace {

constexpr auto kLower = Direction::lower_is_better;

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
  CHECK(sentence(loss) == "better: −0.031 [−0.039, −0.022], p = 0.0078, 8 of 8 seeds");
  const PairedResult accuracy = from_differences(kClear, 0, Direction::higher_is_better);
  CHECK(judge_one(accuracy).verdict == Verdict::worse);
  CHECK(sentence(accuracy) == "worse: −0.031 [−0.039, −0.022], p = 0.0078, 8 of 8 seeds");
}

TEST_CASE("the sentence names the family that the p value is corrected for") {
  const PairedResult clear = from_differences(kClear);
  const auto judgements = judge({clear, from_differences(kUnclear), from_differences(kUnclear)});
  CHECK(judgements[0].p_holm == Approx(3 * 0.0078125));
  CHECK(verdict_sentence(clear, judgements[0]) == "better: −0.031 [−0.039, −0.022], p = 0.0234 (Holm, 3 comparisons), 8 of 8 seeds");
}

TEST_CASE("an unclear difference is undecided and says how many more seeds would settle it") {
  const PairedResult result = from_differences(kUnclear);
  const Judgement judgement = judge_one(result);
  CHECK(judgement.verdict == Verdict::undecided);
  // mean −0.01, sd 0.0302, d_z = 0.331: 74 seeds (scipy.stats.nct)
  CHECK(judgement.seeds_to_decide == 74);
  CHECK(sentence(result) == "undecided: −0.010 [−0.029, +0.010], p = 0.43, 5 of 8 seeds; about 66 more seeds would settle it");
}

TEST_CASE("a difference too small for any plan says so") {
  const PairedResult result = from_differences({-.05, .05, -.04, .04, -.03, .03, -.02, .021});
  CHECK_FALSE(judge_one(result).seeds_to_decide.has_value());
  CHECK(sentence(result) == "undecided: 0.000 [−0.026, +0.025], p = 1.00, 4 of 8 seeds; no number of seeds up to 1000 would settle it");
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

TEST_CASE("no meaningful difference needs the whole equivalence interval within the margin") {
  const std::vector<double> small{.001, -.002, .0005, -.001, .002, -.0005, .001, -.001};
  CHECK(judge_one(from_differences(small)).verdict == Verdict::undecided);  // no margin given
  CHECK(judge_one(from_differences(small, .0005)).verdict == Verdict::undecided);
  const PairedResult result = from_differences(small, .005);
  CHECK(judge_one(result).verdict == Verdict::no_meaningful_difference);
  CHECK(sentence(result) == "no meaningful difference: 0.0000 [−0.0009, +0.0009] lies within ±0.005 (90 % interval), 8 seeds");
}

TEST_CASE("a significant difference below the margin is no meaningful difference") {
  CHECK(judge_one(from_differences(kClear)).verdict == Verdict::better);
  CHECK(judge_one(from_differences(kClear, .1)).verdict == Verdict::no_meaningful_difference);
  CHECK(judge_one(from_differences(kClear, .02)).verdict == Verdict::better);
}

TEST_CASE("with a margin the plan is the cheaper of showing a difference and showing none") {
  const std::vector<double> tiny{-.05, .05, -.04, .04, -.03, .03, -.02, .021};
  const Judgement judgement = judge_one(from_differences(tiny, .02));
  CHECK(judgement.verdict == Verdict::undecided);
  CHECK(judgement.seeds_to_decide.value() > 20);
  CHECK(judgement.seeds_to_decide.value() < 60);
}

TEST_CASE("a small p alone is no verdict when the interval includes no difference") {
  PairedResult result = from_differences(kClear);
  result.difference->interval = {-.06, .001, .95};
  const Judgement judgement = judge_one(result);
  CHECK(judgement.verdict == Verdict::undecided);
  CHECK(judgement.seeds_to_decide == 9);  // the plan by the effect alone would be fewer than were run
}

TEST_CASE("an interval alone is no verdict when p is not small") {
  PairedResult result = from_differences(kClear);
  result.p = 0.051;
  CHECK(judge_one(result).verdict == Verdict::undecided);
}

TEST_CASE("by ranks the probability of improvement decides, and must agree with the test") {
  const std::vector<Outcome> variant{1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7};
  std::vector<Outcome> reference{2.0, 2.1, std::nullopt, 2.3, 2.4, 2.5, std::nullopt, 2.7};
  PairedResult result = compare_paired(variant, reference, kLower);
  CHECK(judge_one(result).verdict == Verdict::better);
  CHECK(sentence(result) ==
        "better: P(better) = 1.00 [0.63, 1.00], p = 0.0078, 8 of 8 seeds; signed ranks, because 2 of 16 runs have no "
        "value");
  CHECK(judge_one(compare_paired(reference, variant, kLower)).verdict == Verdict::worse);

  result.improvement.interval = {0.4, 1.0, 0.95};
  CHECK(judge_one(result).verdict == Verdict::undecided);
  result.improvement.interval = {0.1, 0.4, 0.95};  // against the signed ranks
  result.improvement.paired = 0.2;
  CHECK(judge_one(result).verdict == Verdict::undecided);
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
        "better: P(better) = 1.00 [0.63, 1.00], p = 0.0078, 8 of 8 seeds; restricted mean difference −1762 [−2738, "
        "−1125]");
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
    result.difference->mean = mean;
    result.difference->interval = {low, high, 0.95};
    Judgement judgement = judge_one(from_differences(kClear));
    judgement.p_holm = p;
    return verdict_sentence(result, judgement);
  };
  CHECK(text(-1250.4, -1400, -1100, 0.0496) == "better: −1250 [−1400, −1100], p = 0.0496, 8 of 8 seeds");
  CHECK(text(-3.25e12, -4e12, -2e12, 2e-6) == "better: −3.25e+12 [−4e+12, −2e+12], p < 0.0001, 8 of 8 seeds");
  CHECK(text(-2e-12, -3e-12, -1e-12, 0.00123) == "better: −2e-12 [−3e-12, −1e-12], p = 0.0012, 8 of 8 seeds");
  CHECK(text(-0.02, -0.02, -0.02, 0.01) == "better: −0.02 [−0.02, −0.02], p = 0.01, 8 of 8 seeds");
  CHECK(text(-0.0004, -INFINITY, INFINITY, 0.5) == "better: −0.0004 [−∞, +∞], p = 0.50, 8 of 8 seeds");
}

TEST_CASE("by ranks the plan is for the harder of the two conditions") {
  // Six small losses and four clear wins: the signed ranks lean to the wins, the count of seeds to the losses.
  std::vector<Outcome> variant(10, 1.0), reference{3, 4, 5, .99, .98, .97, .96, .95, .94, std::nullopt};
  const PairedResult result = compare_paired(variant, reference, kLower);
  REQUIRE(result.test == PairedTest::signed_rank);
  CHECK(result.wins == 4);
  // P(better) 0.4, sd of the scores √(0.24 · 10/9) = 0.516: d_z = 0.1937, 212 seeds.
  // Signed ranks 7 8 9 −6 … −1 10: mean 1.3, sd 6.39: d_z = 0.2033, 192 seeds.
  CHECK(judge_one(result).seeds_to_decide == 212);
}
