#include <algorithm>
#include <cmath>
#include <sstream>

#include "ffn/report/answer.hpp"
#include "ffn/report/cells.hpp"
#include "ffn/report/exporter.hpp"
#include "ffn/report/table.hpp"

namespace ffn {

namespace {

// Behind the keys of the facet and what is compared.
constexpr const char* kColumns =
    "metric runs done diverged failed mean half_width iqm hits median_steps parameters flops_per_token train_seconds reference "
    "difference low high p_better p p_holm verdict median scale test ratio ratio_low ratio_high bad_runs bad_runs_reference p_mcnemar "
    "label qualification scope answer";

std::string raw(const std::optional<double>& x) {
  if (!x) return "";
  std::ostringstream out;
  out.precision(10);
  out << *x;
  return out.str();
}

// In the metric's units; where ratios are judged, the mean difference alone.
std::vector<std::string> difference_cells(const PairResult& pair) {
  const bool ratio = pair.paired.values == stats::PairedValues::log_ratio;
  const auto e = effect_of(pair);
  const bool limits = e && !e->empty();  // no number stands for an empty interval
  const auto& mean = pair.paired.difference;
  return {pair.reference,
          ratio ? (mean ? raw(mean->mean) : "")
          : e   ? raw(e->size)
                : "",
          limits && !ratio ? raw(e->low) : "",
          limits && !ratio ? raw(e->high) : "",
          raw(pair.paired.improvement.paired),
          pair.sequential ? "" : raw(pair.paired.p),
          pair.sequential ? "" : raw(pair.judgement.p_holm),
          stats::to_string(pair.judgement.verdict)};
}

std::vector<std::string> scale_cells(const PairResult& pair) {
  const bool ratio = pair.paired.values == stats::PairedValues::log_ratio;
  const auto e = effect_of(pair);
  const bool limits = e && !e->empty();
  const auto as_ratio = [&](double x) { return raw(std::exp(x)); };
  return {ratio ? "log_ratio" : "difference",
          stats::to_string(pair.paired.test),
          e && ratio ? as_ratio(e->size) : "",
          limits && ratio ? as_ratio(e->low) : "",
          limits && ratio ? as_ratio(e->high) : "",
          pair.bad ? std::to_string(pair.bad->variant) : "",
          pair.bad ? std::to_string(pair.bad->reference) : "",
          pair.bad ? raw(pair.bad->p) : ""};
}

}  // namespace

std::string CsvExporter::write(const Comparison& c) const {
  std::vector<Column> columns;
  for (const auto& [key, value] : c.facets.at(0).keys) columns.push_back({key});
  columns.push_back({c.by});
  std::istringstream names(kColumns);
  for (std::string name; names >> name;) columns.push_back({name});
  if (!c.contrasts.empty()) columns.push_back({"contrast"});
  Table table(columns);
  const std::string answer = plain_answer(c);
  const auto add_row = [&](std::vector<std::string> row, const PairResult* pair, const std::string& median, const std::string& label,
                           const std::string& contrast) {
    const auto cells = pair ? difference_cells(*pair) : std::vector<std::string>(8),
               scale = pair ? scale_cells(*pair) : std::vector<std::string>(8);
    row.insert(row.end(), cells.begin(), cells.end());
    row.push_back(median);
    row.insert(row.end(), scale.begin(), scale.end());
    row.insert(row.end(), {label, c.history.qualification, c.scope, answer});
    if (!c.contrasts.empty()) row.push_back(contrast);
    table.add_row(std::move(row));
  };
  for (const auto& facet : c.facets) {
    for (const auto& g : facet.groups) {
      std::vector<std::string> row;
      for (const auto& [key, value] : facet.keys) row.push_back(value);
      row.insert(row.end(), {g.value, c.metric, std::to_string(g.num_runs), std::to_string(g.num_done), std::to_string(g.num_diverged),
                             std::to_string(g.num_failed), raw(g.mean), raw(g.half_width), raw(g.iqm), std::to_string(g.num_hits),
                             raw(g.median_steps), std::to_string(g.parameters), std::to_string(g.flops_per_token), raw(g.train_seconds)});
      const auto pair = std::find_if(facet.pairs.begin(), facet.pairs.end(), [&](const PairResult& p) { return p.value == g.value; });
      add_row(row, pair == facet.pairs.end() ? nullptr : &*pair, raw(g.median), shown_value(c, g.value), "");
      for (const auto& further : facet.further_pairs) {
        if (further.value == g.value) add_row(row, &further, raw(g.median), shown_value(c, g.value), "");
      }
    }
  }
  for (const auto& contrast : c.contrasts) {
    std::vector<std::string> row = {contrast.at, contrast.pair.value, c.metric};
    row.resize(row.size() + 12);  // runs, means and costs are of no single group
    add_row(std::move(row), &contrast.pair, "", "", contrast.is_main_effect() ? "main effect" : "against " + contrast.against);
  }
  return table.csv();
}

}  // namespace ffn
