#include "ffn/compare/best.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "ffn/config/metrics.hpp"

namespace ffn {

namespace {

bool is_time(const std::string& metric) {
  return std::find(std::begin(kTimesToTarget), std::end(kTimesToTarget), metric) != std::end(kTimesToTarget);
}

}  // namespace

std::vector<const GroupResult*> best_groups(const Comparison& c, const Facet& facet) {
  using Rank = std::tuple<double, double>;  // the smaller the better
  const bool time = is_time(c.metric);
  std::vector<const GroupResult*> best;
  Rank least;
  for (const auto& group : facet.groups) {
    const auto shown = group.centre ? std::optional<double>(group.centre->value) : group.mean;
    const double over = static_cast<double>(group.num_done + group.num_diverged + group.num_failed);
    if (!shown || !std::isfinite(*shown) || (time && group.num_hits == 0)) continue;
    const Rank rank{time ? -static_cast<double>(group.num_hits) / over : 0.0, c.higher_is_better ? -*shown : *shown};
    if (best.empty() || rank < least) best.clear();
    if (best.empty()) least = rank;
    if (rank == least) best.push_back(&group);
  }
  return best;
}

}  // namespace ffn
