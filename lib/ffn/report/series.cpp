#include "ffn/report/series.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>

#include "ffn/compare/each.hpp"
#include "ffn/report/axis.hpp"
#include "ffn/report/cells.hpp"
#include "ffn/report/format.hpp"

namespace ffn::report {

SeriesList::SeriesList(const Comparison& c) {
  const auto is_number = [](const std::string& text) {
    char* end = nullptr;
    return std::isfinite(std::strtod(text.c_str(), &end)) && !text.empty() && *end == '\0';
  };
  for_each_group(c, [&](const Facet&, const GroupResult& group) {
    if (!index_.emplace(group.value, values_.size()).second) return;
    const std::string name = shown_value(c, group.value);
    // A bare number says nothing: "expansion 4".
    names_.push_back(is_number(name) && name == group.value ? shown_key(c, c.by) + " " + name : name);
    values_.push_back(group.value);
  });
}

std::size_t SeriesList::index(const std::string& value) const {
  const auto at = index_.find(value);
  return at == index_.end() ? values_.size() : at->second;
}

std::vector<PanelGroups> panels_of(const Comparison& c, std::vector<std::string>& notes) {
  std::vector<PanelGroups> out;
  for (const auto& facet : c.facets) {
    const std::size_t parts = facet.groups.size() <= kMostInPanel ? 1 : (facet.groups.size() + kMostInPanel - 3) / (kMostInPanel - 1);
    std::size_t next = parts == 1 ? 0 : 1;
    for (std::size_t part = 0; part < parts; ++part) {
      PanelGroups panel{&facet, {}, facet_title(c, facet)};
      if (parts > 1) {
        panel.groups.push_back(&facet.groups[0]);
        panel.title += (panel.title.empty() ? "" : ", ") + std::string("part ") + std::to_string(part + 1);
      }
      while (next < facet.groups.size() && panel.groups.size() < kMostInPanel) panel.groups.push_back(&facet.groups[next++]);
      out.push_back(std::move(panel));
    }
  }
  if (out.size() > kMostPanels) {
    notes.push_back("the first " + std::to_string(kMostPanels) + " of " + std::to_string(out.size()) +
                    " panels are drawn; the table has all");
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(kMostPanels), out.end());
  }
  return out;
}

std::optional<Estimate> estimate_of(const GroupResult& g, const ValueRange& range) {
  if (g.centre) {
    const auto& i = g.centre->interval;
    return i.unbounded() ? Estimate{g.centre->value, g.centre->value, g.centre->value} : Estimate{g.centre->value, i.low, i.high};
  }
  if (!g.mean) return std::nullopt;
  const double half = g.half_width.value_or(0);
  return Estimate{*g.mean, std::max(*g.mean - half, range.low), std::min(*g.mean + half, range.high)};
}

namespace {

std::string with_interval(const Estimate& e, const std::function<std::string(double)>& finite) {
  const auto number = [&](double x) { return std::isinf(x) ? std::string(x < 0 ? "−∞" : "∞") : finite(x); };
  if (e.low == e.high) return number(e.centre);
  return number(e.centre) + " [" + number(e.low) + ", " + number(e.high) + "]";
}

std::string decimal(const Estimate& e) {
  const double half = std::isfinite(e.high - e.low) ? (e.high - e.low) / 2 : 0;
  const bool by_width = half > 0 && half < std::abs(e.centre);
  return with_interval(e, [&](double x) { return by_width ? format_with(x, half) : shown_number(x); });
}

std::string by_powers(const Estimate& e) {
  return with_interval(e, [](double x) { return std::isfinite(x) && x != 0 ? with_power(x) : format_significant(x, 3); });
}

}  // namespace

std::vector<std::string> estimate_texts(const std::vector<Estimate>& estimates) {
  std::vector<std::string> texts;
  for (const auto& e : estimates) texts.push_back(decimal(e));
  const auto has_power = [](const std::string& text) {
    return text.find("e-") != std::string::npos || text.find("e+") != std::string::npos;
  };
  if (std::any_of(texts.begin(), texts.end(), has_power)) std::transform(estimates.begin(), estimates.end(), texts.begin(), by_powers);
  return texts;
}

std::string estimate_name(const Comparison& c) { return centre_name(c) + " with its " + format_level(1 - c.alpha) + " interval"; }

}  // namespace ffn::report
