#include "ffn/report/shown.hpp"

#include <algorithm>
#include <sstream>

namespace ffn {

bool has_wide_centres(const Comparison& c) {
  if (!c.as_ratios) return false;
  return std::any_of(c.facets.begin(), c.facets.end(), [](const Facet& f) {
    return std::any_of(f.groups.begin(), f.groups.end(), [](const GroupResult& g) {
      return g.centre && !g.centre->interval.unbounded() && g.centre->interval.high > 1.5 * g.centre->interval.low;
    });
  });
}

std::string margin_as_factor(const Comparison& c) {
  std::ostringstream factor;
  factor.precision(4);  // as verdict_sentence() has it
  factor << 1 + c.min_effect;
  return "factor of " + factor.str();
}

std::optional<Effect> effect_of(const PairResult& pair) {
  const auto& effect = pair.paired.effect;
  if (!effect) return std::nullopt;
  const auto& i = effect->interval;
  return Effect{effect->value, i.low, i.high, i.low_open, i.high_open};
}

}  // namespace ffn
