// Ratios as people are shown them.
#include "ffn/stats/ratio.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace ffn::stats {
namespace {

double percent_of(double log_ratio) { return 100.0 * std::expm1(log_ratio); }

std::string fixed_text(double value, int decimals) {
  char text[400];  // enough for the largest double
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

/// Two digits of the uncertainty are shown; three significant ones where it is not known.
int decimals_for(double value, double uncertainty) {
  const double last = uncertainty > 0.0 ? uncertainty : value > 0.0 ? value / 10.0 : 1.0;
  return std::min(std::max(0, 1 - static_cast<int>(std::floor(std::log10(last)))), 9);
}

}  // namespace

RatioForm ratio_form(const std::vector<PairedResult>& results) {
  const double far = std::log(5.0);
  for (const PairedResult& result : results) {
    if (result.values != PairedValues::log_ratio || !result.effect) continue;
    const Interval& interval = result.effect->interval;
    const bool limits = !interval.unbounded() && std::max(-interval.low, interval.high) > far;
    if (std::abs(result.effect->value) > far || limits) return RatioForm::factor;
  }
  return RatioForm::percent;
}

RatioText::RatioText(const Effect& effect, RatioForm form) : effect_(effect), form_(form) {
  const auto place = [&](double x) { return form_ == RatioForm::percent ? percent_of(x) : x; };
  const double above = place(effect.interval.high) - place(effect.value), below = place(effect.value) - place(effect.interval.low);
  if (!effect.interval.unbounded()) uncertainty_ = std::isfinite(above + below) ? (above + below) / 2 : std::min(above, below);
  if (!std::isfinite(uncertainty_)) uncertainty_ = 0;
}

std::string RatioText::size(double log_ratio) const {
  if (std::isinf(log_ratio)) return "∞";
  if (form_ == RatioForm::percent) {
    const double percent = std::abs(percent_of(log_ratio));
    return fixed_text(percent, decimals_for(percent, uncertainty_));
  }
  const double factor = std::exp(std::abs(log_ratio));
  if (!(factor < 1e6)) {
    char text[40];
    std::snprintf(text, sizeof text, "%.1e", factor);
    return std::isinf(factor) ? "∞" : text;
  }
  // Two digits still place a number that is known to a factor of 3.
  return fixed_text(factor, decimals_for(factor, factor * std::min(uncertainty_, 1.0)));
}

std::string RatioText::operator()(double log_ratio) const {
  const std::string digits = size(log_ratio);
  if (form_ == RatioForm::factor) return (log_ratio < 0.0 ? "÷" : "×") + digits;
  if (std::isfinite(log_ratio) && digits.find_first_of("123456789") == std::string::npos) return digits;
  return (log_ratio < 0.0 ? "−" : "+") + digits;
}

std::string RatioText::with_interval() const {
  const Interval& interval = effect_.interval;
  const std::string value = (*this)(effect_.value) + (form_ == RatioForm::percent ? " %" : "");
  if (std::isinf(effect_.value)) return value;
  if (interval.unbounded()) return value + " (no interval)";
  if (interval.empty()) return value + " (empty interval)";
  return value + (interval.low_open ? " (" : " [") + (*this)(interval.low) + ", " + (*this)(interval.high) +
         (interval.high_open ? ")" : "]");
}

}  // namespace ffn::stats
