#include "ffn/report/interval_bar.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ffn/base/text.hpp"

namespace ffn {

EffectRange range_of_effects(const Comparison& comparison) {
  EffectRange range;
  for (const auto& facet : comparison.facets) {
    for (const auto& pair : facet.pairs) {
      const auto effect = effect_of(pair);
      if (!effect) continue;
      for (const double x : {effect->size, effect->low, effect->high}) {
        if (std::isfinite(x)) {
          range.low = std::min(range.low, x);
          range.high = std::max(range.high, x);
        }
        range.endless_left = range.endless_left || x == -INFINITY;
        range.endless_right = range.endless_right || x == INFINITY;
      }
    }
  }
  return range;
}

void make_room_for_arrows(const EffectRange& range, double& low, double& high) {
  constexpr double kRoomOfArrow = 0.2;
  const double room = high > low ? kRoomOfArrow * (high - low) : 1;
  if (range.endless_left) low = std::min(low, -room);
  if (range.endless_right) high = std::max(high, room);
}

int IntervalAxis::column_of(double x) const {
  if (!(high_ > low_)) return columns_ / 2;
  const double place = (x - low_) / (high_ - low_) * (columns_ - 1);
  return place > 0 ? static_cast<int>(std::lround(std::min(place, columns_ - 1.0))) : 0;  // a span that overflows gives NaN
}

std::string IntervalAxis::bar(const Effect& e) const {
  std::vector<std::string> cells(static_cast<std::size_t>(columns_), " ");
  const auto cell = [&](double x) -> std::string& { return cells[static_cast<std::size_t>(column_of(x))]; };
  const double zero = stroke_.value_or(low_);
  const bool endless = std::isinf(e.size);
  const double low = endless && e.size > 0 ? std::min(zero, e.low) : e.low, high = endless && e.size < 0 ? std::max(zero, e.high) : e.high;
  for (int i = column_of(low); i <= column_of(high); ++i) cells[static_cast<std::size_t>(i)] = "─";
  if (!endless || low < zero) cell(low) = std::isinf(low) ? "←" : "├";
  if (!endless || high > zero) cell(high) = std::isinf(high) ? "→" : "┤";
  if (stroke_) {
    auto& upright = cell(zero);
    if (upright == " " || (endless && (low == zero || high == zero))) upright = "│";
    else if (upright == "─") upright = "┼";
  }
  if (!endless) cell(e.size) = "●";
  return join(cells, "");
}

}  // namespace ffn
