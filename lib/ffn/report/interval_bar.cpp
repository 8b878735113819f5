#include "ffn/report/interval_bar.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ffn/core/suggest.hpp"

namespace ffn {

int IntervalAxis::column_of(double x) const {
  if (!(high_ > low_)) return columns_ / 2;
  const double place = (x - low_) / (high_ - low_) * (columns_ - 1);
  return static_cast<int>(std::lround(std::min(std::max(place, 0.0), columns_ - 1.0)));
}

std::string IntervalAxis::bar(const Effect& e) const {
  std::vector<std::string> cells(static_cast<std::size_t>(columns_), " ");
  const auto cell = [&](double x) -> std::string& { return cells[static_cast<std::size_t>(column_of(x))]; };
  const bool endless = std::isinf(e.size);
  const double from = stroke_.value_or(low_);
  const int first = endless && e.size > 0 ? column_of(from) : column_of(e.low), last = endless && e.size < 0 ? column_of(from) : column_of(e.high);
  for (int i = first; i <= last; ++i) cells[static_cast<std::size_t>(i)] = "─";
  cells[static_cast<std::size_t>(first)] = std::isinf(e.low) ? "←" : "├";
  cells[static_cast<std::size_t>(last)] = std::isinf(e.high) ? "→" : "┤";
  if (stroke_) {
    if (endless) cell(*stroke_) = "│";
    auto& upright = cell(*stroke_);
    if (upright == " ") upright = "│";
    else if (upright == "─") upright = "┼";
  }
  if (!endless) cell(e.size) = "●";
  return join(cells, "");
}

}  // namespace ffn
