#include "ffn/compare/ranking.hpp"

#include <cmath>

#include "ffn/compare/each.hpp"

namespace ffn {

bool is_time_metric(const std::string& metric) {
  constexpr const char* kEnd = "_to_target";
  constexpr std::size_t kLength = 10;
  return metric.size() > kLength && metric.compare(metric.size() - kLength, kLength, kEnd) == 0;
}

std::optional<double> shown_centre(const GroupResult& group) {
  return group.centre ? std::optional<double>(group.centre->value) : group.mean;
}

std::optional<Rank> rank_of(const GroupResult& g) {
  const auto centre = shown_centre(g);
  if (!centre) return std::nullopt;
  return Rank{g.num_hits, g.num_over(), *centre, g.num_lost()};
}

bool ranks_before(const Comparison& c, const Rank& a, const Rank& b) {
  if (is_time_metric(c.metric) && a.hits * b.runs != b.hits * a.runs) return a.hits * b.runs > b.hits * a.runs;
  if (a.centre != b.centre) return c.higher_is_better ? a.centre > b.centre : a.centre < b.centre;
  return a.bad < b.bad;
}

std::vector<const GroupResult*> best_groups(const Comparison& c, const Facet& facet) {
  std::vector<const GroupResult*> best;
  Rank first;
  for (const auto& group : facet.groups) {
    auto rank = rank_of(group);
    if (!rank || !std::isfinite(rank->centre) || rank->is_never(c)) continue;
    rank->bad = 0;  // equal numbers are equally good here
    if (best.empty() || ranks_before(c, *rank, first)) {
      best.clear();
      first = *rank;
    }
    if (!ranks_before(c, first, *rank)) best.push_back(&group);
  }
  return best;
}

std::map<const GroupResult*, std::size_t> overall_places(const Comparison& c) {
  std::vector<std::pair<Rank, const GroupResult*>> ranked;
  for_each_group(c, [&](const Facet&, const GroupResult& group) {
    if (const auto rank = rank_of(group)) ranked.emplace_back(*rank, &group);
  });
  std::stable_sort(ranked.begin(), ranked.end(), [&](const auto& a, const auto& b) { return ranks_before(c, a.first, b.first); });
  std::map<const GroupResult*, std::size_t> places;
  std::size_t place = 0;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    if (i > 0 && ranks_before(c, ranked[i - 1].first, ranked[i].first)) place = i;
    places[ranked[i].second] = place;
  }
  return places;
}

}  // namespace ffn
