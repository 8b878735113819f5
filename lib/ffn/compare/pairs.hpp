// Which pairs of a comparison are judged: `compare.pairs`.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ffn/compare/compare.hpp"
#include "ffn/compare/outcomes.hpp"

namespace ffn {

using RunGroup = std::vector<const FoundRun*>;

/// The runs of one facet by their value of `by`.
struct Cell {
  std::map<std::string, std::string> keys;
  std::map<std::string, RunGroup> runs;
};

struct AskedPair {
  std::string value, reference;
};

/// True if no run of the group ended well without the metric.
bool is_measured(const RunGroup& runs, const Metric& metric);

/// Runs that are over by seed; a seed that occurs twice in a group keeps its first run. None of a group that does not log the
/// metric: its diverged runs would lose, where the others have nothing to show.
std::map<std::int64_t, const FoundRun*> by_seed(const RunGroup& runs, const Metric& metric);

/// The pairs of a facet that make the family. `values`: in order, the reference first; `pairs`: compare.pairs.
/// "best" is judged as "all" is: the same results choose the leader, so any pair could have become one that is asked. Its pairs are a
/// subset of all, and corrected as part of them.
std::vector<AskedPair> pairs_in_family(const Cell& cell, const std::vector<std::string>& values, const std::string& pairs);

/// How many of them there will be once everything is trained.
std::size_t planned_pairs(const std::vector<Cell>& cells, const std::vector<std::string>& values, const std::string& pairs,
                          const Metric& metric);

/// Keeps each facet's further pairs of its best group.
void keep_pairs_of_best(Comparison& comparison);

}  // namespace ffn
