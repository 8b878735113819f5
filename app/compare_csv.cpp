// A comparison for other programs.
#include <algorithm>
#include <sstream>

#include "compare_cells.hpp"
#include "compare_text.hpp"
#include "ffn/report/table.hpp"

namespace ffn::app {

namespace {

std::string raw(const std::optional<double>& x) {
  if (!x) return "";
  std::ostringstream out;
  out.precision(10);
  out << *x;
  return out.str();
}

}  // namespace

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
                               raw(pair->paired.improvement.paired), pair->sequential ? "" : raw(pair->paired.p),
                               pair->sequential ? "" : raw(pair->judgement.p_holm),
                               stats::to_string(pair->judgement.verdict)});
      }
      table.add_row(row);
    }
  }
  return table.csv();
}

}  // namespace ffn::app
