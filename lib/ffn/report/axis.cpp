#include "ffn/report/axis.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>

namespace ffn::report {

namespace {

// Decimals that a number needs, at most 12; ticks have few.
std::string plain(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.12g", value);
  return text;
}

std::string superscript(int exponent) {
  constexpr const char* kDigits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string out;
  for (const char digit : std::to_string(exponent)) out += digit == '-' ? "⁻" : kDigits[digit - '0'];
  return out;
}

// The value as mantissa and power of ten; 999.9999999 is 1·10³.
std::pair<double, int> scientific(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6e", value);
  const std::string whole = text;
  const auto e = whole.find('e');
  return {std::stod(whole.substr(0, e)), std::stoi(whole.substr(e + 1))};
}

std::string power_label(double value) {
  const auto [mantissa, exponent] = scientific(value);
  return (mantissa == 1 ? "" : plain(mantissa) + "·") + "10" + superscript(exponent);
}

// As a person writes it: 0.00005 and 20000 are no powers of ten.
std::string written_out(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.12f", value);
  std::string out = text;
  out.erase(out.find_last_not_of('0') + 1);
  if (out.back() == '.') out.pop_back();
  return out;
}

// All labels of an axis in one notation: that of the largest, in which the others are short, too.
std::string label_beside(double value, double largest) {
  if (value == 0) return "0";
  const double size = std::abs(value);
  const auto in_units = [&] {
    return largest >= 1e9 ? plain(size / 1e9) + "G" : largest >= 1e6 ? plain(size / 1e6) + "M" : plain(size / 1e3) + "k";
  };
  const std::string text = largest < 1e-3 || largest >= 1e12 ? power_label(size) : largest >= 1e4 ? in_units() : written_out(size);
  return value < 0 ? "−" + text : text;
}

std::vector<Tick> linear_labels(const Axis& axis, int count) {
  std::vector<double> values = linear_ticks(axis.low, axis.high, count);
  if (axis.whole && (axis.high - axis.low) / std::max(1, count) < 1) {
    values.clear();
    const double first = std::ceil(axis.low);
    for (int i = 0; i <= count && first + i <= axis.high; ++i) values.push_back(first + i == 0 ? 0 : first + i);
  }
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  std::vector<Tick> out;
  for (const double value : values) out.push_back({value, label_beside(value, largest)});
  return out;
}

// A margin around values further out, or their ratio's, may be no number any more.
constexpr double kMost = 1e280, kLeastPositive = 1e-280;

double place(double value, AxisKind kind) { return kind == AxisKind::linear ? value : std::log(value); }

std::vector<Tick> decade_ticks(const Axis& axis, int count) {
  const int first = static_cast<int>(std::floor(std::log10(axis.low) + 1e-9)),
            last = static_cast<int>(std::ceil(std::log10(axis.high) - 1e-9));
  const double decades = std::log10(axis.high) - std::log10(axis.low);
  const int every = std::max(1, static_cast<int>(std::ceil(decades / std::max(1, count))));
  const bool between = decades < 2, as_powers = axis.low < 1e-3 || axis.high >= 1e6;
  std::vector<Tick> out;
  for (int e = first; e <= last; ++e) {
    for (int m = 1; m <= 9; ++m) {
      if (every > 1 && m > 1) break;
      const double value = e >= 0 ? m * std::pow(10.0, e) : m / std::pow(10.0, -e);
      if (!axis.has(value)) continue;
      const bool labelled = m == 1 ? e % every == 0 : between && (m == 2 || m == 5);
      out.push_back({value, !labelled ? "" : as_powers ? power_label(value) : written_out(value)});
    }
  }
  return out;
}

std::vector<Tick> power_of_two_ticks(const Axis& axis, int count) {
  if (!(axis.high >= axis.low)) return {};
  const int first = static_cast<int>(std::ceil(std::log2(axis.low) - 1e-9)),
            last = std::min(1023, static_cast<int>(std::floor(std::log2(axis.high) + 1e-9)));
  const int every = std::max(1, (last - first + count) / std::max(1, count));
  const bool as_powers = axis.low < 1e-3 || axis.high >= 1e6;
  const auto label = [&](int e) { return as_powers ? "2" + superscript(e) : written_out(std::exp2(e)); };
  std::vector<Tick> out;
  for (int e = first; e <= last; ++e) out.push_back({std::exp2(e), (e - first) % every == 0 ? label(e) : ""});
  return out;
}

}  // namespace

double Axis::at(double value) const {
  const double lowest = place(low, kind), highest = place(high, kind);
  if (!(highest > lowest) || !std::isfinite(highest - lowest)) return (from + to) / 2;
  const double here = kind != AxisKind::linear && !(value > 0) ? lowest : std::clamp(place(value, kind), lowest, highest);
  return from + (here - lowest) / (highest - lowest) * (to - from);
}

std::vector<double> linear_ticks(double low, double high, int count) {
  constexpr double kMostSteps = 1e15;  // from 0: beyond it the next tick is the same double
  if (!std::isfinite(low) || !std::isfinite(high)) return {};
  if (!(high > low) || count < 1) return {low};
  const double rough = high / count - low / count;
  if (!(rough >= kLeastPositive) || !std::isfinite(rough)) return {low};
  const int power = static_cast<int>(std::floor(std::log10(rough)));
  const double error = rough / std::pow(10.0, power);
  const double factor = error >= std::sqrt(50.0) ? 10 : error >= std::sqrt(10.0) ? 5 : error >= std::sqrt(2.0) ? 2 : 1;
  const double step = power >= 0 ? std::pow(10.0, power) * factor : 1, inverse = power < 0 ? std::pow(10.0, -power) / factor : 1;
  const double first = std::ceil(low / step * inverse - 1e-9), last = std::floor(high / step * inverse + 1e-9);
  if (!(std::max(std::abs(first), std::abs(last)) < kMostSteps)) return {low};
  std::vector<double> out;
  for (auto i = static_cast<std::int64_t>(first); i <= static_cast<std::int64_t>(last); ++i)
    out.push_back(i == 0 ? 0 : static_cast<double>(i) * step / inverse);
  return out;
}

std::vector<Tick> ticks(const Axis& axis, int count) {
  if (!std::isfinite(axis.low) || !std::isfinite(axis.high) || (axis.kind != AxisKind::linear && !(axis.low > 0))) return {};
  if (axis.kind == AxisKind::log2) return power_of_two_ticks(axis, count);
  if (axis.kind == AxisKind::log10 && axis.high / axis.low >= 10) return decade_ticks(axis, count);
  return linear_labels(axis, count);
}

Axis axis_for(std::vector<double> values, AxisKind kind) {
  const auto unusable = [&](double x) { return !std::isfinite(x) || (kind != AxisKind::linear && x <= 0); };
  values.erase(std::remove_if(values.begin(), values.end(), unusable), values.end());
  if (values.empty()) values.push_back(kind == AxisKind::linear ? 0 : 1);
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const double low = std::clamp(*least, kind == AxisKind::linear ? -kMost : kLeastPositive, kMost), high = std::clamp(*most, low, kMost);
  // Runs that end alike end alike to rounding: a picture of that has no other numbers on its axis.
  const bool alike = high - low <= 1e-9 * std::max(std::abs(low), std::abs(high));
  if (kind == AxisKind::linear) {
    if (alike) return {low - std::max(0.5, std::abs(low) / 2), high + std::max(0.5, std::abs(high) / 2), kind};
    const double margin = (high - low) * 0.04;
    return {low == 0 ? low : low - margin, high + margin, kind};
  }
  if (alike) return {low / 2, high * 2, kind};
  const double margin = std::pow(high, 0.04) / std::pow(low, 0.04);
  return {low / margin, high * margin, kind};
}

std::string with_power(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.2e", std::abs(value));
  const std::string whole = text;
  const auto e = whole.find('e');
  return (value < 0 ? "−" : "") + whole.substr(0, e) + "·10" + superscript(std::stoi(whole.substr(e + 1)));
}

}  // namespace ffn::report
