// The short table of a comparison: one line a variant, with its interval as a bar.
#include <algorithm>

#include "compare_text.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/report/cells.hpp"
#include "ffn/report/fit.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/interval_bar.hpp"

namespace ffn::app {

namespace {

// One axis for all pairs, with 0 on it.
IntervalAxis axis_of_pairs(const Comparison& c, int columns) {
  const auto range = range_of_effects(c);
  double low = range.low, high = range.high;
  make_room_for_arrows(range, low, high);
  return {low, high, columns, 0.0};
}

constexpr int kMostPairBar = 25, kLeastPairBar = 9;

// Which side is which, in as many columns as there are.
std::string bar_header(const Comparison& c, int columns) {
  const std::string better = stats::to_string(stats::Verdict::better), worse = stats::to_string(stats::Verdict::worse);
  const std::string left = c.higher_is_better ? worse : better, right = c.higher_is_better ? better : worse;
  if (columns >= 16) return "← " + left + std::string(static_cast<std::size_t>(columns - 15), ' ') + right + " →";
  return columns >= 12 ? left + std::string(static_cast<std::size_t>(columns - 11), ' ') + right : "";
}

enum class Repeated { left_out, shown };  // keys of a facet that are those of the row above

// `bar_columns` 0: without bars.
Table short_table(const Comparison& c, int bar_columns, Repeated repeated_keys = Repeated::left_out) {
  const auto seeds = same_seeds(c);
  std::vector<Column> columns;
  for (const auto& [key, value] : c.facets.at(0).keys) columns.push_back({shown_key(c, key), Align::right});
  columns.push_back({shown_key(c, c.by), Align::left});
  const NumberUnit unit(c);
  columns.push_back({unit.header(metric_header(c.metric)), Align::right});
  if (has_pairs(c)) {
    columns.push_back({difference_name(c), Align::right});
    if (bar_columns > 0) columns.push_back({bar_header(c, bar_columns), Align::left});
    columns.push_back({"verdict", Align::left});
  }
  if (!seeds) columns.push_back({"seeds", Align::right});
  Table table(columns);
  const auto axis = axis_of_pairs(c, std::max(1, bar_columns));
  std::string before;
  for (const auto& facet : c.facets) {
    for (const auto& g : facet.groups) {
      std::vector<std::string> row;
      const bool repeated = repeated_keys == Repeated::left_out && facet_title(c, facet) == before;
      for (const auto& [key, value] : facet.keys) row.push_back(repeated ? "" : shown_value(c, key, value));
      before = facet_title(c, facet);
      row.insert(row.end(), {shown_value(c, g.value), centre_text(c, g, unit.size())});
      bool decided = false;
      if (has_pairs(c)) {
        const auto pair = std::find_if(facet.pairs.begin(), facet.pairs.end(), [&](const PairResult& p) { return p.value == g.value; });
        if (pair == facet.pairs.end()) row.insert(row.end(), bar_columns > 0 ? 3 : 2, "");
        else {
          const auto effect = effect_of(*pair);
          row.push_back(difference_text(c, *pair, unit.size()));
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

}  // namespace

std::string short_form(const Comparison& c, const CompareView& view) {
  const std::string above = wrapped(short_caption(c) + "\n", view.width) + "\n";
  if (view.form == TableForm::markdown) return above + short_table(c, 0).markdown();
  const int left = view.width > 0 ? view.width - widest_line(short_table(c, 0).terminal_text(false)) - 2 : kMostPairBar;
  const int bar = left >= kLeastPairBar && has_pairs(c) ? std::min(left, kMostPairBar) : 0;
  const Table table = short_table(c, bar);
  return above + (keeps_words(table, view.width) ? folded(table, view.width, view.color)
                                                 : stacked(short_table(c, 0, Repeated::shown), view.width, view.color));
}

}  // namespace ffn::app
