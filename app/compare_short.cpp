// The short table of a comparison: one line a variant, with its interval as a bar.
#include <algorithm>
#include <cmath>

#include "compare_cells.hpp"
#include "compare_text.hpp"
#include "ffn/core/suggest.hpp"
#include "ffn/report/fit.hpp"
#include "ffn/report/format.hpp"

namespace ffn::app {

namespace {

/// Where intervals are drawn: one axis for all pairs, with 0 on it.
struct Axis {
  double low = 0, high = 0;
  int columns;

  Axis(const Comparison& c, int how_wide) : columns(how_wide) {
    for (const auto& facet : c.facets) {
      for (const auto& pair : facet.pairs) {
        const auto e = effect_of(pair);
        if (!e) continue;
        for (const double x : {e->size, e->low, e->high}) {
          if (std::isfinite(x)) low = std::min(low, x), high = std::max(high, x);
        }
      }
    }
  }

  int column_of(double x) const {
    if (!(high > low)) return columns / 2;
    const double place = (x - low) / (high - low) * (columns - 1);
    return static_cast<int>(std::lround(std::min(std::max(place, 0.0), columns - 1.0)));
  }

  // "  ├──●──┤ │"; an arrow where it goes on.
  std::string bar(const Effect& e) const {
    std::vector<std::string> cells(static_cast<std::size_t>(columns), " ");
    const bool endless = std::isinf(e.size);
    const int first = endless && e.size > 0 ? column_of(0) : column_of(e.low), last = endless && e.size < 0 ? column_of(0) : column_of(e.high);
    for (int i = first; i <= last; ++i) cells[static_cast<std::size_t>(i)] = "─";
    cells[static_cast<std::size_t>(first)] = std::isinf(e.low) ? "←" : "├";
    cells[static_cast<std::size_t>(last)] = std::isinf(e.high) ? "→" : "┤";
    if (endless) cells[static_cast<std::size_t>(column_of(0))] = "│";
    auto& zero = cells[static_cast<std::size_t>(column_of(0))];
    if (zero == " ") zero = "│";
    else if (zero == "─") zero = "┼";
    if (!endless) cells[static_cast<std::size_t>(column_of(e.size))] = "●";
    return join(cells, "");
  }
};

/// Small and large numbers are shown as multiples of a power of ten that the header names.
struct Scale {
  int exponent = 0;

  explicit Scale(const Comparison& c) {
    double largest = 0;
    for (const auto& facet : c.facets) {
      for (const auto& g : facet.groups) {
        const auto x = shown_centre(g);
        if (x && std::isfinite(*x)) largest = std::max(largest, std::abs(*x));
      }
    }
    if (largest > 0 && (largest < 1e-3 || largest >= 1e6)) exponent = static_cast<int>(std::floor(std::log10(largest)));
  }

  double unit() const { return std::pow(10.0, exponent); }

  // "val/loss · 10⁻⁴"
  std::string header(std::string name) const {
    if (exponent == 0) return name;
    constexpr const char* kDigits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    name += " · 10";
    for (const char digit : std::to_string(exponent)) name += digit == '-' ? "⁻" : kDigits[digit - '0'];
    return name;
  }
};

// "20", or what stands in the way of that.
std::string seeds_text(const GroupResult& g) {
  const auto over = g.num_done + g.num_diverged + g.num_failed;
  std::string text = std::to_string(over);
  if (over < g.num_runs) text += " of " + std::to_string(g.num_runs);
  if (g.num_diverged + g.num_failed > 0) text += ", " + std::to_string(g.num_diverged + g.num_failed) + (g.num_failed == 0 ? " diverged" : g.num_diverged == 0 ? " failed" : " lost");
  return text;
}

// The number of seeds, where all groups have the same and all ended well.
std::optional<std::size_t> same_seeds(const Comparison& c) {
  std::optional<std::size_t> seeds;
  for (const auto& facet : c.facets) {
    for (const auto& g : facet.groups) {
      if (g.num_done != g.num_runs || (seeds && *seeds != g.num_done)) return std::nullopt;
      seeds = g.num_done;
    }
  }
  return seeds;
}

std::string metric_header(const std::string& metric) {
  return metric == "steps_to_target" ? "steps" : metric == "flops_to_target" ? "FLOPs" : metric == "seconds_to_target" ? "seconds" : metric;
}

constexpr int kMostBar = 25, kLeastBar = 9;

// Which side is which, in as many columns as there are.
std::string bar_header(const Comparison& c, int columns) {
  const std::string better = stats::to_string(stats::Verdict::better), worse = stats::to_string(stats::Verdict::worse);
  const std::string left = c.higher_is_better ? worse : better, right = c.higher_is_better ? better : worse;
  if (columns >= 15) return "← " + left + std::string(static_cast<std::size_t>(columns - 15), ' ') + right + " →";
  return columns >= 13 ? left + std::string(static_cast<std::size_t>(columns - 11), ' ') + right : "";
}

// `bar_columns` 0: without bars.
Table short_table(const Comparison& c, int bar_columns) {
  const auto seeds = same_seeds(c);
  std::vector<Column> columns;
  for (const auto& [key, value] : c.facets.at(0).keys) columns.push_back({last_segment(key), Align::right});
  columns.push_back({last_segment(c.by), Align::left});
  const Scale scale(c);
  columns.push_back({scale.header(metric_header(c.metric)), Align::right});
  if (has_pairs(c)) {
    columns.push_back({difference_name(c), Align::right});
    if (bar_columns > 0) columns.push_back({bar_header(c, bar_columns), Align::left});
    columns.push_back({"verdict", Align::left});
  }
  if (!seeds) columns.push_back({"seeds", Align::right});
  Table table(columns);
  const Axis axis(c, std::max(1, bar_columns));
  std::string before;
  for (const auto& facet : c.facets) {
    for (const auto& g : facet.groups) {
      std::vector<std::string> row;
      const bool repeated = facet_title(facet) == before;
      for (const auto& [key, value] : facet.keys) row.push_back(repeated ? "" : value);
      before = facet_title(facet);
      row.insert(row.end(), {shown_value(c, g.value), centre_text(c, g, scale.unit())});
      bool decided = false;
      if (has_pairs(c)) {
        const auto pair = std::find_if(facet.pairs.begin(), facet.pairs.end(), [&](const PairResult& p) { return p.value == g.value; });
        if (pair == facet.pairs.end()) row.insert(row.end(), bar_columns > 0 ? 3 : 2, "");
        else {
          const auto effect = effect_of(*pair);
          row.push_back(difference_text(c, *pair, scale.unit()));
          if (bar_columns > 0) row.push_back(effect ? axis.bar(*effect) : "");
          row.push_back(stats::to_string(pair->judgement.verdict));
          decided = pair->judgement.verdict == stats::Verdict::better || pair->judgement.verdict == stats::Verdict::worse;
        }
      }
      if (!seeds) row.push_back(seeds_text(g));
      table.add_row(row);
      if (decided) table.highlight_last_row();
    }
  }
  return table;
}

bool any_never(const Comparison& c) {
  return std::any_of(c.facets.begin(), c.facets.end(), [](const Facet& f) {
    return std::any_of(f.groups.begin(), f.groups.end(), [](const GroupResult& g) {
      return std::any_of(g.values.begin(), g.values.end(), [](double v) { return std::isinf(v); });
    });
  });
}

std::string difference_from_reference(const Comparison& c) {
  const std::string reference = shown_value(c, c.reference);
  if (!c.as_ratios) return "difference from " + reference;
  return c.ratio_form == stats::RatioForm::percent ? "difference in percent of " + reference : "ratio to " + reference + ", ÷2 being half of it";
}

// What the table's numbers are, in a line.
std::string caption(const Comparison& c) {
  const auto seeds = same_seeds(c);
  const bool several = std::any_of(c.facets.begin(), c.facets.end(), [](const Facet& f) {
    return std::any_of(f.groups.begin(), f.groups.end(), [](const GroupResult& g) { return g.values.size() > 1; });
  });
  return c.metric + ", " + (c.higher_is_better ? "higher" : "lower") + " is better" +
         (is_time_metric(c.metric) && any_never(c) ? "; a run that never gets there counts with all its steps" : "") + (several ? "; " + centre_name(c) + (seeds ? " of " + std::to_string(*seeds) + " seeds " : " ") + interval_form(c, " interval") : "") +
         (has_pairs(c) ? "; " + difference_from_reference(c) : "") + "\n";
}

}  // namespace

std::string short_form(const Comparison& c, const CompareView& view) {
  const std::string above = wrapped(caption(c), view.width) + "\n";
  if (view.form == TableForm::markdown) return above + short_table(c, 0).markdown();
  const int left = view.width > 0 ? view.width - widest_line(short_table(c, 0).terminal_text(false)) - 2 : kMostBar;
  const int bar = left >= kLeastBar && has_pairs(c) ? std::min(left, kMostBar) : 0;
  return above + folded(short_table(c, bar), view.width, view.color);
}

}  // namespace ffn::app
