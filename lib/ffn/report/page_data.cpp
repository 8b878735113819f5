// The data that the page's script draws: the answer, the curves and the surfaces as one JSON document, in as few bytes as pictures need.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "ffn/base/text.hpp"
#include "ffn/report/cells.hpp"
#include "ffn/report/export.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/page.hpp"

namespace ffn::report {

namespace {

constexpr std::size_t kMostGroups = 192;     // with curves and single runs: 24 panels of 8
constexpr std::size_t kMostOfSeeds = 12000;  // numbers of one metric's single runs
constexpr std::size_t kRunsDrawnWhole = 400, kMostSeeds = 480, kMostOfVariant = 40;

Json drawn_number(double x) { return std::isfinite(x) ? Json(x) : std::isnan(x) ? Json(nullptr) : Json(x > 0 ? "inf" : "-inf"); }

double last_value(const RunCurve& curve) {
  const auto at = std::find_if(curve.values.rbegin(), curve.values.rend(), [](double x) { return std::isfinite(x); });
  return at == curve.values.rend() ? INFINITY : *at;
}

// At most `most`, evenly by rank.
std::vector<const RunCurve*> drawn_runs(const GroupCurves& curves, std::size_t most) {
  std::vector<const RunCurve*> by_rank, out;
  for (const auto& run : curves.runs) by_rank.push_back(&run);
  std::stable_sort(by_rank.begin(), by_rank.end(), [](const auto* a, const auto* b) { return last_value(*a) < last_value(*b); });
  for (const auto i : evenly(by_rank.size(), most)) out.push_back(by_rank[i]);
  return out;
}

// A place for each step; null where no run has a value.
Json points_json(const std::vector<std::int64_t>& steps, const std::vector<CurvePoint>& points) {
  const std::vector<Json> nothing(steps.size());
  Json centre = nothing, low = nothing, high = nothing, gone = std::vector<std::size_t>(steps.size());
  for (const auto& point : points) {
    const auto at = static_cast<std::size_t>(std::lower_bound(steps.begin(), steps.end(), point.step) - steps.begin());
    centre[at] = drawn_number(point.centre);
    low[at] = drawn_number(point.low);
    high[at] = drawn_number(point.high);
    gone[at] = point.gone;
  }
  Json out = {{"centre", centre}, {"low", low}, {"high", high}};
  if (std::any_of(points.begin(), points.end(), [](const CurvePoint& point) { return point.gone > 0; })) out["gone"] = gone;
  return out;
}

Json curves_json(const Comparison& c, const CurveSet& set) {
  std::size_t all = 0;
  for (const auto& [group, curves] : set.groups) all += curves.runs.size();
  const std::size_t most = all <= kRunsDrawnWhole
                               ? SIZE_MAX
                               : std::clamp<std::size_t>(kMostSeeds / std::max<std::size_t>(1, set.groups.size()), 1, kMostOfVariant);
  const auto run_steps =
      evenly(set.steps.size(), std::max<std::size_t>(12, kMostOfSeeds / std::max<std::size_t>(1, std::min(all, kMostSeeds))));
  Json notes = set.notes;
  if (most < SIZE_MAX && all > most * set.groups.size())
    notes.push_back("of " + format_count(static_cast<std::int64_t>(all)) + " runs at most " + std::to_string(most) +
                    " seeds per variant are drawn, evenly by rank; lines and bands are of all");
  Json groups = Json::array();
  for (const auto& facet : c.facets) {
    for (const auto& group : facet.groups) {
      if (groups.size() == kMostGroups) break;
      const auto& curves = set.groups.at(&group);
      Json one = points_json(set.steps, curves.points), runs = Json::array();
      for (const auto* run : drawn_runs(curves, most)) {
        Json values = Json::array();
        for (const auto s : run_steps) values.push_back(drawn_number(run->values[s]));
        runs.push_back({{"seed", run->run->seed}, {"state", to_string(run->run->state)}, {"values", values}});
      }
      one["runs"] = runs;
      groups.push_back(std::move(one));
    }
  }
  return {{"metric", set.metric},
          {"higher", set.higher_is_better},
          {"centre", centre_name(set.centre)},
          {"target", set.target ? Json(*set.target) : Json(nullptr)},
          {"range", {drawn_number(set.range.low), drawn_number(set.range.high)}},
          {"floor", floor_text(set)},
          {"log_y", spans_decades(set)},
          {"steps", set.steps},
          {"run_steps", run_steps},
          {"notes", notes},
          {"groups", groups}};
}

}  // namespace

std::string page_data(Json data) {
  const std::function<void(Json&)> shorten = [&](Json& value) {
    if (value.is_structured()) {
      for (auto& part : value) shorten(part);
    } else if (value.is_string()) {
      value = without_controls(value.get<std::string>());
    } else if (value.is_number_float()) {
      char text[32];
      std::snprintf(text, sizeof text, "%.4g", value.get<double>());
      const double x = std::strtod(text, nullptr);
      value = std::abs(x) < 1e15 && x == std::floor(x) ? Json(static_cast<std::int64_t>(x)) : Json(x);
    }
  };
  shorten(data);
  std::string out;
  for (const char c : dump_json_lossy(data)) out += c == '<' ? std::string("\\u003c") : std::string(1, c);  // no end of a script's element
  return out;
}

Json comparison_data(const Comparison& c, const std::vector<CurveSet>& curves, const Json& surfaces) {
  Json out = answered_json(c);
  std::size_t seen = 0;
  for (auto& facet : out["facets"]) {
    for (auto& group : facet["groups"]) {
      if (++seen <= kMostGroups) continue;
      group.erase("each");
      group.erase("reached");
    }
  }
  out["curves"] = Json::array();
  for (const auto& set : curves) {
    if (set.steps.size() > 1) out["curves"].push_back(curves_json(c, set));
  }
  out["surfaces"] = surfaces;
  return out;
}

}  // namespace ffn::report
