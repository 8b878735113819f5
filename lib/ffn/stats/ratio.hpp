// Text of ratios. Depends on paired.hpp only.
#pragma once

#include <string>
#include <vector>

#include "ffn/stats/paired.hpp"

namespace ffn::stats {

/// "−8.3 %", variant against reference, or, where that would be mostly digits, "÷320" and "×3.1".
enum class RatioForm { percent, factor };

/// Factors as soon as anything that is shown of the log ratios among these is below 1/5 or above 5: one form for a whole comparison.
RatioForm ratio_form(const std::vector<PairedResult>& results);

/// An effect that is a log ratio, and numbers on its scale, with as many digits as its interval deserves.
class RatioText {
 public:
  RatioText(const Effect& effect, RatioForm form);

  /// The text of ln(variant / reference): "−8.3", "÷320"; 0 is "0" or "×1.00". − is U+2212.
  std::string operator()(double log_ratio) const;
  /// Without the direction: "8.3", "320".
  std::string size(double log_ratio) const;
  /// "−8.3 % [−12.1, −3.0]", "÷320 [÷830, ÷120]"; a round bracket for a limit that is outside.
  std::string with_interval() const;

 private:
  Effect effect_;
  RatioForm form_;
  double uncertainty_ = 0;  ///< in percent, or of the logarithm; 0: not known
};

}  // namespace ffn::stats
