#include <cmath>
#include <nlohmann/json.hpp>

#include "ffn/base/json_document.hpp"
#include "ffn/compare/compare_json.hpp"
#include "ffn/report/answer.hpp"
#include "ffn/report/cells.hpp"
#include "ffn/report/conditions.hpp"
#include "ffn/report/exporter.hpp"
#include "ffn/report/series.hpp"
#include "ffn/report/tuned.hpp"
#include "ffn/stats/survival.hpp"

namespace ffn {

namespace {

Json json_number(double x) { return std::isfinite(x) ? Json(x) : Json(std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf"); }

template <class T>
Json number_or_null(const std::optional<T>& x) {
  return x ? json_number(static_cast<double>(*x)) : Json(nullptr);
}

Json estimate_json(double centre, double low, double high) {
  return {{"centre", json_number(centre)}, {"low", json_number(low)}, {"high", json_number(high)}};
}

Json runs_json(const GroupResult& group) {
  Json out = Json::array();
  for (const auto& run : group.runs) {
    Json one = {{"seed", run.seed}, {"state", to_string(run.state)}, {"value", number_or_null(run.value)}};
    if (run.to_target) {
      one["hit"] = number_or_null(run.to_target->time);
      one["budget"] = run.to_target->budget;
    }
    if (run.lost_at) one["lost_at"] = *run.lost_at;
    out.push_back(std::move(one));
  }
  return out;
}

// The share of runs that have reached the target, just behind each time at which one did (Kaplan–Meier).
Json reached_json(const GroupResult& group, double level) {
  std::vector<stats::Hit> hits;
  for (const auto& run : group.runs) {
    if (run.to_target) hits.push_back(*run.to_target);
  }
  if (hits.empty()) return nullptr;
  const auto curve = stats::kaplan_meier(hits);
  const auto unreached = stats::unreached_intervals(curve, level);
  Json out = {{"median", number_or_null(stats::median_time(curve))}, {"follow_up", curve.follow_up}, {"steps", Json::array()}};
  for (std::size_t i = 0; i < curve.steps.size(); ++i) {
    Json step = {{"time", curve.steps[i].time}, {"share", 1 - curve.steps[i].unreached}};
    if (unreached[i]) {
      step["low"] = 1 - unreached[i]->high;
      step["high"] = 1 - unreached[i]->low;
    }
    out["steps"].push_back(std::move(step));
  }
  return out;
}

void add_group(Json& out, const Comparison& c, const GroupResult& group, const std::map<const GroupResult*, std::size_t>& places) {
  const auto estimate = pictures::estimate_of(group, pictures::range_of(c.metric));
  out["estimate"] = estimate ? estimate_json(estimate->centre, estimate->low, estimate->high) : Json(nullptr);
  const auto place = places.find(&group);
  out["place"] = place == places.end() ? Json(nullptr) : Json(place->second);
  out["each"] = runs_json(group);
  out["reached"] = reached_json(group, 1 - c.alpha);
}

void add_pair(Json& out, const Comparison& c, const PairResult& pair) {
  out["label"] = shown_value(c, pair.value);
  out["reference_label"] = shown_value(c, pair.reference);
  out["text"] = difference_text(c, pair);
}

void add_tuning(Json& out, const TuningResult& tuned, double alpha) {
  out["short_keys"] = Json::array();
  for (const auto& key : tuned.keys) out["short_keys"].push_back(short_name(key, tuned.keys));
  for (std::size_t v = 0; v < tuned.variants.size(); ++v) {
    const auto& variant = tuned.variants[v];
    for (std::size_t k = 0; k < variant.curve.size(); ++k) {
      const auto at = tuned_estimate(variant, variant.curve[k], alpha);
      out["variants"][v]["curve"][k]["estimate"] = at ? estimate_json(at->value, at->interval.low, at->interval.high) : Json(nullptr);
    }
  }
}

}  // namespace

Json answered_json(const Comparison& c) {
  Json out = comparison_json(c);
  const auto places = overall_places(c);
  for (std::size_t f = 0; f < c.facets.size(); ++f) {
    const auto& facet = c.facets[f];
    Json& of_facet = out["facets"][f];
    of_facet["title"] = facet_title(c, facet);
    of_facet["labels"] = Json::object();
    for (const auto& [key, value] : facet.keys) of_facet["labels"][key] = shown_value(c, key, value);
    for (std::size_t g = 0; g < facet.groups.size(); ++g) add_group(of_facet["groups"][g], c, facet.groups[g], places);
    std::size_t next = 0;
    for (const auto* pairs : {&facet.pairs, &facet.further_pairs}) {
      for (const auto& pair : *pairs) add_pair(of_facet["pairs"][next++], c, pair);
    }
  }
  Json keys = {{c.by, shown_key(c, c.by)}};
  if (!c.facets.empty()) {
    for (const auto& [key, value] : c.facets[0].keys) keys[key] = shown_key(c, key);
  }
  out["names"] = {{"keys", keys}, {"reference", shown_value(c, c.reference)}, {"centre", centre_name(c)}};
  out["ratios_as"] = !c.as_ratios ? Json(nullptr) : Json(c.ratio_form == stats::RatioForm::percent ? "percent" : "factor");
  if (c.tuned) add_tuning(out["tuning"], *c.tuned, c.alpha);
  out["answer"] = plain_answer(c);
  out["conditions"] = conditions_text(c);
  return out;
}

std::string JsonExporter::write(const Comparison& c) const { return dump_json_lossy(answered_json(c), 2) + "\n"; }

}  // namespace ffn
