// The axis that intervals stand on, and bars of characters on it.
#pragma once

#include <optional>
#include <string>

#include "ffn/report/cells.hpp"

namespace ffn {

/// The range of a comparison's effects: what is finite of them, and 0; whether any goes on for ever.
struct EffectRange {
  double low = 0, high = 0;
  bool endless_left = false, endless_right = false;
};
EffectRange range_of_effects(const Comparison& comparison);

/// Moves the ends of an axis outwards until there is room, beside 0, for the arrow of what goes on for ever.
void make_room_for_arrows(const EffectRange& range, double& low, double& high);

class IntervalAxis {
 public:
  /// `stroke` is drawn upright through every bar: 0 of differences.
  IntervalAxis(double low, double high, int columns, std::optional<double> stroke = std::nullopt)
      : low_(low), high_(high), columns_(columns), stroke_(stroke) {}

  /// "  ├──●──┤ │", `columns` wide; an arrow where it goes on for ever. Where one side never got there, a bar from 0, or from beyond it, to
  /// an arrow, and no estimate.
  std::string bar(const Effect& interval) const;

 private:
  int column_of(double x) const;

  double low_, high_;
  int columns_;
  std::optional<double> stroke_;
};

}  // namespace ffn
