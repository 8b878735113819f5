#include "ffn/report/shown.hpp"

#include <algorithm>
#include <sstream>

#include "ffn/core/suggest.hpp"
#include "ffn/report/variant_name.hpp"

namespace ffn {

namespace {

bool name_the_same_keys(const Comparison& c) {
  std::vector<std::string> keys;
  for (const auto& group : c.facets.at(0).groups) {
    std::vector<std::string> own;
    for (const auto& [key, value] : parts_of_variant(group.value)) own.push_back(key);
    if (own.empty() || (!keys.empty() && own != keys)) return false;
    keys = std::move(own);
  }
  return true;
}

}  // namespace

std::string last_segment(const std::string& key) { return key.substr(key.rfind('.') + 1); }

std::string facet_title(const Facet& facet, const std::string& without) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : facet.keys) {
    if (key != without) parts.push_back(last_segment(key) + " " + value);
  }
  return join(parts);
}

std::string shown_value(const Comparison& c, const std::string& value) {
  if (c.by != "variant") return value;
  if (!c.variants_name_same_keys) c.variants_name_same_keys = name_the_same_keys(c);
  if (!*c.variants_name_same_keys) return value;
  std::vector<std::string> values;
  for (const auto& [key, part] : parts_of_variant(value)) values.push_back(part);
  return values.empty() ? value : join(values, " ");
}

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
