#include "ffn/compare/pairs.hpp"

#include <algorithm>

#include "ffn/compare/ranking.hpp"
#include "ffn/compare/run_keys.hpp"

namespace ffn {

bool is_measured(const RunGroup& runs, const Metric& metric) {
  return std::none_of(runs.begin(), runs.end(), [&](const FoundRun* run) { return is_unmeasured(*run, metric); });
}

std::map<std::int64_t, const FoundRun*> by_seed(const RunGroup& runs, const Metric& metric) {
  std::map<std::int64_t, const FoundRun*> out;
  if (!is_measured(runs, metric)) return out;
  for (const auto* run : runs) {
    if (is_over(*run)) out.insert({run->seed, run});
  }
  return out;
}

std::vector<AskedPair> pairs_in_family(const Cell& cell, const std::vector<std::string>& values, const std::string& pairs) {
  std::vector<std::string> there;
  std::copy_if(values.begin(), values.end(), std::back_inserter(there), [&](const auto& value) { return cell.runs.count(value) > 0; });
  std::vector<AskedPair> out;
  for (std::size_t r = 0; r < there.size(); ++r) {
    if (pairs == "reference" && there[r] != values[0]) continue;
    for (std::size_t v = r + 1; v < there.size(); ++v) out.push_back({there[v], there[r]});
  }
  return out;
}

std::size_t planned_pairs(const std::vector<Cell>& cells, const std::vector<std::string>& values, const std::string& pairs,
                          const Metric& metric) {
  std::size_t planned = 0;
  for (const auto& cell : cells) {
    for (const auto& [value, reference] : pairs_in_family(cell, values, pairs))
      planned += is_measured(cell.runs.at(value), metric) && is_measured(cell.runs.at(reference), metric);
  }
  return planned;
}

void keep_pairs_of_best(Comparison& c) {
  for (auto& facet : c.facets) {
    const auto best = best_groups(c, facet);
    const auto is_of_best = [&](const PairResult& pair) {
      return std::any_of(best.begin(), best.end(),
                         [&](const GroupResult* g) { return g->value == pair.value || g->value == pair.reference; });
    };
    auto& further = facet.further_pairs;
    further.erase(std::remove_if(further.begin(), further.end(), [&](const PairResult& pair) { return !is_of_best(pair); }), further.end());
  }
}

}  // namespace ffn
