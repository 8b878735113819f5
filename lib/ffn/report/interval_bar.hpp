// Intervals as bars of characters, all on one axis. Depends on report/shown.hpp.
#pragma once

#include <optional>
#include <string>

#include "ffn/report/shown.hpp"

namespace ffn {

class IntervalAxis {
 public:
  /// `stroke` is drawn upright through every bar: 0 of differences.
  IntervalAxis(double low, double high, int columns, std::optional<double> stroke = std::nullopt) : low_(low), high_(high), columns_(columns), stroke_(stroke) {}

  /// "  ├──●──┤ │", `columns` wide; an arrow where it goes on for ever.
  std::string bar(const Effect& interval) const;

 private:
  int column_of(double x) const;

  double low_, high_;
  int columns_;
  std::optional<double> stroke_;
};

}  // namespace ffn
