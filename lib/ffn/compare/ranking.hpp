// The one order of variants: whatever says who leads, is best or comes first asks here.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ffn/compare/compare.hpp"

namespace ffn {

bool is_time_metric(const std::string& metric);

/// The number that a group is shown by: Comparison::shown; none where no run has a value.
std::optional<double> shown_centre(const GroupResult& group);

/// The number that a variant is ranked by, in one facet or summed over several.
struct Rank {
  std::size_t hits = 0, runs = 0;  ///< runs: those that are over
  double centre = 0;               ///< as it is shown; of a time the restricted mean
  std::size_t bad = 0;             ///< runs that diverged or failed

  /// No run got there: it leads nothing.
  bool is_never(const Comparison& comparison) const { return is_time_metric(comparison.metric) && hits == 0; }
};

/// None of a group that has no value to show.
std::optional<Rank> rank_of(const GroupResult& group);

/// For a time to a target the larger share of runs that hit goes first: a mean that counts "never" as the budget does not tell them apart.
/// Then the better centre, then fewer bad runs.
bool ranks_before(const Comparison& comparison, const Rank& a, const Rank& b);

/// The best groups of a facet by rank, bad runs aside: several if they are equal; none where no group has a value, or where no run got
/// there.
std::vector<const GroupResult*> best_groups(const Comparison& comparison, const Facet& facet);

/// Over all facets, 0 the first; equal ranks share a place, and groups without a value have none.
std::map<const GroupResult*, std::size_t> overall_places(const Comparison& comparison);

}  // namespace ffn
