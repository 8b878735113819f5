#include "compare_text.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "ffn/core/suggest.hpp"
#include "ffn/core/utf8.hpp"
#include "ffn/report/answer.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/table.hpp"
#include "ffn/report/terminal.hpp"

namespace ffn::app {

namespace {

std::string render(const Table& table, const CompareView& view) {
  return view.form == TableForm::markdown ? table.markdown() : table.terminal_text(view.color);
}

bool has_pairs(const Comparison& c) {
  return std::any_of(c.facets.begin(), c.facets.end(), [](const Facet& f) { return !f.pairs.empty(); });
}

std::string runs_text(const GroupResult& g) {
  std::string text = std::to_string(g.num_done);
  if (g.num_diverged > 0) text += ", " + std::to_string(g.num_diverged) + " diverged";
  if (g.num_failed > 0) text += ", " + std::to_string(g.num_failed) + " failed";
  if (g.num_pending > 0) text += ", " + std::to_string(g.num_pending) + " to do";
  return text;
}

std::string optional_number(const std::optional<double>& x, int digits = 3) {
  return x && std::isinf(*x) ? "never" : x ? format_significant(*x, digits) : "-";
}

bool never(const GroupResult& g) {
  return !g.values.empty() && std::all_of(g.values.begin(), g.values.end(), [](double v) { return std::isinf(v); });
}

std::string mean_text(const GroupResult& g, double unit = 1) {
  if (!g.mean) return g.num_unmeasured > 0 ? "not measured" : "-";
  const double spread = g.half_width.value_or(0) / unit;
  if (never(g)) return "> " + format_with(*g.mean / unit, 0);
  return format_with(*g.mean / unit, spread) + (spread > 0 ? " ± " + format_with(spread, spread) : "");
}

// One table over all facets, the facet's keys as its first columns: a study of twelve variants is twelve rows.
Table groups_table(const Comparison& c) {
  const auto& first = c.facets.at(0);
  const bool targets = std::any_of(c.facets.begin(), c.facets.end(), [](const Facet& f) {
    return std::any_of(f.groups.begin(), f.groups.end(), [](const GroupResult& g) { return g.has_target; });
  });
  std::vector<Column> columns;
  for (const auto& [key, value] : first.keys) columns.push_back({last_segment(key), Align::right});
  columns.push_back({last_segment(c.by), Align::left});
  const bool time = is_time_metric(c.metric);
  columns.push_back({"runs", Align::right});
  columns.push_back({(time ? "restricted mean ± " : "mean ± ") + format_percent(1 - c.alpha, 0), Align::right});
  columns.push_back({"IQM", Align::right});
  if (targets) {
    for (const char* name : {"hits", "median steps"}) columns.push_back({name, Align::right});
  }
  for (const char* name : {"parameters", "FLOPs/token", "time/run"}) columns.push_back({name, Align::right});
  if (targets) columns.push_back({"time to target", Align::right});

  Table table(columns);
  for (const auto& facet : c.facets) {
    for (const auto& g : facet.groups) {
      std::vector<std::string> row;
      for (const auto& [key, value] : facet.keys) row.push_back(value);
      row.insert(row.end(), {shown_value(c, g.value), runs_text(g), mean_text(g), optional_number(g.iqm, 4)});
      if (targets) {
        const auto over = g.num_done + g.num_diverged + g.num_failed;
        row.push_back(over > 0 ? std::to_string(g.num_hits) + " of " + std::to_string(over) : "-");
        row.push_back(g.median_steps ? format_count(std::llround(*g.median_steps)) : over > 0 ? "not reached" : "-");
      }
      const bool known = g.parameters > 0;
      row.insert(row.end(), {known ? format_count(g.parameters) : "-", known ? format_count(g.flops_per_token) : "-",
                             known ? format_duration(g.train_seconds) : "-"});
      if (targets) row.push_back(g.seconds_to_target ? format_duration(*g.seconds_to_target) : "-");
      table.add_row(row);
    }
  }
  return table;
}

std::string difference_text(const PairResult& pair, double unit = 1) {
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

// For those that fell short: how likely fresh seeds would tell.
std::string chances_text(const Comparison& c) {
  std::string text;
  for (const auto& facet : c.facets) {
    for (const auto& pair : facet.pairs) {
      if (pair.judgement.chances.empty()) continue;
      std::vector<std::string> chances;
      for (const auto& chance : pair.judgement.chances)
        chances.push_back(std::to_string(chance.num_seeds) + (chances.empty() ? " fresh seeds " : ": ") + format_percent(chance.probability, 0));
      const std::string place = facet_title(facet);
      text += (place.empty() ? "" : place + ", ") + shown_value(c, pair.value) + ": chance of a verdict with " + join(chances) + "\n";
    }
  }
  return text;
}

Table pairs_table(const Comparison& c) {
  std::vector<Column> columns;
  for (const auto& [key, value] : c.facets.at(0).keys) columns.push_back({last_segment(key), Align::right});
  const std::string interval = format_percent(1 - c.alpha, 0);
  columns.push_back({last_segment(c.by), Align::left});
  columns.push_back({"difference from " + shown_value(c, c.reference) + " [" + interval + " interval]", Align::right});
  columns.push_back({"P(better)", Align::right});
  columns.push_back({"won/tied/lost", Align::right});
  columns.push_back({"p (corrected)", Align::right});
  columns.push_back({"verdict", Align::left});
  Table table(columns);
  for (const auto& facet : c.facets) {
    for (const auto& pair : facet.pairs) {
      const auto& p = pair.paired;
      std::vector<std::string> row;
      for (const auto& [key, value] : facet.keys) row.push_back(value);
      row.insert(row.end(), {shown_value(c, pair.value), difference_text(pair), format_significant(p.improvement.paired, 2),
                             std::to_string(p.wins) + "/" + std::to_string(p.ties) + "/" + std::to_string(p.losses),
                             format_significant(pair.judgement.p_holm, 2), short_verdict(pair)});
      table.add_row(row);
      const bool decided = pair.judgement.verdict == stats::Verdict::better || pair.judgement.verdict == stats::Verdict::worse;
      if (decided) table.highlight_last_row();
    }
  }
  return table;
}

int widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, display_width(line));
  return static_cast<int>(widest);
}

Table without_column(const Table& table, std::size_t dropped) {
  const auto keep = [&](const auto& all) {
    auto some = all;
    some.erase(some.begin() + static_cast<std::ptrdiff_t>(dropped));
    return some;
  };
  Table out(keep(table.columns()));
  for (std::size_t i = 0; i < table.num_rows(); ++i) {
    out.add_row(keep(table.rows()[i]));
    if (table.is_highlighted(i)) out.highlight_last_row();
  }
  return out;
}

Table fitted(Table table, int width, const std::vector<std::string>& droppable, std::vector<std::string>& left_out) {
  for (const auto& header : droppable) {
    if (width <= 0 || widest_line(table.terminal_text(false)) <= width) break;
    for (std::size_t i = 0; i < table.columns().size(); ++i) {
      if (table.columns()[i].header != header) continue;
      table = without_column(table, i);
      left_out.push_back(header);
      break;
    }
  }
  return table;
}

// ---- the short form

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
        if (g.mean && std::isfinite(*g.mean)) largest = std::max(largest, std::abs(*g.mean));
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
  if (g.num_diverged + g.num_failed > 0) text += ", " + std::to_string(g.num_diverged + g.num_failed) + " bad";
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
  const std::string left = c.higher_is_better ? "worse" : "better", right = c.higher_is_better ? "better" : "worse";
  if (columns >= 15) return "← " + left + std::string(static_cast<std::size_t>(columns - 15), ' ') + right + " →";
  return columns >= 11 ? left + std::string(static_cast<std::size_t>(columns - 11), ' ') + right : "";
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
    columns.push_back({"difference", Align::right});
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
      row.insert(row.end(), {shown_value(c, g.value), mean_text(g, scale.unit())});
      bool decided = false;
      if (has_pairs(c)) {
        const auto pair = std::find_if(facet.pairs.begin(), facet.pairs.end(), [&](const PairResult& p) { return p.value == g.value; });
        if (pair == facet.pairs.end()) row.insert(row.end(), bar_columns > 0 ? 3 : 2, "");
        else {
          const auto effect = effect_of(*pair);
          row.push_back(difference_text(*pair, scale.unit()));
          if (bar_columns > 0) row.push_back(effect ? axis.bar(*effect) : "");
          row.push_back(short_verdict(*pair));
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

// What the table's numbers are, in a line.
std::string caption(const Comparison& c) {
  const std::string level = format_percent(1 - c.alpha, 0);
  const auto seeds = same_seeds(c);
  const bool several = std::any_of(c.facets.begin(), c.facets.end(), [](const Facet& f) {
    return std::any_of(f.groups.begin(), f.groups.end(), [](const GroupResult& g) { return g.values.size() > 1; });
  });
  return c.metric + ", " + (c.higher_is_better ? "higher" : "lower") + " is better" +
         (is_time_metric(c.metric) && any_never(c) ? "; a run that never gets there counts with all its steps" : "") + (several ? "; mean" + (seeds ? " of " + std::to_string(*seeds) + " seeds" : std::string()) + " ± " + level + " interval" : "") +
         (has_pairs(c) ? "; difference from " + shown_value(c, c.reference) : "") + "\n";
}

// Cells of text columns cut until the table fits, the widest first.
Table narrowed(const Table& table, int width) {
  std::vector<std::size_t> widths;
  for (const auto& column : table.columns()) widths.push_back(display_width(column.header));
  for (const auto& row : table.rows()) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  constexpr std::size_t kLeast = 8;
  const auto total = [&] {
    std::size_t sum = 2 * (widths.size() - 1);
    for (const auto w : widths) sum += w;
    return sum;
  };
  while (total() > static_cast<std::size_t>(width)) {
    const auto widest = std::max_element(widths.begin(), widths.end());
    if (*widest <= kLeast) break;
    --*widest;
  }
  const auto cut = [&](std::vector<std::string> cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = clipped(cells[i], widths[i]);
    return cells;
  };
  std::vector<Column> columns = table.columns();
  for (std::size_t i = 0; i < columns.size(); ++i) columns[i].header = clipped(columns[i].header, widths[i]);
  Table out(columns);
  for (std::size_t i = 0; i < table.num_rows(); ++i) {
    out.add_row(cut(table.rows()[i]));
    if (table.is_highlighted(i)) out.highlight_last_row();
  }
  return out;
}

std::string title(const Comparison& c) {
  return c.metric + " by " + c.by + ", " + (c.higher_is_better ? "higher" : "lower") + " is better";
}

std::string how_to_read(const Comparison& c) {
  const std::size_t pairs = c.num_comparisons;
  bool by_ranks = false;
  for (const auto& facet : c.facets) {
    for (const auto& pair : facet.pairs) by_ranks = by_ranks || pair.paired.test == stats::PairedTest::signed_rank;
  }
  return std::string("Paired by seed; ") +
         (by_ranks ? "exact signed-rank test, a run that never got there or diverged is worst, of the typical (Hodges–Lehmann) difference"
                   : "exact sign-flip test of the mean difference") +
         "; intervals of what the test does not reject; p corrected for " + std::to_string(pairs) + (pairs == 1 ? " comparison" : " comparisons") +
         (c.min_effect > 0 ? " and for both claims, different and not (closed test).\n" : " (Holm).\n");
}

}  // namespace

namespace {

std::string raw(const std::optional<double>& x) {
  if (!x) return "";
  std::ostringstream out;
  out.precision(10);
  out << *x;
  return out.str();
}

// One row per group, numbers as they are, for other programs.
std::string comparison_csv(const Comparison& c) {
  std::vector<Column> columns;
  for (const auto& [key, value] : c.facets.at(0).keys) columns.push_back({key});
  for (const std::string& name : {c.by,
                                  std::string("metric"),
                                  std::string("runs"),
                                  std::string("done"),
                                  std::string("diverged"),
                                  std::string("failed"),
                                  std::string("mean"),
                                  std::string("half_width"),
                                  std::string("iqm"),
                                  std::string("hits"),
                                  std::string("median_steps"),
                                  std::string("parameters"),
                                  std::string("flops_per_token"),
                                  std::string("train_seconds"),
                                  std::string("reference"),
                                  std::string("difference"),
                                  std::string("low"),
                                  std::string("high"),
                                  std::string("p_better"),
                                  std::string("p"),
                                  std::string("p_holm"),
                                  std::string("verdict")}) {
    columns.push_back({name});
  }
  Table table(columns);
  for (const auto& facet : c.facets) {
    for (const auto& g : facet.groups) {
      std::vector<std::string> row;
      for (const auto& [key, value] : facet.keys) row.push_back(value);
      row.insert(row.end(), {g.value, c.metric, std::to_string(g.num_runs), std::to_string(g.num_done), std::to_string(g.num_diverged),
                             std::to_string(g.num_failed), raw(g.mean), raw(g.half_width), raw(g.iqm), std::to_string(g.num_hits),
                             raw(g.median_steps), std::to_string(g.parameters), std::to_string(g.flops_per_token), raw(g.train_seconds)});
      const auto pair = std::find_if(facet.pairs.begin(), facet.pairs.end(), [&](const PairResult& p) { return p.value == g.value; });
      if (pair == facet.pairs.end()) row.insert(row.end(), 8, "");
      else {
        const auto e = effect_of(*pair);
        row.insert(row.end(), {pair->reference, e ? raw(e->size) : "", e ? raw(e->low) : "", e ? raw(e->high) : "",
                               raw(pair->paired.improvement.paired), raw(pair->paired.p), raw(pair->judgement.p_holm),
                               stats::to_string(pair->judgement.verdict)});
      }
      table.add_row(row);
    }
  }
  return table.csv();
}

}  // namespace

namespace {

std::string details_text(const Comparison& c, const CompareView& view) {
  std::vector<std::string> left_out;
  std::string out = title(c) + "\n\n";
  out += render(fitted(groups_table(c), view.width, {"IQM", "FLOPs/token", "time to target", "time/run", "parameters", "median steps"}, left_out),
                view);
  if (has_pairs(c)) {
    const auto pairs = fitted(pairs_table(c), view.width, {"won/tied/lost", "P(better)"}, left_out);
    out += "\n" + render(view.width > 0 ? narrowed(pairs, view.width) : pairs, view);
  }
  if (!left_out.empty()) out += wrapped("(not shown, the terminal is too narrow: " + join(left_out) + ")", view.width);
  if (const auto chances = chances_text(c); !chances.empty()) out += "\n" + wrapped(chances, view.width);
  if (has_pairs(c)) out += "\n" + wrapped(how_to_read(c), view.width);
  return out;
}

std::string explanation(const Comparison& c) {
  const std::string level = format_percent(1 - c.alpha, 0);
  return "Every variant was trained with the same seeds, and is compared with " + shown_value(c, c.reference) +
         " seed by seed. An interval says where the true mean, or difference, lies: " + level + " of such intervals hold it. Where the test is by ranks (steps to a target, diverged runs), the difference is the typical one, "
         "the median over pairs of seeds; a round bracket means that the limit itself is outside.\n"
         "An interval is of one comparison; a verdict is corrected for all of them, so it can be undecided where the interval leaves out 0.\n"
         "\"better\" and \"worse\" are sure: the chance that any of these verdicts is wrong is at most " + format_percent(c.alpha, 0) +
         ", over all comparisons together. \"undecided\" does not mean equal: it means that these seeds cannot tell.\n"
         "\"no difference\" means surely smaller than compare.min_effect" +
         (c.min_effect > 0 ? " (" + format_significant(c.min_effect, 2) + ")" : ", which is not set here") +
         "; \"tied\", that every seed gave the same value.\n";
}

}  // namespace

std::string comparison_text(const Comparison& c, const CompareView& view) {
  if (view.form == TableForm::csv) return comparison_csv(c);
  const std::string answer = answer_text(c);
  std::string out = answer.empty() ? "" : wrapped(answer, view.width) + "\n";
  out += wrapped(caption(c), view.width) + "\n";
  if (view.form == TableForm::markdown) out += short_table(c, 0).markdown();
  else {
    const int left = view.width > 0 ? view.width - widest_line(short_table(c, 0).terminal_text(false)) - 2 : kMostBar;
    const int bar = left >= kLeastBar && has_pairs(c) ? std::min(left, kMostBar) : 0;
    const auto table = short_table(c, bar);
    out += (view.width > 0 ? narrowed(table, view.width) : table).terminal_text(view.color);
  }
  if (view.details || view.form == TableForm::markdown) out += "\n" + details_text(c, view);
  if (view.explain) out += "\n" + wrapped(explanation(c), view.width);
  for (const auto& note : c.notes) out += wrapped("note: " + note, view.width);
  return out;
}

std::string standing_text(const Comparison& c, int width) {
  std::vector<Column> columns;
  for (const auto& [key, value] : c.facets.at(0).keys) columns.push_back({last_segment(key), Align::right});
  columns.push_back({last_segment(c.by), Align::left});
  columns.push_back({"runs", Align::right});
  columns.push_back({c.metric, Align::right});
  Table table(columns);
  constexpr std::size_t kMostRows = 12;
  std::size_t rows = 0, left_out = 0;
  for (const auto& facet : c.facets) {
    for (const auto& g : facet.groups) {
      if (rows == kMostRows) {
        ++left_out;
        continue;
      }
      std::vector<std::string> row;
      for (const auto& [key, value] : facet.keys) row.push_back(value);
      row.insert(row.end(), {g.value, std::to_string(g.num_done + g.num_diverged + g.num_failed), mean_text(g)});
      table.add_row(row);
      ++rows;
    }
  }
  std::istringstream lines(table.terminal_text(false));
  std::string out, line;
  while (std::getline(lines, line)) {
    if (static_cast<int>(display_width(line)) >= width) line = line.substr(0, static_cast<std::size_t>(width) - 1);
    out += line + "\n";
  }
  if (left_out > 0) out += "… and " + std::to_string(left_out) + " more\n";
  return out;
}

}  // namespace ffn::app
