// The places of numbers on an axis, and which of them are written there. Standard library only.
#pragma once

#include <string>
#include <vector>

namespace ffn::report {

enum class AxisKind { linear, log10, log2 };

/// Values `low` to `high` on pixels `from` to `to`, which may run backwards, as a y axis does.
struct Axis {
  double low, high;
  AxisKind kind = AxisKind::linear;
  double from = 0, to = 1;
  bool whole = false;  ///< of counts: ticks at whole numbers alone

  /// Values that a logarithm does not have, and those beyond the ends, stand at the end next to them; on an axis of no
  /// length all stand in its middle.
  double at(double value) const;
  bool has(double value) const { return value >= low && value <= high; }
};

struct Tick {
  double value;
  std::string label;  ///< empty: a stroke alone
};

/// 1, 2 or 5 times a power of ten apart, about `count` of them within [low, high]: the rule of D3 (d3-array, src/ticks.js).
/// Integers times the step, or divided by its inverse, so that 0.3 is 0.3. One alone where the ends are the same to rounding, and none
/// where an end is no finite number.
std::vector<double> linear_ticks(double low, double high, int count);

/// About `count` labelled ones. A log axis of less than a decade has linear ones, of less than two 1, 2 and 5, beyond that decades with
/// strokes between them.
std::vector<Tick> ticks(const Axis& axis, int count);

/// The ends of an axis for these values: a little wider, and never of no length, also where the values differ by rounding alone. They are
/// finite.
Axis axis_for(std::vector<double> values, AxisKind kind);

/// With three significant digits and a power of ten as axes have it: "1.10·10⁻⁵", "−2.00·10⁻⁶". Of a finite number other than 0.
std::string with_power(double value);

}  // namespace ffn::report
