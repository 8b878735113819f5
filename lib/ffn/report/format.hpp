// Numbers for people. Machine-readable output (JSON, CSV) writes numbers in full and does not come here.
// Standard library and core; the decimal point is a point in every locale that the program sets (it sets none).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ffn {

/// "2,099,712".
std::string format_count(std::int64_t value);
template <class Integer>
std::string format_count(Integer value) {
  return format_count(static_cast<std::int64_t>(value));
}

/// "1 run", "2,048 runs".
std::string format_counted(std::size_t number, const std::string& what);

/// The nearest whole number; halfway the even one, as in every other number that is shown: 34.5 is "34", 35.5 "36".
std::string format_rounded(double value);

/// Two significant digits and a unit: "7", "0.5", "850", "1.2k", "34k", "3.4M", "1.0G", "1.0T".
std::string format_short(double value);

/// "350 ms", "3.5 s", "12 s", "1 min 12 s", "2 h 5 min", "3 d 4 h"; "?" for what is no duration.
std::string format_duration(double seconds);

/// Exactly `digits` significant digits, no exponent between 0.0001 and a million: "0.0123", "1.50", "3.1e-05".
/// Digits before the point are never rounded away: 12345.6 is "12346"; a minus is U+2212.
std::string format_significant(double value, int digits = 3);

/// The same with "-" for what is not finite.
std::string shown_number(double value, int digits = 3);

/// With as many decimals as show two digits of its uncertainty, in the same units: 45.03 ± 9.76 is "45.0"; − is U+2212. Three significant
/// digits where that is 0 or not finite.
std::string format_with(double value, double uncertainty);

/// The same with its sign, − being U+2212; 0 has none, infinity is "∞".
std::string format_signed(double value, double uncertainty);

/// 0.975 is "97.5 %", −0.031 "−3.1 %".
std::string format_percent(double fraction, int decimals = 1);
/// A confidence level or an error rate with the digits that it has: "95 %", "99.5 %", "0.25 %".
std::string format_level(double level);

/// The same for a share that may be none at all: 0 is "0" and not a rounded little, which is "< 0.1 %"; "-" for what is not finite.
std::string format_share(double share);

/// Decimal units: "512 B", "1.2 kB", "3.4 GB".
std::string format_bytes(double bytes);

}  // namespace ffn
