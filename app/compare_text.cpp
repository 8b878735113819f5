#include "compare_text.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "ffn/core/suggest.hpp"
#include "ffn/core/utf8.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/table.hpp"
#include "ffn/report/terminal.hpp"

namespace ffn::app {

namespace {

std::string last_segment(const std::string& key) { return key.substr(key.rfind('.') + 1); }

std::string facet_title(const Facet& facet) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : facet.keys) parts.push_back(last_segment(key) + " " + value);
  return join(parts);
}

std::string render(const Table& table, TableForm form, bool color) {
  return form == TableForm::markdown ? table.markdown() : table.terminal_text(color);
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

std::string mean_text(const GroupResult& g) {
  if (!g.mean) return "-";
  if (g.values.size() > 0 && std::all_of(g.values.begin(), g.values.end(), [](double v) { return std::isinf(v); }))
    return "> " + format_significant(*g.mean, 4);
  return format_significant(*g.mean, 4) + (g.half_width ? " ± " + format_significant(*g.half_width, 2) : "");
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
  const bool time = c.metric.size() > 10 && c.metric.rfind("_to_target") == c.metric.size() - 10;
  columns.push_back({"runs", Align::right});
  columns.push_back({(time ? "restricted mean ± " : "mean ± ") + format_percent(time ? 0.95 : 1 - c.alpha, 0), Align::right});
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
      row.insert(row.end(), {g.value, runs_text(g), mean_text(g), optional_number(g.iqm, 4)});
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

std::string signed_number(double x) {
  if (std::isinf(x)) return x > 0 ? "∞" : "−∞";
  return (x < 0 ? "−" : x > 0 ? "+" : "") + format_significant(std::abs(x), 3);
}

std::string difference_text(const stats::PairedResult& p) {
  if (!p.difference) return "-";
  const auto& i = p.difference->interval;
  return signed_number(p.difference->mean) + " [" + signed_number(i.low) + ", " + signed_number(i.high) + "]";
}

// The verdict, and for those that fell short what would settle it.
std::string verdict_text(const PairResult& pair) {
  const auto& j = pair.judgement;
  std::string text = stats::to_string(j.verdict);
  const auto n = pair.paired.num_seeds;
  if (j.verdict == stats::Verdict::undecided && pair.paired.ties == n) return "no difference seen: every pair is tied";
  if (j.verdict == stats::Verdict::too_few_seeds)
    text += ": " + std::to_string(n) + ", at least " + std::to_string(j.seeds_for_verdict) + " are needed";
  if (j.verdict == stats::Verdict::undecided && j.seeds_to_decide && *j.seeds_to_decide > n)
    text += "; a new study of about " + std::to_string(*j.seeds_to_decide) + " seeds would settle it";
  return text;
}

Table pairs_table(const Comparison& c) {
  std::vector<Column> columns;
  for (const auto& [key, value] : c.facets.at(0).keys) columns.push_back({last_segment(key), Align::right});
  const std::string interval = format_percent(1 - c.alpha, 0);
  columns.push_back({last_segment(c.by), Align::left});
  columns.push_back({"difference from " + c.reference + " [" + interval + " interval]", Align::right});
  columns.push_back({"P(better)", Align::right});
  columns.push_back({"won/tied/lost", Align::right});
  columns.push_back({"p (Holm)", Align::right});
  columns.push_back({"verdict", Align::left});
  Table table(columns);
  for (const auto& facet : c.facets) {
    for (const auto& pair : facet.pairs) {
      const auto& p = pair.paired;
      std::vector<std::string> row;
      for (const auto& [key, value] : facet.keys) row.push_back(value);
      row.insert(row.end(), {pair.value, difference_text(p), format_significant(p.improvement.paired, 2),
                             std::to_string(p.wins) + "/" + std::to_string(p.ties) + "/" + std::to_string(p.losses),
                             format_significant(pair.judgement.p_holm, 2), verdict_text(pair)});
      table.add_row(row);
      const bool decided = pair.judgement.verdict == stats::Verdict::better || pair.judgement.verdict == stats::Verdict::worse;
      if (decided) table.highlight_last_row();
    }
  }
  return table;
}

// "gelu is better than relu in 3 of 4 comparisons …": the answer in a sentence per value.
std::string answer(const Comparison& c) {
  std::ostringstream out;
  const auto& order = c.facets.at(0).groups;
  for (const auto& group : order) {
    if (group.value == c.reference) continue;
    std::map<stats::Verdict, std::vector<std::string>> where;
    std::size_t total = 0;
    for (const auto& facet : c.facets) {
      for (const auto& pair : facet.pairs) {
        if (pair.value != group.value) continue;
        where[pair.judgement.verdict].push_back(facet_title(facet));
        ++total;
      }
    }
    if (total == 0) continue;
    out << group.value << " against " << c.reference << " on " << c.metric << ": ";
    std::vector<std::string> parts;
    for (const auto& [verdict, titles] : where) {
      std::string part = stats::to_string(verdict);
      if (total > 1)
        part += " in " + std::to_string(titles.size()) + " of " + std::to_string(total) +
                (titles[0].empty() || titles.size() == total ? "" : " (" + join(titles, "; ") + ")");
      parts.push_back(part);
    }
    out << join(parts, ", ") << "\n";
  }
  return out.str();
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
  for (const auto& row : table.rows()) {
    out.add_row(keep(row));
    const bool decided = row.back() == "better" || row.back() == "worse";
    if (decided) out.highlight_last_row();
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
         (by_ranks ? "exact signed-rank test, a run that never got there or diverged is worst"
                   : "exact sign-flip test of the mean difference") +
         "; BCa intervals; p Holm-corrected for " + std::to_string(pairs) + (pairs == 1 ? " comparison.\n" : " comparisons.\n");
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
        const auto& d = pair->paired.difference;
        row.insert(row.end(), {pair->reference, d ? raw(d->mean) : "", d ? raw(d->interval.low) : "", d ? raw(d->interval.high) : "",
                               raw(pair->paired.improvement.paired), raw(pair->paired.p), raw(pair->judgement.p_holm),
                               stats::to_string(pair->judgement.verdict)});
      }
      table.add_row(row);
    }
  }
  return table.csv();
}

}  // namespace

std::string comparison_text(const Comparison& c, TableForm form, bool color, int width) {
  if (form == TableForm::csv) return comparison_csv(c);
  const bool has_pairs = std::any_of(c.facets.begin(), c.facets.end(), [](const Facet& f) { return !f.pairs.empty(); });
  std::vector<std::string> left_out;
  if (form != TableForm::terminal) width = 0;
  std::string out = title(c) + "\n\n";
  out +=
      render(fitted(groups_table(c), width, {"IQM", "FLOPs/token", "time to target", "time/run", "parameters", "median steps"}, left_out),
             form, color);
  if (has_pairs) out += "\n" + render(fitted(pairs_table(c), width, {"won/tied/lost", "P(better)"}, left_out), form, color);
  if (!left_out.empty()) out += "(not shown, the terminal is too narrow: " + join(left_out) + ")\n";
  if (has_pairs) out += "\n" + answer(c);
  if (has_pairs) out += how_to_read(c);
  for (const auto& note : c.notes) out += "note: " + note + "\n";
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
