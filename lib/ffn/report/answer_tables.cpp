#include "ffn/report/answer_tables.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/compare/each.hpp"
#include "ffn/report/answer_words.hpp"
#include "ffn/report/cells.hpp"
#include "ffn/report/format.hpp"

namespace ffn {

std::vector<AnswerColumn> key_columns(const Comparison& c, bool of_facets) {
  std::vector<AnswerColumn> out;
  for (const auto& item : of_facets ? c.facets.at(0).keys : decltype(Facet::keys)()) {
    const std::string& key = item.first;
    out.push_back({Shows::key, shown_key(c, key), Align::right,
                   [&c, key](const AnswerRow& row) { return shown_value(c, key, row.facet->keys.at(key)); }});
  }
  out.push_back({Shows::other, shown_key(c, c.by), Align::left,
                 [&c](const AnswerRow& row) { return shown_value(c, row.group ? row.group->value : row.pair->value); }});
  return out;
}

std::vector<AnswerRow> group_rows(const Comparison& c) {
  std::vector<AnswerRow> rows;
  for_each_group(c, [&](const Facet& facet, const GroupResult& group) {
    const auto pair = std::find_if(facet.pairs.begin(), facet.pairs.end(), [&](const PairResult& p) { return p.value == group.value; });
    rows.push_back({&facet, &group, pair == facet.pairs.end() ? nullptr : &*pair, &group == &facet.groups[0]});
  });
  return rows;
}

namespace {

AnswerColumn difference_column(const Comparison& c, const std::string& header, double unit = 1) {
  return {Shows::difference, header, Align::right,
          [&c, unit](const AnswerRow& row) { return row.pair ? difference_text(c, *row.pair, unit) : ""; }};
}

// "worse than at 1": an interaction compares differences, not variants.
AnswerColumn verdict_column() {
  return {Shows::verdict, "verdict", Align::left, [](const AnswerRow& row) {
            const std::string word = row.pair ? stats::to_string(row.pair->judgement.verdict) : "";
            const bool is_change = row.contrast && !row.contrast->is_main_effect() && is_different(*row.pair);
            return is_change ? word + " than at " + row.contrast->against : word;
          }};
}

std::vector<AnswerRow> pair_rows(const Comparison& c, std::vector<PairResult> Facet::*pairs) {
  std::vector<AnswerRow> rows;
  for (const auto& facet : c.facets) {
    for (const auto& pair : facet.*pairs) rows.push_back({&facet, nullptr, &pair});
  }
  return rows;
}

AnswerTable contrasts_table(const Comparison& c) {
  const std::string key = shown_key(c, c.interaction_key);
  const bool ratios = !c.contrasts.empty() && c.contrasts[0].pair.paired.values == stats::PairedValues::log_ratio;
  AnswerTable out{"Does the answer depend on " + key + "? " + (ratios ? "Ratio to " : "Difference from ") + shown_value(c, c.reference) +
                      ", its mean and its change:",
                  key_columns(c, /*of_facets=*/false),
                  {}};
  const auto name = [key](const AnswerRow& row) {
    return row.contrast->is_main_effect() ? "mean over " + key : key + " " + row.contrast->at + " against " + row.contrast->against;
  };
  out.columns.push_back({Shows::other, "contrast", Align::left, name});
  out.columns.push_back(difference_column(c, ratios ? "ratio" : "difference", NumberUnit(c).size()));
  out.columns.push_back(verdict_column());
  for (const auto& contrast : c.contrasts) out.rows.push_back({nullptr, nullptr, &contrast.pair, false, &contrast});
  return out;
}

// One table over all facets, the facet's keys as its first columns: a study of twelve variants is twelve rows.
AnswerTable groups_table(const Comparison& c) {
  const bool time = is_time_metric(c.metric), targets = any_group(c, [](const GroupResult&g) { return g.has_target; });
  AnswerTable out{c.metric + " by " + c.by + ", " + (c.higher_is_better ? "higher" : "lower") + " is better", key_columns(c),
                  group_rows(c)};
  const auto add = [&](const std::string& header, const auto& text) {
    out.columns.push_back({Shows::other, header, Align::right, [text](const AnswerRow& row) { return std::string(text(*row.group)); }});
  };
  const auto of_known = [&](const std::string& header, const auto& text) {
    add(header, [text](const GroupResult& g) { return g.parameters > 0 ? text(g) : "-"; });
  };
  add("runs", seeds_text);
  add((has_misses(c) ? "median of hits "
       : time        ? "restricted mean "
                     : centre_name(c) + " ") +
          interval_form(c),
      [&c](const GroupResult& g) { return centre_text(c, g); });
  add("IQM", [time](const GroupResult& g) -> std::string {
    return !g.iqm ? "-" : std::isfinite(*g.iqm) ? format_significant(*g.iqm, 4) : time ? "never" : "no value";
  });
  if (targets) {
    add("hits", [](const GroupResult& g) { return g.num_over() > 0 ? hits_cell(g) : "-"; });
    add("median steps", [](const GroupResult& g) {
      return g.median_steps ? format_rounded(*g.median_steps) : g.num_over() > 0 ? "not reached" : "-";
    });
  }
  of_known("parameters", [](const GroupResult& g) { return format_count(g.parameters); });
  of_known("FLOPs/token", [](const GroupResult& g) { return format_count(g.flops_per_token); });
  of_known("time/run", [](const GroupResult& g) { return format_duration(g.train_seconds); });
  if (targets)
    add("time to target", [](const GroupResult& g) { return g.seconds_to_target ? format_duration(*g.seconds_to_target) : "-"; });
  for (auto& row : out.rows) row.pair = nullptr;  // nothing of it is shown
  return out;
}

// The interim analysis at which the verdict stood first.
std::string since_text(const PairResult& pair) {
  const bool same = pair.judgement.verdict == stats::Verdict::no_meaningful_difference;
  const auto& at = same ? pair.sequential->negligible : pair.sequential->different;
  return at ? std::to_string(*at) + " seeds" : "-";
}

AnswerTable pairs_table(const Comparison& c) {
  AnswerTable out{"", key_columns(c), pair_rows(c, &Facet::pairs)};
  const auto add = [&](const std::string& header, const auto& text) {
    out.columns.push_back({Shows::other, header, Align::right, [text](const AnswerRow& row) { return text(*row.pair); }});
  };
  const std::string name = difference_name(c);
  out.columns.push_back(difference_column(
      c, name + (name == "ratio" ? " to " : " from ") + shown_value(c, c.reference) + " [" + format_level(1 - c.alpha) + " interval]"));
  add("P(better)", [](const PairResult& pair) { return format_significant(pair.paired.improvement.paired, 2); });
  add("won/tied/lost", [](const PairResult& pair) {
    const auto& p = pair.paired;
    return p.unpaired ? "-" : std::to_string(p.wins) + "/" + std::to_string(p.ties) + "/" + std::to_string(p.losses);
  });
  add(c.sequential ? "stands since" : "p (corrected)",
      [](const PairResult& pair) { return pair.sequential ? since_text(pair) : format_significant(pair.judgement.p_holm, 2); });
  out.columns.push_back(verdict_column());
  return out;
}

}  // namespace

Table AnswerTable::plain(bool repeats) const {
  std::vector<Column> headers;
  for (const auto& column : columns) headers.push_back({column.header, column.align});
  Table table(std::move(headers));
  for (const auto& row : rows) {
    std::vector<std::string> cells;
    for (const auto& column : columns) {
      const bool is_repeated = column.shows == Shows::key && !repeats && row.group && !row.starts_facet;
      cells.push_back(is_repeated ? "" : column.text(row));
    }
    table.add_row(std::move(cells));
    if (row.pair && is_different(*row.pair)) table.highlight_last_row();
  }
  return table;
}

AnswerTable short_table(const Comparison& c, bool seeds) {
  const NumberUnit unit(c);
  const double size = unit.size();
  AnswerTable out{short_caption(c), key_columns(c), group_rows(c)};
  if (has_misses(c))
    out.columns.push_back({Shows::other, "hits", Align::right, [](const AnswerRow& row) { return hits_cell(*row.group); }});
  out.columns.push_back({Shows::other, unit.header(metric_header(c.metric)), Align::right,
                         [&c, size](const AnswerRow& row) { return centre_text(c, *row.group, size); }});
  if (has_pairs(c)) out.columns.insert(out.columns.end(), {difference_column(c, difference_name(c), size), verdict_column()});
  if (seeds || !same_seeds(c))
    out.columns.push_back({Shows::seeds, "seeds", Align::right, [](const AnswerRow& row) { return seeds_text(*row.group); }});
  const bool words = !any_group(c, [](const GroupResult& g) { return !answer_detail::speaks_for_itself(g.value); });
  if (c.facets.size() > 1 || !words) return out;  // numbers go by size, and are in one order everywhere
  std::stable_sort(out.rows.begin(), out.rows.end(), [&](const AnswerRow& a, const AnswerRow& b) {
    const auto x = rank_of(*a.group), y = rank_of(*b.group);
    return x && (!y || ranks_before(c, *x, *y));
  });
  for (auto& row : out.rows) row.starts_facet = &row == &out.rows[0];
  return out;
}

std::vector<AnswerTable> more_tables(const Comparison& c) {
  AnswerTable further{"Further pairs, difference from the value that each is held against:", key_columns(c),
                      pair_rows(c, &Facet::further_pairs)};
  further.columns.push_back(
      {Shows::other, "against", Align::left, [&c](const AnswerRow& row) { return shown_value(c, row.pair->reference); }});
  further.columns.push_back(difference_column(c, difference_name(c), NumberUnit(c).size()));
  further.columns.push_back(verdict_column());
  std::vector<AnswerTable> out;
  for (auto& table : {further, contrasts_table(c)}) {
    if (!table.rows.empty()) out.push_back(table);
  }
  return out;
}

std::vector<AnswerTable> detailed_tables(const Comparison& c) {
  std::vector<AnswerTable> out{groups_table(c)};
  if (has_pairs(c)) out.push_back(pairs_table(c));
  return out;
}

}  // namespace ffn
