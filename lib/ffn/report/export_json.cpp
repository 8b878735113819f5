// The answer as one document: what `compare --json` prints and compare.json keeps, from which the CSV and the page's charts are made.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "ffn/base/json_document.hpp"
#include "ffn/compare/sequential.hpp"
#include "ffn/report/answer.hpp"
#include "ffn/report/cells.hpp"
#include "ffn/report/export.hpp"
#include "ffn/report/ladder.hpp"
#include "ffn/report/series.hpp"
#include "ffn/report/tuned.hpp"
#include "ffn/stats/survival.hpp"

namespace ffn {

namespace {

Json json_number(double x) { return std::isfinite(x) ? Json(x) : Json(std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf"); }

template <class T>
Json maybe(const std::optional<T>& x) {
  if (!x) return nullptr;
  if constexpr (std::is_floating_point_v<T>) return json_number(*x);
  else return *x;
}

Json numbers(const std::vector<double>& values) {
  Json out = Json::array();
  for (const double x : values) out.push_back(json_number(x));
  return out;
}

Json interval_json(const stats::Interval& i) {
  return {{"low", json_number(i.low)}, {"high", json_number(i.high)}, {"level", i.level},
          {"low_open", i.low_open},    {"high_open", i.high_open},    {"empty", i.empty()}};
}

Json centre_json(const stats::Centre& centre) {
  return {{"value", json_number(centre.value)}, {"interval", interval_json(centre.interval)}};
}

template <class T>
Json estimate_json(const std::optional<T>& at, double T::*centre, double low, double high) {
  return at ? Json{{"centre", json_number((*at).*centre)}, {"low", json_number(low)}, {"high", json_number(high)}} : Json(nullptr);
}

Json runs_json(const GroupResult& group) {
  Json out = Json::array();
  for (const auto& run : group.runs) {
    Json one = {{"seed", run.seed}, {"state", to_string(run.state)}, {"value", maybe(run.value)}};
    if (run.to_target) {
      one["hit"] = maybe(run.to_target->time);
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
  Json out = {{"median", maybe(stats::median_time(curve))}, {"follow_up", curve.follow_up}, {"steps", Json::array()}};
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

Json group_json(const Comparison& c, const GroupResult& g, const std::map<const GroupResult*, std::size_t>& places) {
  const auto estimate = report::estimate_of(g, report::range_of(c.metric));
  const auto place = places.find(&g);
  return {{"value", g.value},
          {"label", shown_value(c, g.value)},
          {"text", centre_text(c, g)},
          {"runs", g.num_runs},
          {"done", g.num_done},
          {"diverged", g.num_diverged},
          {"failed", g.num_failed},
          {"pending", g.num_pending},
          {"not_measured", g.num_unmeasured},
          {"mean", maybe(g.mean)},
          {"half_width", maybe(g.half_width)},
          {"iqm", maybe(g.iqm)},
          {"median", maybe(g.median)},
          {"shown", g.centre ? centre_json(*g.centre) : Json(nullptr)},
          {"hits", g.num_hits},
          {"median_steps_to_target", maybe(g.median_steps)},
          {"restricted_mean_steps_to_target", maybe(g.restricted_mean_steps)},
          {"parameters", g.parameters},
          {"flops_per_token", g.flops_per_token},
          {"train_seconds", g.train_seconds},
          {"seconds_to_target", maybe(g.seconds_to_target)},
          {"values", numbers(g.values)},
          {"estimate", estimate_json(estimate, &report::Estimate::centre, estimate ? estimate->low : 0, estimate ? estimate->high : 0)},
          {"place", place == places.end() ? Json(nullptr) : Json(place->second)},
          {"each", runs_json(g)},
          {"reached", reached_json(g, 1 - c.alpha)}};
}

// The statistic is the sum of the differences in favour of the value, or of their signed ranks; the claim stands from the first interim
// analysis at which its size reaches the bound. No p value: the bound depends on what the earlier ones spent.
Json interim_json(const Comparison& c, const PairResult& pair) {
  const double level = c.alpha / static_cast<double>(pair.judgement.comparisons);
  Json analyses = Json::array();
  for (const auto& analysis : pair.interim_analyses) {
    analyses.push_back({{"seeds", analysis.num_seeds},
                        {"test", stats::to_string(analysis.test)},
                        {"alpha_spent", stats::spent_alpha(level, analysis.num_seeds, c.sequential->maxima.front())},
                        {"statistic", json_number(analysis.observed)},
                        {"bound", maybe(analysis.threshold)},
                        {"crosses", analysis.observed_crosses}});
  }
  return analyses;
}

// The judged effect; for log ratios, their logarithm.
Json effect_json(const stats::PairedResult& p, bool ratio) {
  if (!p.effect) return nullptr;
  const bool typical = p.effect->estimand == stats::Estimand::typical_difference;
  return {{"kind", std::string(typical ? "typical_" : "mean_") + (ratio ? "log_ratio" : "difference")},
          {"value", json_number(p.effect->value)},
          {"interval", interval_json(p.effect->interval)},
          {"skewness", p.effect->skewness}};
}

// variant / reference, where the effect is its logarithm.
Json ratio_json(const stats::Effect& effect) {
  auto limits = effect.interval;
  limits.low = std::exp(limits.low);
  limits.high = std::exp(limits.high);
  return centre_json({std::exp(effect.value), limits});
}

Json pair_json(const Comparison& c, const PairResult& pair) {
  const auto& p = pair.paired;
  const auto& judgement = pair.judgement;
  const bool ratio = p.values == stats::PairedValues::log_ratio;
  const auto of_fixed = [&](const Json& x) { return pair.sequential ? Json(nullptr) : x; };  // of a design without interim analyses
  Json out = {
      {"value", pair.value},
      {"label", shown_value(c, pair.value)},
      {"reference", pair.reference},
      {"reference_label", shown_value(c, pair.reference)},
      {"text", difference_text(c, pair)},
      {"verdict", stats::to_string(judgement.verdict)},
      {"sentence", pair.sequential ? sequential_sentence(c, pair) : stats::verdict_sentence(p, judgement, c.ratio_form)},
      {"seeds", p.num_seeds},
      {"wins", p.wins},
      {"ties", p.ties},
      {"losses", p.losses},
      {"scale", ratio ? "log_ratio" : "difference"},
      {"test", stats::to_string(p.test)},
      {"test_reason", p.test_reason},
      {"p", of_fixed(p.p)},
      {"p_exact", p.exact_p},
      {"p_holm", of_fixed(judgement.p_holm)},
      {"comparisons", judgement.comparisons},
      {"difference", nullptr},  // in the metric's units on every scale; its interval where this is what is judged
      {"effect", effect_json(p, ratio)},
      {"ratio", ratio && p.effect ? ratio_json(*p.effect) : Json(nullptr)},
      {"bad_runs", nullptr},
      {"p_equivalence", of_fixed(maybe(p.p_equivalence))},
      {"p_equivalence_adjusted", of_fixed(maybe(judgement.p_equivalence_adjusted))},
      {"probability_of_improvement",
       {{"paired", p.improvement.paired}, {"interval", interval_json(p.improvement.interval)}, {"all_pairs", p.improvement.all_pairs}}},
      {"chances", Json::array()}};
  if (const auto& d = p.difference)
    out["difference"] = {{"mean", d->mean}, {"sd", d->sd}, {"interval", d->interval ? interval_json(*d->interval) : Json(nullptr)}};
  if (const auto& bad = pair.bad)
    out["bad_runs"] = {{"limit", json_number(bad->limit)},      {"value", bad->variant},
                       {"reference", bad->reference},           {"only_value", bad->only_variant},
                       {"only_reference", bad->only_reference}, {"p_mcnemar", bad->p}};
  if (p.unpaired)
    out["unpaired"] = {
        {"value", p.unpaired->num_variant}, {"reference", p.unpaired->num_reference}, {"p_welch", maybe(p.unpaired->welch_p)}};
  if (p.options.held_out_per_training > 0) out["held_out_per_training"] = p.options.held_out_per_training;
  if (const auto& x = pair.crossed)
    out["crossed"] = {{"values", x->rows}, {"seeds", x->columns}, {"mean", x->value}, {"interval", interval_json(x->interval)}};
  for (const auto& chance : judgement.chances)
    out["chances"].push_back({{"fresh_seeds", chance.num_seeds}, {"chance", chance.overall}, {"chance_if_different", chance.if_different}});
  if (const auto& s = pair.sequential)
    out["sequential"] = {{"looked_at", s->num_analysed},
                         {"different_at", maybe(s->different)},
                         {"negligible_at", maybe(s->negligible)},
                         {"looks", interim_json(c, pair)}};
  return out;
}

Json contrast_json(const Comparison& c, const ContrastResult& contrast) {
  Json out = pair_json(c, contrast.pair);
  const bool is_main = contrast.is_main_effect();
  out["contrast"] = is_main ? "main_effect" : "interaction";
  out["at"] = is_main ? Json(nullptr) : Json(contrast.at);
  out["against"] = is_main ? Json(nullptr) : Json(contrast.against);
  return out;
}

Json tuning_json(const TuningResult& tuned, double alpha) {
  Json out = to_json(tuned);
  out["short_keys"] = Json::array();
  for (const auto& key : tuned.keys) out["short_keys"].push_back(short_name(key, tuned.keys));
  for (std::size_t v = 0; v < tuned.variants.size(); ++v) {
    const auto& variant = tuned.variants[v];
    const auto json = [](const stats::Centre& at) {
      return estimate_json(std::optional(at), &stats::Centre::value, at.interval.low, at.interval.high);
    };
    if (!variant.sensitivity.empty()) out["variants"][v]["sensitivity_estimate"] = json(sensitivity_estimate(variant.sensitivity, alpha));
    if (const auto more = sensitivity_difference(tuned, v, alpha)) out["variants"][v]["more_sensitive_than_first"] = json(*more);
    for (std::size_t k = 0; k < variant.curve.size(); ++k) {
      const auto at = tuned_estimate(variant, variant.curve[k], alpha);
      out["variants"][v]["curve"][k]["estimate"] =
          estimate_json(at, &stats::Centre::value, at ? at->interval.low : 0, at ? at->interval.high : 0);
    }
  }
  return out;
}

Json facet_json(const Comparison& c, const Facet& facet, const std::map<const GroupResult*, std::size_t>& places) {
  Json out = {{"keys", facet.keys},
              {"groups", Json::array()},
              {"pairs", Json::array()},
              {"title", facet_title(c, facet)},
              {"labels", Json::object()}};
  for (const auto& g : facet.groups) out["groups"].push_back(group_json(c, g, places));
  for (const auto* pairs : {&facet.pairs, &facet.further_pairs}) {
    for (const auto& pair : *pairs) out["pairs"].push_back(pair_json(c, pair));
  }
  for (const auto& [key, value] : facet.keys) out["labels"][key] = shown_value(c, key, value);
  return out;
}

}  // namespace

Json answered_json(const Comparison& c) {
  std::string centre = centre_name(c);
  std::replace(centre.begin(), centre.end(), ' ', '_');
  const auto places = overall_places(c);
  Json out = {{"schema_version", 1},
              {"by", c.by},
              {"metric", c.metric},
              {"direction", c.higher_is_better ? "higher" : "lower"},
              {"scale", c.as_ratios ? "log_ratio" : "difference"},
              {"shown", centre},
              {"reference", c.reference},
              {"alpha", c.alpha},
              {"min_effect", c.min_effect},
              {"facets", Json::array()},
              {"notes", c.notes}};
  for (const auto& facet : c.facets) out["facets"].push_back(facet_json(c, facet, places));
  if (!c.over.empty()) out["over"] = c.over;
  if (!c.rate.empty()) out["untuned_rate"] = c.rate;
  if (!c.interaction_key.empty()) {
    out["interaction"] = {{"key", c.interaction_key}, {"contrasts", Json::array()}};
    for (const auto& contrast : c.contrasts) out["interaction"]["contrasts"].push_back(contrast_json(c, contrast));
  }
  out["qualification"] = c.history.qualification;
  out["scope"] = c.scope;
  for (const auto& e : c.history.claims) {
    out["expect"].push_back(
        {{"claim", e.claim}, {"source", e.source}, {"outcome", outcome_of(e)}, {"found", e.found}, {"after_results", e.is_after_results}});
  }
  if (c.tuned) out["tuning"] = tuning_json(*c.tuned, c.alpha);
  if (const auto& s = c.sequential)
    out["sequential"] = {{"maxima", s->maxima}, {"comparisons", s->comparisons}, {"looks", s->sample_sizes}, {"open", s->open}};
  Json keys = {{c.by, shown_key(c, c.by)}};
  if (!c.facets.empty()) {
    for (const auto& [key, value] : c.facets[0].keys) keys[key] = shown_key(c, key);
  }
  out["names"] = {{"keys", keys}, {"reference", shown_value(c, c.reference)}, {"centre", centre_name(c)}};
  out["ratios_as"] = !c.as_ratios ? Json(nullptr) : Json(c.ratio_form == stats::RatioForm::percent ? "percent" : "factor");
  if (c.ladder) out["ladder"] = ladder_json(c);
  out["answer"] = plain_answer(c);
  out["conditions"] = conditions_text(c);
  return out;
}

std::string export_json(const Comparison& c) { return dump_json_lossy(answered_json(c), 2) + "\n"; }

}  // namespace ffn
