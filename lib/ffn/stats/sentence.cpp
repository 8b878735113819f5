// Says a verdict in words. Depends on verdict.hpp only.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "ffn/stats/power.hpp"
#include "ffn/stats/verdict.hpp"

namespace ffn::stats {
namespace {

std::string formatted(const char* format, int precision, double value) {
  char text[400];  // enough for the largest double in %f
  std::snprintf(text, sizeof text, format, precision, value);
  return text;
}

std::string significant(double value, int digits) { return formatted("%.*g", digits, value); }

/// p to two digits, three from 0.01 up so that 0.0496 does not become 0.05.
std::string p_text(double p) {
  if (p < 1e-4) return "p < 0.0001";
  return "p = " + (p >= 0.1 ? formatted("%.*f", 2, p) : significant(p, p >= 0.01 ? 3 : 2));
}

/// Numbers of one statement, all with as many decimals as give its interval's width two digits.
class Scale {
 public:
  explicit Scale(double width) {
    if (width > 0.0 && std::isfinite(width)) decimals_ = std::max(0, 1 - static_cast<int>(std::floor(std::log10(width))));
  }

  /// With sign; − is U+2212. 0 has none.
  std::string operator()(double value) const {
    const double size = std::abs(value);
    const bool plain = decimals_ >= 0 && decimals_ <= 9 && size < 1e9;
    std::string digits = std::isinf(size) ? "∞" : plain ? formatted("%.*f", decimals_, size) : significant(size, 3);
    if (!std::isinf(size) && digits.find_first_of("123456789") == std::string::npos) return digits;
    return (value < 0.0 ? "−" : "+") + digits;
  }

  std::string operator()(const Interval& interval) const { return "[" + (*this)(interval.low) + ", " + (*this)(interval.high) + "]"; }

 private:
  int decimals_ = -1;  // unknown: three significant digits
};

std::string difference_text(double mean, const Interval& interval) {
  const Scale scale(interval.high - interval.low);
  return scale(mean) + " " + scale(interval);
}

std::string improvement_text(const ProbabilityOfImprovement& p) {
  const auto two_decimals = [](double value) { return formatted("%.*f", 2, value); };
  return "P(better) = " + two_decimals(p.paired) + " [" + two_decimals(p.interval.low) + ", " + two_decimals(p.interval.high) + "]";
}

std::string family_text(std::size_t comparisons) {
  return comparisons > 1 ? " (Holm, " + std::to_string(comparisons) + " comparisons)" : "";
}

std::string effect_text(const PairedResult& result) {
  if (result.test == PairedTest::signed_rank) return improvement_text(result.improvement);
  return difference_text(result.difference->mean, result.difference->interval);
}

/// What the effect alone does not say where the test is by ranks.
std::string rank_text(const PairedResult& result) {
  if (result.test != PairedTest::signed_rank) return "";
  if (!result.difference) return "; " + result.test_reason;
  return "; restricted mean difference " + difference_text(result.difference->mean, result.difference->interval);
}

std::string advice(const PairedResult& result, const Judgement& judgement) {
  if (!judgement.seeds_to_decide) return "; no number of seeds up to " + std::to_string(kMaxPlannedSeeds) + " would settle it";
  const std::size_t more = *judgement.seeds_to_decide - result.num_seeds;
  return "; about " + std::to_string(more) + " more seed" + (more == 1 ? "" : "s") + " would settle it";
}

}  // namespace

std::string to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::better:
      return "better";
    case Verdict::worse:
      return "worse";
    case Verdict::no_meaningful_difference:
      return "no meaningful difference";
    case Verdict::undecided:
      return "undecided";
    case Verdict::too_few_seeds:
      return "too few seeds";
  }
  return "";
}

std::string verdict_sentence(const PairedResult& result, const Judgement& judgement) {
  const std::string start = to_string(judgement.verdict) + ": ";
  const std::string n = std::to_string(result.num_seeds);
  if (judgement.verdict == Verdict::too_few_seeds)
    return start + "with " + n + " the smallest possible p is " + significant(judgement.smallest_p_holm, 3) +
           family_text(judgement.comparisons) + "; at least " + std::to_string(judgement.seeds_for_verdict) + " are needed";
  if (judgement.verdict == Verdict::no_meaningful_difference) {
    const Interval& interval = result.difference->equivalence_interval;
    return start + difference_text(result.difference->mean, interval) + " lies within ±" + significant(result.options.min_effect, 3) +
           " (" + significant(100.0 * interval.level, 3) + " % interval), " + n + " seeds";
  }
  const std::size_t agreeing = judgement.verdict == Verdict::worse ? result.losses : result.wins;
  return start + effect_text(result) + ", " + p_text(judgement.p_holm) + family_text(judgement.comparisons) + ", " +
         std::to_string(agreeing) + " of " + n + " seeds" + rank_text(result) +
         (judgement.verdict == Verdict::undecided ? advice(result, judgement) : "");
}

}  // namespace ffn::stats
