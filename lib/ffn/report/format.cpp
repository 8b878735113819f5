#include "ffn/report/format.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace ffn {
namespace {

std::string fixed(double value, int decimals) {
  char text[400];  // the largest double has 309 digits before the point
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

std::string not_finite(double value) { return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf"; }

/// Divides by 1000 while the number would print with four digits; says how often.
int scale(double& value) {
  constexpr int kLargest = 4;  // tera
  int power = 0;
  // 999.5 and not 1000: it would print as "1000".
  for (; power < kLargest && std::abs(value) >= 999.5; ++power) value /= 1000;
  return power;
}

/// One decimal below 10, none above. 9.96 is "10", not "10.0".
std::string two_digits(double value) { return fixed(value, std::abs(value) < 9.95 ? 1 : 0); }

std::string two_units(std::int64_t large, const char* large_unit, std::int64_t small, const char* small_unit) {
  std::string text = std::to_string(large) + " " + large_unit;
  if (small > 0) text += " " + std::to_string(small) + " " + small_unit;
  return text;
}

}  // namespace

std::string format_count(std::int64_t value) {
  std::string digits = std::to_string(value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3;) digits.insert(i -= 3, ",");
  return digits;
}

std::string format_counted(std::size_t number, const std::string& what) {
  return format_count(number) + " " + what + (number == 1 ? "" : "s");
}

std::string format_rounded(double value) { return format_count(static_cast<std::int64_t>(std::nearbyint(value))); }

std::string format_short(double value) {
  if (!std::isfinite(value)) return not_finite(value);
  constexpr const char* kUnits[] = {"", "k", "M", "G", "T"};
  const int power = scale(value);
  if (power == 0 && value == std::round(value)) return fixed(value, 0);  // a small count is exact
  return two_digits(value) + kUnits[power];
}

std::string format_duration(double seconds) {
  constexpr double kLongest = 1e15;  // 30 million years; keeps the integer arithmetic below from overflowing
  if (!(seconds >= 0 && seconds < kLongest)) return "?";
  if (seconds > 0 && seconds < 0.00095) return format_significant(seconds * 1000, 1) + " ms";  // "0.3 ms"
  if (seconds < 0.9995) return fixed(seconds * 1000, 0) + " ms";
  if (seconds < 59.5) return two_digits(seconds) + " s";
  const std::int64_t s = std::llround(seconds), minutes = std::llround(seconds / 60), hours = std::llround(seconds / 3600);
  if (s < 3600) return two_units(s / 60, "min", s % 60, "s");
  if (minutes < 24 * 60) return two_units(minutes / 60, "h", minutes % 60, "min");
  return two_units(hours / 24, "d", hours % 24, "h");
}

std::string format_significant(double value, int digits) {
  if (!std::isfinite(value)) return not_finite(value);
  if (value < 0) return "−" + format_significant(-value, digits);
  char text[64];
  std::snprintf(text, sizeof text, "%.*e", digits - 1, value);
  const int exponent = std::atoi(std::string(text).substr(std::string(text).find('e') + 1).c_str());  // after rounding: 9.996 is 1.00e+01
  if (value != 0 && (exponent < -4 || exponent >= 6)) return text;
  const int decimals = digits - 1 - exponent;
  return fixed(value, decimals > 0 ? decimals : 0);
}

std::string shown_number(double value, int digits) { return std::isfinite(value) ? format_significant(value, digits) : "-"; }

std::string format_with(double value, double uncertainty) {
  if (!(uncertainty > 0) || !std::isfinite(uncertainty) || !std::isfinite(value) || std::abs(value) >= 1e9)
    return format_significant(value);
  const int decimals = 1 - static_cast<int>(std::floor(std::log10(uncertainty)));
  if (decimals > 7) return format_significant(value);
  const std::string text = fixed(value, decimals > 0 ? decimals : 0);
  if (text[0] != '-') return text;
  return (text.find_first_of("123456789") == std::string::npos ? "" : "−") + text.substr(1);
}

std::string format_signed(double value, double uncertainty) {
  if (std::isinf(value)) return value > 0 ? "+∞" : "−∞";
  const std::string text = format_with(std::abs(value), uncertainty);
  if (text.find_first_of("123456789") == std::string::npos) return text;
  return (value < 0 ? "−" : "+") + text;
}

std::string format_percent(double fraction, int decimals) {
  if (!std::isfinite(fraction)) return not_finite(fraction);
  const std::string text = fixed(100 * fraction, decimals) + " %";
  return text[0] == '-' ? "−" + text.substr(1) : text;
}

std::string format_level(double level) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g %%", 100 * level);
  return text;
}

std::string format_share(double share) {
  if (!std::isfinite(share)) return "-";
  return share == 0 ? "0" : share > 0 && share < 0.001 ? "< 0.1 %" : format_percent(share);
}

std::string format_bytes(double bytes) {
  if (!std::isfinite(bytes)) return not_finite(bytes);
  constexpr const char* kUnits[] = {" B", " kB", " MB", " GB", " TB"};
  const int power = scale(bytes);
  return (power == 0 ? fixed(bytes, 0) : two_digits(bytes)) + kUnits[power];
}

}  // namespace ffn
