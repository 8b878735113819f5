// Correction of p values for several comparisons. Depends on the standard library only.
#include "ffn/stats/multiplicity.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "ffn/stats/check.hpp"

namespace ffn::stats {

std::vector<double> closed_adjusted(const std::vector<double>& p, std::vector<double> largest, std::size_t comparisons) {
  for (const std::vector<double>* values : {&p, &std::as_const(largest)})
    for (std::size_t i = 0; i < values->size(); ++i)
      if (!((*values)[i] >= 0.0 && (*values)[i] <= 1.0)) detail::fail("p value ", i, " (", (*values)[i], ") must lie in [0, 1]");
  largest.resize(std::max(comparisons, largest.size()), 1.0);
  if (!std::is_sorted(largest.begin(), largest.end(), std::greater<>())) std::sort(largest.begin(), largest.end(), std::greater<>());
  std::vector<double> adjusted;
  for (const double claim : p) {
    double worst = 0.0;
    for (std::size_t s = 0; s < largest.size(); ++s) worst = std::max(worst, static_cast<double>(s + 1) * std::min(claim, largest[s]));
    adjusted.push_back(std::min(1.0, worst));
  }
  return adjusted;
}

std::vector<double> holm_adjusted(const std::vector<double>& p, std::size_t comparisons) { return closed_adjusted(p, p, comparisons); }

}  // namespace ffn::stats
