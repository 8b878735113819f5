// Sign-flip and signed-rank tests, their smallest p, and Holm's correction.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ffn/stats/permutation.hpp"
#include "ffn/stats/random.hpp"
#include "ffn/stats/verdict.hpp"
#include "support/catch_plain.hpp"
#include "values.hpp"

using namespace ffn::stats;

namespace {

/// The definition, term by term, for whole numbers, whose sums are exact.
double sign_flip_p_by_definition(const std::vector<double>& d) {
  const unsigned num_patterns = 1u << d.size();
  const auto sum = [&](unsigned pattern) {
    double total = 0.0;
    for (std::size_t i = 0; i < d.size(); ++i) total += (pattern >> i) & 1u ? -d[i] : d[i];
    return std::abs(total);
  };
  unsigned hits = 0;
  for (unsigned pattern = 0; pattern < num_patterns; ++pattern) hits += sum(pattern) >= sum(0) ? 1u : 0u;
  return static_cast<double>(hits) / num_patterns;
}

std::vector<double> whole_numbers(std::size_t n, SplitMix64& random) {
  std::vector<double> values(n);
  for (double& value : values) value = static_cast<double>(random.index(41)) - 17.0;
  return values;
}

}  // namespace

TEST_CASE("five wins of five give p = 0.0625") {
  const SignFlipTest test = sign_flip_test({.02, .02, .03, .02, .02});
  CHECK(test.p == 0.0625);
  CHECK(test.exact);
}

TEST_CASE("the sign-flip test agrees with its definition for every number of seeds up to 14") {
  SplitMix64 random(11);
  for (std::size_t n = 1; n <= 14; ++n)
    for (int repeat = 0; repeat < 5; ++repeat) {
      const std::vector<double> d = whole_numbers(n, random);
      CHECK(sign_flip_test(d).p == sign_flip_p_by_definition(d));
    }
}

TEST_CASE("the sign-flip test does not depend on units, order or direction") {
  std::vector<double> d{0.3, -0.1, 0.45, 0.2, 0.05, -0.15, 0.6};
  const double p = sign_flip_test(d).p;
  std::vector<double> other = d;
  for (double& value : other) value *= -1e-9;
  std::reverse(other.begin(), other.end());
  CHECK(sign_flip_test(other).p == p);
}

TEST_CASE("sums that tie on paper count as ties although rounding parts them") {
  // {0.1, 0.2, 0.3}: 0.1 + 0.2 − 0.3 is 5.6e-17 in floating point and 0 on paper. Whole tenths give the right p.
  const std::vector<double> tenths{0.1, 0.2, -0.3, 0.4, 0.7, -0.1, 0.3, 0.6}, whole{1, 2, -3, 4, 7, -1, 3, 6};
  CHECK(sign_flip_test(tenths).p == sign_flip_p_by_definition(whole));
  CHECK(sign_flip_test({0.1, 0.2, -0.3}).p == 1);
}

TEST_CASE("no difference at all has p = 1") {
  CHECK(sign_flip_test({0, 0, 0, 0}).p == 1);
  CHECK(signed_rank_test({0, 0, 0, 0}).p == 1);
  CHECK(sign_flip_test({3}).p == 1);
}

TEST_CASE("above 20 seeds the p value is Monte Carlo, seeded, and never 0") {
  const std::vector<double> all_wins(24, 0.5);
  const SignFlipTest test = sign_flip_test(all_wins, 3);
  CHECK_FALSE(test.exact);
  CHECK(test.p == Approx(1e-5));
  CHECK(test.p == smallest_sign_flip_p(24));

  SplitMix64 random(5);
  std::vector<double> d = whole_numbers(21, random);
  d[20] = 0.0;  // a zero changes no sum: the exact p is that of the first 20
  const double exact = sign_flip_test({d.begin(), d.end() - 1}).p, drawn = sign_flip_test(d, 1).p;
  CHECK(drawn == sign_flip_test(d, 1).p);
  CHECK(drawn != sign_flip_test(d, 2).p);
  CHECK(drawn == Approx(exact).margin(4 * std::sqrt(exact * (1 - exact) / kMonteCarloFlips)));  // 4 standard errors
  d.resize(70, 0.0);                                                                            // more signs than a word of random bits
  CHECK(sign_flip_test(d, 1).p == Approx(exact).margin(4 * std::sqrt(exact * (1 - exact) / kMonteCarloFlips)));
}

TEST_CASE("mid-ranks share ties, rank zeros lowest and infinities highest") {
  CHECK(signed_midranks({3, -1, 2}) == std::vector<double>{3, -1, 2});
  CHECK(signed_midranks({2, -2, 1}) == std::vector<double>{2.5, -2.5, 1});
  CHECK(signed_midranks({0, 0, -5, 4}) == std::vector<double>{0, 0, -4, 3});
  CHECK(signed_midranks({kInfinity, 1e300, -kInfinity}) == std::vector<double>{2.5, 1, -2.5});
  CHECK(0.3 - 0.1 != 0.5 - 0.3);  // equal on paper
  CHECK(signed_midranks({0.5 - 0.3, 0.3 - 0.1, 0.5}) == std::vector<double>{1.5, 1.5, 3});
  // An outlier must not make small differences look equal.
  CHECK(signed_midranks({0.1, 0.2, 1e12}) == std::vector<double>{1, 2, 3});
  CHECK(signed_midranks({}).empty());
}

TEST_CASE("the signed-rank test agrees with the table of Wilcoxon's statistic") {
  // n = 8, no ties: P(W⁺ ≤ 3) = 5/256 (subsets of 1..8 with sum 0…3: {}, {1}, {2}, {3}, {1,2}), two-sided 10/256.
  CHECK(signed_rank_test({-1, -2, 3, 4, 5, 6, 7, 8}).p == 10.0 / 256);
  CHECK(signed_rank_test({1, 2, 3, 4, 5, 6}).p == 2.0 / 64);
  CHECK(signed_rank_test({1, 2, 3, kInfinity, 5, 6}).p == 2.0 / 64);
}

TEST_CASE("a tie between the variants takes a sign pattern away from the signed-rank test") {
  CHECK(signed_rank_test({0, 2, 3, 4, 5, 6}).p == 2.0 / 32);
}

TEST_CASE("the tests refuse what they cannot order") {
  CHECK_THROWS_WITH(sign_flip_test({}), "sign-flip test needs at least 1 value(s), got 0");
  CHECK_THROWS_WITH(sign_flip_test({1, kInfinity}), "sign-flip test needs finite values, value 1 is inf");
  CHECK_THROWS_WITH(signed_rank_test({1, std::nan("")}), "signed ranks need numbers, difference 1 is nan");
}

TEST_CASE("the most comparisons are those up to which some number of seeds is enough") {
  CHECK(most_comparisons(0.05) == 4999);
  for (const double alpha : {0.05, 0.01, 0.3, 1e-4, 3e-5}) {
    INFO(alpha);
    CHECK(seeds_for_any_verdict(alpha, most_comparisons(alpha)) > 6);
    CHECK_THROWS_AS(seeds_for_any_verdict(alpha, most_comparisons(alpha) + 1), std::invalid_argument);
  }
  CHECK(most_comparisons(1e-6) == 0);
}

TEST_CASE("the smallest possible p halves with every seed") {
  CHECK(smallest_sign_flip_p(1) == 1);
  CHECK(smallest_sign_flip_p(3) == .25);
  CHECK(smallest_sign_flip_p(4) == .125);
  CHECK(smallest_sign_flip_p(5) == .0625);
  CHECK(smallest_sign_flip_p(6) == .03125);
  CHECK(smallest_sign_flip_p(8) == .0078125);
  CHECK(smallest_sign_flip_p(21) == Approx(1e-5));
  CHECK_THROWS_AS(smallest_sign_flip_p(0), std::invalid_argument);
}

TEST_CASE("six seeds are the least for a verdict at 5 %, more after Holm") {
  CHECK(seeds_for_any_verdict(0.05) == 6);
  CHECK(seeds_for_any_verdict(0.01) == 8);
  CHECK(seeds_for_any_verdict(0.0625) == 6);  // p < alpha is strict: five seeds give p = 0.0625
  CHECK(seeds_for_any_verdict(0.05, 2) == 7);
  CHECK(seeds_for_any_verdict(0.05, 4) == 8);
  CHECK(seeds_for_any_verdict(0.05, 20) == 10);
  CHECK_THROWS_WITH(seeds_for_any_verdict(1.5), "alpha (1.5) must lie in (0, 1)");
  CHECK_THROWS_WITH(seeds_for_any_verdict(0.05, 0), "comparisons (0) must be positive");
  CHECK_THROWS_WITH(seeds_for_any_verdict(0.05, 5000),
                    "alpha (0.05) over 5000 comparisons is 1e-05 each; the test for many seeds resolves p to 1e-05");
}

static std::vector<double> holm(const std::vector<double>& p, std::size_t comparisons = 0) { return closed_adjusted(p, p, comparisons); }

TEST_CASE("Holm's adjusted p values agree with a case by hand") {
  // sorted .01 .02 .03 .04 → ·4 ·3 ·2 ·1 = .04 .06 .06 .04, made monotone: .04 .06 .06 .06 (R: p.adjust(…, "holm"))
  const std::vector<double> adjusted = holm({.01, .04, .03, .02});
  CHECK(adjusted[0] == Approx(.04));
  CHECK(adjusted[1] == Approx(.06));
  CHECK(adjusted[2] == Approx(.06));
  CHECK(adjusted[3] == Approx(.06));
  CHECK(holm({.5, .9}) == std::vector<double>{1, 1});
  CHECK(holm({.02}) == std::vector<double>{.02});
  CHECK(holm({}).empty());
}

TEST_CASE("Holm counts comparisons that were planned but have no p") {
  CHECK(holm({.01, .02}, 5)[0] == Approx(.05));
  CHECK(holm({.01, .02}, 5)[1] == Approx(.08));
  CHECK(holm({.01, .02}, 1)[0] == Approx(.02));  // a smaller number than the p values given changes nothing
  CHECK_THROWS_WITH(holm({.1, 1.2}), "p value 1 (1.2) must lie in [0, 1]");
}
