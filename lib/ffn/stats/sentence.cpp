// Text of a verdict.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "ffn/base/text.hpp"
#include "ffn/stats/verdict.hpp"

namespace ffn::stats {
namespace {

std::string formatted(const char* format, int precision, double value) {
  char text[400];  // enough for the largest double in %f
  std::snprintf(text, sizeof text, format, precision, value);
  return text;
}

/// p to two digits, three from 0.01 up so that 0.0496 does not become 0.05.
std::string p_text(double p) {
  if (p < 1e-4) return "p < 0.0001";
  return "p = " + (p >= 0.1 ? formatted("%.*f", 2, p) : significant(p, p >= 0.01 ? 3 : 2));
}

/// Numbers of one statement, all with as many decimals as show two digits of its uncertainty, half the interval.
class Numbers {
 public:
  explicit Numbers(double uncertainty) {
    if (uncertainty > 0.0 && std::isfinite(uncertainty)) decimals_ = std::max(0, 1 - static_cast<int>(std::floor(std::log10(uncertainty))));
  }

  /// With sign; − is U+2212. 0 has none.
  std::string operator()(double value) const {
    const double size = std::abs(value);
    const int decimals = decimals_ < 0 && size >= 1e3 ? 0 : decimals_;
    const bool plain = decimals >= 0 && decimals <= 9 && size < 1e9;
    std::string digits = std::isinf(size) ? "∞" : plain ? formatted("%.*f", decimals, size) : significant(size, 3);
    if (!std::isinf(size) && digits.find_first_of("123456789") == std::string::npos) return digits;
    return (value < 0.0 ? "−" : "+") + digits;
  }

  std::string operator()(const Interval& interval) const {
    if (interval.unbounded()) return "(no interval: too few seeds)";
    if (interval.empty()) return "(empty interval: the test rejects every value)";
    return (interval.low_open ? "(" : "[") + (*this)(interval.low) + ", " + (*this)(interval.high) + (interval.high_open ? ")" : "]");
  }

 private:
  int decimals_ = -1;  // unknown: three significant digits
};

std::string difference_text(double value, const Interval& interval) {
  const double above = interval.high - value, below = value - interval.low;
  const Numbers text(std::isfinite(above + below) ? (above + below) / 2 : std::min(above, below));
  return text(value) + " " + text(interval);
}

std::string family_text(std::size_t comparisons) {
  return comparisons > 1 ? " (Holm, " + std::to_string(comparisons) + " comparisons)" : "";
}

std::string effect_text(const PairedResult& result, RatioForm form) {
  if (!result.effect)
    return result.test == PairedTest::corrected_t ? "a run has no value, so there is no mean" : "no seed has a value on either side";
  const std::string name = result.effect->estimand == Estimand::typical_difference ? "typical difference " : "";
  if (result.values == PairedValues::log_ratio) return name + RatioText(*result.effect, form).with_interval();
  return name + difference_text(result.effect->value, result.effect->interval);
}

std::string margin_text(const PairedResult& result) {
  const double margin = result.options.min_effect;
  return result.values == PairedValues::log_ratio ? "a factor of " + significant(std::exp(margin), 4) : "±" + significant(margin, 3);
}

/// For a test by ranks: the restricted mean difference, or the reason for ranks.
std::string rank_text(const PairedResult& result) {
  if (!is_of_ranks(result.test)) return "";
  if (!result.difference || !result.difference->interval) return "; " + result.test_reason;
  return "; restricted mean difference " + difference_text(result.difference->mean, *result.difference->interval);
}

std::string chances_text(const Judgement& judgement) {
  const auto percent = [](double share) { return formatted("%.*f", 0, 100.0 * share) + " %"; };
  std::string text;
  for (const Chance& chance : judgement.chances)
    text +=
        (text.empty() ? "; chance of a verdict if there is a difference (overall): " + std::to_string(chance.num_seeds) + " fresh seeds "
                      : ", " + std::to_string(chance.num_seeds) + ": ") +
        percent(chance.if_different) + " (" + percent(chance.overall) + ")";
  return text;
}

}  // namespace

const std::vector<VerdictWord>& verdict_words() {
  static const std::vector<VerdictWord> words = {
      {Verdict::better, "better", "surely better than the reference"},
      {Verdict::worse, "worse", "surely worse than the reference"},
      {Verdict::no_meaningful_difference, "no meaningful difference", "the difference is surely smaller than compare.min_effect"},
      {Verdict::same, "same", "both sides have the same value with every seed"},
      {Verdict::undecided, "undecided", "these seeds do not decide, which does not mean equal"},
      {Verdict::too_few_seeds, "too few seeds", "no result of this many seeds could give a verdict"},
  };
  return words;
}

std::string to_string(Verdict verdict) {
  const auto& words = verdict_words();
  return std::find_if(words.begin(), words.end(), [&](const VerdictWord& w) { return w.verdict == verdict; })->word;
}

std::string verdict_sentence(const PairedResult& result, const Judgement& judgement, RatioForm form) {
  const std::string start = to_string(judgement.verdict) + ": ";
  const std::string n = std::to_string(result.num_seeds);
  if (judgement.verdict == Verdict::too_few_seeds)
    return start + "with " + n + " the smallest possible p is " + significant(judgement.smallest_p_holm, 3) +
           family_text(judgement.comparisons) + "; at least " + std::to_string(judgement.seeds_for_verdict) + " are needed";
  if (judgement.verdict == Verdict::no_meaningful_difference) {
    return start + effect_text(result, form) + " is within " + margin_text(result) + ", " + p_text(*judgement.p_equivalence_adjusted) +
           family_text(judgement.comparisons) + ", " + n + " seeds";
  }
  if (judgement.verdict == Verdict::same) return start + "the same value with each of " + n + " seeds";
  const std::size_t agreeing = judgement.verdict == Verdict::worse ? result.losses : result.wins;
  const std::string runs = result.unpaired ? std::to_string(result.unpaired->num_variant) + " and " +
                                                 std::to_string(result.unpaired->num_reference) + " runs, unpaired"
                                           : std::to_string(agreeing) + " of " + n + " seeds";
  return start + effect_text(result, form) + ", " + p_text(judgement.p_holm) + family_text(judgement.comparisons) + ", " + runs +
         rank_text(result) + (judgement.verdict == Verdict::undecided ? chances_text(judgement) : "");
}

}  // namespace ffn::stats
