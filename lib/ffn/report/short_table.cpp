#include "ffn/report/short_table.hpp"

#include <algorithm>

#include "ffn/compare/ranking.hpp"
#include "ffn/report/answer_words.hpp"
#include "ffn/report/cells.hpp"

namespace ffn {

ShortTable::ShortTable(const Comparison& c)
    : caption(short_caption(c)),
      value_header(shown_key(c, c.by)),
      hits_header(has_misses(c) ? "hits" : ""),
      centre_header(NumberUnit(c).header(metric_header(c.metric))),
      difference_header(difference_name(c)),
      has_pairs(ffn::has_pairs(c)),
      same_seeds(ffn::same_seeds(c).has_value()) {
  const double unit = NumberUnit(c).size();
  for (const auto& [key, value] : c.facets.at(0).keys) key_headers.push_back(shown_key(c, key));
  for (const auto& facet : c.facets) {
    for (const auto& group : facet.groups) {
      const auto found = std::find_if(facet.pairs.begin(), facet.pairs.end(), [&](const PairResult& p) { return p.value == group.value; });
      const PairResult* pair = found == facet.pairs.end() ? nullptr : &*found;
      ShortRow row{&facet, &group,           pair, {}, shown_value(c, group.value), hits_cell(group), centre_text(c, group, unit), "",
                   "",     seeds_text(group)};
      for (const auto& [key, value] : facet.keys) row.keys.push_back(shown_value(c, key, value));
      if (pair) {
        row.difference = difference_text(c, *pair, unit);
        row.verdict = stats::to_string(pair->judgement.verdict);
      }
      row.starts_facet = &group == &facet.groups[0];
      row.is_decided = pair && is_different(*pair);
      rows.push_back(std::move(row));
    }
  }
  const bool words =
      std::all_of(rows.begin(), rows.end(), [](const ShortRow& row) { return answer_detail::speaks_for_itself(row.group->value); });
  if (c.facets.size() > 1 || !words) return;  // numbers go by size, and are in one order everywhere
  std::stable_sort(rows.begin(), rows.end(), [&](const ShortRow& a, const ShortRow& b) {
    const auto x = rank_of(*a.group), y = rank_of(*b.group);
    return x && (!y || ranks_before(c, *x, *y));
  });
  for (auto& row : rows) row.starts_facet = &row == &rows[0];
}

Table ShortTable::plain(bool repeats, bool seeds) const {
  std::vector<Column> columns;
  for (const auto& header : key_headers) columns.push_back({header, Align::right});
  columns.push_back({value_header, Align::left});
  if (!hits_header.empty()) columns.push_back({hits_header, Align::right});
  columns.push_back({centre_header, Align::right});
  if (has_pairs) columns.insert(columns.end(), {{difference_header, Align::right}, {"verdict", Align::left}});
  if (seeds || !same_seeds) columns.push_back({"seeds", Align::right});
  Table table(columns);
  for (const auto& row : rows) {
    std::vector<std::string> cells = repeats || row.starts_facet ? row.keys : std::vector<std::string>(row.keys.size());
    cells.push_back(row.value);
    if (!hits_header.empty()) cells.push_back(row.hits);
    cells.push_back(row.centre);
    if (has_pairs) cells.insert(cells.end(), {row.difference, row.verdict});
    if (seeds || !same_seeds) cells.push_back(row.seeds);
    table.add_row(cells);
    if (row.is_decided) table.highlight_last_row();
  }
  return table;
}

}  // namespace ffn
