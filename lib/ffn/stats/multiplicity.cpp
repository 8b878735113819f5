// Correction of p values for several comparisons. Depends on the standard library only.
#include "ffn/stats/multiplicity.hpp"

#include <algorithm>
#include <numeric>

#include "ffn/stats/check.hpp"

namespace ffn::stats {

std::vector<double> holm_adjusted(const std::vector<double>& p, std::size_t comparisons) {
  for (std::size_t i = 0; i < p.size(); ++i)
    if (!(p[i] >= 0.0 && p[i] <= 1.0)) detail::fail("Holm: p value ", i, " (", p[i], ") must lie in [0, 1]");
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });

  const std::size_t m = std::max(comparisons, p.size());
  std::vector<double> adjusted(p.size());
  double largest = 0.0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    largest = std::max(largest, std::min(1.0, static_cast<double>(m - i) * p[order[i]]));
    adjusted[order[i]] = largest;
  }
  return adjusted;
}

}  // namespace ffn::stats
