#include "compare_cells.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/report/format.hpp"

namespace ffn::app {

bool has_pairs(const Comparison& c) {
  return std::any_of(c.facets.begin(), c.facets.end(), [](const Facet& f) { return !f.pairs.empty(); });
}

namespace {

bool with_limits(const Comparison& c) { return c.shown == ShownCentre::median || (c.shown == ShownCentre::geometric_mean && has_wide_centres(c)); }

std::string centre_with_interval(const Comparison& c, const stats::Centre& centre, double unit) {
  if (std::isinf(centre.value)) return "no value";
  const double low = centre.interval.low / unit, high = centre.interval.high / unit;
  const bool wide = has_wide_centres(c), known = !centre.interval.unbounded();
  const double half = known && std::isfinite(high - low) ? (high - low) / 2 : 0;
  const auto number = [&](double x) { return std::isinf(x) ? "∞" : wide ? format_significant(x, 2) : format_with(x, half); };
  const std::string value = number(centre.value / unit);
  if (!known || low == high) return value;
  return with_limits(c) ? value + " [" + number(low) + ", " + number(high) + "]" : value + " ± " + number(half);
}

bool never(const GroupResult& g) {
  return !g.values.empty() && std::all_of(g.values.begin(), g.values.end(), [](double v) { return std::isinf(v); });
}

}  // namespace

std::string centre_text(const Comparison& c, const GroupResult& g, double unit) {
  if (g.centre) return centre_with_interval(c, *g.centre, unit);
  if (!g.mean) return g.num_unmeasured > 0 ? "not measured" : "-";
  const double spread = g.half_width.value_or(0) / unit;
  if (never(g)) return "> " + format_with(*g.mean / unit, 0);
  return format_with(*g.mean / unit, spread) + (spread > 0 ? " ± " + format_with(spread, spread) : "");
}

std::string centre_name(const Comparison& c) {
  return c.shown == ShownCentre::median ? "median" : c.shown == ShownCentre::geometric_mean ? "geometric mean" : "mean";
}

std::string interval_form(const Comparison& c, const std::string& word) {
  const std::string interval = format_percent(1 - c.alpha, 0) + word;
  return with_limits(c) ? "[" + interval + "]" : "± " + interval;
}

std::string difference_name(const Comparison& c) { return c.as_ratios && c.ratio_form == stats::RatioForm::factor ? "ratio" : "difference"; }

std::string difference_text(const Comparison& c, const PairResult& pair, double unit) {
  if (c.as_ratios && pair.paired.effect) return stats::RatioText(*pair.paired.effect, c.ratio_form).with_interval();
  const auto e = effect_of(pair);
  if (!e) return "-";
  const double above = e->high - e->size, below = e->size - e->low;  // one of them may be infinite
  const double spread = (std::isfinite(above + below) ? (above + below) / 2 : std::min(above, below)) / unit;
  const auto shown = [&](double x) { return format_signed(x / unit, std::isfinite(spread) ? spread : 0); };
  if (std::isinf(e->size)) return shown(e->size);  // one side never got there
  if (std::isinf(e->low) && std::isinf(e->high)) return shown(e->size) + " (no interval)";
  return shown(e->size) + (e->low_open ? " (" : " [") + shown(e->low) + ", " + shown(e->high) + (e->high_open ? ")" : "]");
}

}  // namespace ffn::app
