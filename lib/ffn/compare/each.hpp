// Visits the groups and pairs of a comparison.
#pragma once

#include <algorithm>

#include "ffn/compare/compare.hpp"

namespace ffn {

template <class Visit>
void for_each_group(const Comparison& c, Visit visit) {
  for (const auto& facet : c.facets) {
    for (const auto& group : facet.groups) visit(facet, group);
  }
}

/// The pairs against the study's reference, and further ones.
template <class SomeComparison, class Visit>
void for_each_pair(SomeComparison& c, Visit visit) {
  for (auto& facet : c.facets) {
    for (auto* pairs : {&facet.pairs, &facet.further_pairs}) {
      for (auto& pair : *pairs) visit(facet, pair);
    }
  }
}

template <class Holds>
bool any_group(const Comparison& c, Holds holds) {
  return std::any_of(c.facets.begin(), c.facets.end(),
                     [&](const Facet& f) { return std::any_of(f.groups.begin(), f.groups.end(), holds); });
}

/// A pair against the study's reference.
template <class Holds>
bool any_pair(const Comparison& c, Holds holds) {
  return std::any_of(c.facets.begin(), c.facets.end(), [&](const Facet& f) { return std::any_of(f.pairs.begin(), f.pairs.end(), holds); });
}

inline const GroupResult* find_group(const Facet& facet, const std::string& value) {
  const auto at = std::find_if(facet.groups.begin(), facet.groups.end(), [&](const GroupResult& g) { return g.value == value; });
  return at == facet.groups.end() ? nullptr : &*at;
}

}  // namespace ffn
