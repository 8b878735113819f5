#include "compare_cells.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/report/format.hpp"

namespace ffn::app {

bool has_pairs(const Comparison& c) {
  return std::any_of(c.facets.begin(), c.facets.end(), [](const Facet& f) { return !f.pairs.empty(); });
}

namespace {

bool never(const GroupResult& g) {
  return !g.values.empty() && std::all_of(g.values.begin(), g.values.end(), [](double v) { return std::isinf(v); });
}

}  // namespace

std::string mean_text(const GroupResult& g, double unit) {
  if (!g.mean) return g.num_unmeasured > 0 ? "not measured" : "-";
  const double spread = g.half_width.value_or(0) / unit;
  if (never(g)) return "> " + format_with(*g.mean / unit, 0);
  return format_with(*g.mean / unit, spread) + (spread > 0 ? " ± " + format_with(spread, spread) : "");
}

std::string difference_text(const PairResult& pair, double unit) {
  const auto e = effect_of(pair);
  if (!e) return "-";
  const double above = e->high - e->size, below = e->size - e->low;  // one of them may be infinite
  const double spread = (std::isfinite(above + below) ? (above + below) / 2 : std::min(above, below)) / unit;
  const auto shown = [&](double x) { return format_signed(x / unit, std::isfinite(spread) ? spread : 0); };
  if (std::isinf(e->size)) return shown(e->size);  // one side never got there
  if (std::isinf(e->low) && std::isinf(e->high)) return shown(e->size) + " (no interval)";
  return shown(e->size) + (e->low_open ? " (" : " [") + shown(e->low) + ", " + shown(e->high) + (e->high_open ? ")" : "]");
}

std::string short_verdict(const PairResult& pair) {
  if (pair.judgement.verdict == stats::Verdict::undecided && pair.paired.ties == pair.paired.num_seeds) return "tied";
  if (pair.judgement.verdict == stats::Verdict::no_meaningful_difference) return "no difference";
  return stats::to_string(pair.judgement.verdict);
}

}  // namespace ffn::app
