#include "ffn/report/answer_words.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "ffn/base/suggest.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/shown.hpp"

namespace ffn::answer_detail {

std::string enumeration(const std::vector<std::string>& words) {
  if (words.empty()) return "";
  if (words.size() == 1) return words[0];
  std::vector<std::string> shown = words;
  std::string last = shown.back();
  shown.pop_back();
  if (words.size() > kMostNamed) {
    shown.assign(words.begin(), words.begin() + kMostNamed);
    last = std::to_string(words.size() - kMostNamed) + " more";
  }
  return join(shown) + " and " + last;
}

std::string unit_of(const std::string& metric) {
  return metric == "steps_to_target" ? " steps" : metric == "flops_to_target" ? " FLOPs" : metric == "seconds_to_target" ? " s" : "";
}

bool speaks_for_itself(const std::string& value) {
  return !value.empty() && std::isalpha(static_cast<unsigned char>(value[0])) && value != "true" && value != "false" && value != "null";
}

std::string name_of(const Comparison& c, const std::string& value) {
  return speaks_for_itself(value) ? shown_value(c, value) : key_and_value(c, c.by, value);
}

std::string number_of(const Comparison& c, double x, double uncertainty) {
  if (std::isinf(x)) return "no value";
  if (has_wide_centres(c)) return format_significant(x, 2);
  return c.metric == "flops_to_target" ? format_short(x) : format_with(x, uncertainty);
}

std::vector<std::string> values_of(const Comparison& c) {
  std::vector<std::string> values;
  std::set<std::string> seen;
  for (const auto& facet : c.facets) {
    for (const auto& group : facet.groups) {
      const bool any_over = group.num_done + group.num_diverged + group.num_failed > 0;
      if (any_over && seen.insert(group.value).second) values.push_back(group.value);
    }
  }
  return values;
}

std::string only_key(const Comparison& c) {
  const auto& keys = c.facets.at(0).keys;
  return keys.size() == 1 ? shown_key(c, keys.begin()->first) : "";
}

}  // namespace ffn::answer_detail
