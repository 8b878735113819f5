#include "ffn/compare/compare_json.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "ffn/compare/sequential.hpp"
#include "ffn/compare/shown_names.hpp"

namespace ffn {
namespace {

template <class T>
Json maybe(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json finite(double x) { return std::isfinite(x) ? Json(x) : Json(std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf"); }

Json interval(const stats::Interval& i) {
  return {{"low", finite(i.low)},   {"high", finite(i.high)},   {"level", i.level},
          {"low_open", i.low_open}, {"high_open", i.high_open}, {"empty", i.empty()}};
}

// As ratios, variant / reference, where the effect is their logarithm.
Json ratio_json(const stats::PairedResult& p) {
  if (p.values != stats::PairedValues::log_ratio || !p.effect) return nullptr;
  auto limits = p.effect->interval;
  limits.low = std::exp(limits.low);
  limits.high = std::exp(limits.high);
  return {{"value", finite(std::exp(p.effect->value))}, {"interval", interval(limits)}};
}

Json bad_json(const std::optional<stats::BadRuns>& bad) {
  if (!bad) return nullptr;
  return {{"limit", finite(bad->limit)},           {"value", bad->variant},
          {"reference", bad->reference},           {"only_value", bad->only_variant},
          {"only_reference", bad->only_reference}, {"p_mcnemar", bad->p}};
}

// What is judged; of log ratios, their logarithm.
std::string effect_kind(const stats::PairedResult& p) {
  const bool typical = p.effect->estimand == stats::Estimand::typical_difference;
  return std::string(typical ? "typical_" : "mean_") + (p.values == stats::PairedValues::log_ratio ? "log_ratio" : "difference");
}

const char* name_of(ShownCentre shown) {
  return shown == ShownCentre::median ? "median" : shown == ShownCentre::geometric_mean ? "geometric_mean" : "mean";
}

Json group_json(const Comparison& c, const GroupResult& g) {
  Json values = Json::array();
  for (const double value : g.values) values.push_back(finite(value));
  return {{"value", g.value},
          {"label", shown_value(c, g.value)},
          {"runs", g.num_runs},
          {"done", g.num_done},
          {"diverged", g.num_diverged},
          {"failed", g.num_failed},
          {"pending", g.num_pending},
          {"not_measured", g.num_unmeasured},
          {"mean", maybe(g.mean)},
          {"half_width", maybe(g.half_width)},
          {"iqm", g.iqm ? finite(*g.iqm) : Json(nullptr)},
          {"median", g.median ? finite(*g.median) : Json(nullptr)},
          {"shown", g.centre ? Json{{"value", finite(g.centre->value)}, {"interval", interval(g.centre->interval)}} : Json(nullptr)},
          {"hits", g.num_hits},
          {"median_steps_to_target", maybe(g.median_steps)},
          {"restricted_mean_steps_to_target", maybe(g.restricted_mean_steps)},
          {"parameters", g.parameters},
          {"flops_per_token", g.flops_per_token},
          {"train_seconds", g.train_seconds},
          {"seconds_to_target", maybe(g.seconds_to_target)},
          {"values", values}};
}

// The statistic is the sum of the differences in favour of the value, or of their signed ranks; the claim stands from the first interim
// analysis at which its size reaches the bound. No p value: the bound depends on what the earlier ones spent.
Json looks_json(const Comparison& c, const PairResult& pair) {
  const double level = c.alpha / static_cast<double>(pair.judgement.comparisons);
  Json looks = Json::array();
  for (const auto& look : pair.interim_analyses) {
    looks.push_back({{"seeds", look.num_seeds},
                     {"test", stats::to_string(look.test)},
                     {"alpha_spent", stats::spent_alpha(level, look.num_seeds, c.sequential->maxima.front())},
                     {"statistic", finite(look.observed)},
                     {"bound", look.threshold ? finite(*look.threshold) : Json(nullptr)},
                     {"crosses", look.observed_crosses}});
  }
  return looks;
}

Json pair_json(const Comparison& c, const PairResult& pair, stats::RatioForm form) {
  const auto& p = pair.paired;
  Json out = {{"value", pair.value},
              {"reference", pair.reference},
              {"verdict", stats::to_string(pair.judgement.verdict)},
              {"sentence", stats::verdict_sentence(p, pair.judgement, form)},
              {"seeds", p.num_seeds},
              {"wins", p.wins},
              {"ties", p.ties},
              {"losses", p.losses},
              {"test", stats::to_string(p.test)},
              {"test_reason", p.test_reason},
              {"p", p.p},
              {"p_exact", p.exact_p},
              {"p_holm", pair.judgement.p_holm},
              {"comparisons", pair.judgement.comparisons}};
  // In the metric's units on every scale; its interval where this is what is judged.
  out["difference"] = p.difference ? Json{{"mean", p.difference->mean},
                                          {"sd", p.difference->sd},
                                          {"interval", p.difference->interval ? interval(*p.difference->interval) : Json(nullptr)}}
                                   : Json(nullptr);
  out["effect"] = p.effect ? Json{{"kind", effect_kind(p)},
                                  {"value", finite(p.effect->value)},
                                  {"interval", interval(p.effect->interval)},
                                  {"skewness", p.effect->skewness}}
                           : Json(nullptr);
  out["ratio"] = ratio_json(p);
  out["bad_runs"] = bad_json(pair.bad);
  if (p.unpaired)
    out["unpaired"] = {
        {"value", p.unpaired->num_variant}, {"reference", p.unpaired->num_reference}, {"p_welch", maybe(p.unpaired->welch_p)}};
  if (p.options.held_out_per_training > 0) out["held_out_per_training"] = p.options.held_out_per_training;
  if (pair.crossed)
    out["crossed"] = {{"values", pair.crossed->rows},
                      {"seeds", pair.crossed->columns},
                      {"mean", pair.crossed->value},
                      {"interval", interval(pair.crossed->interval)}};
  out["p_equivalence"] = maybe(p.p_equivalence);
  out["p_equivalence_adjusted"] = maybe(pair.judgement.p_equivalence_adjusted);
  out["probability_of_improvement"] = {
      {"paired", p.improvement.paired}, {"interval", interval(p.improvement.interval)}, {"all_pairs", p.improvement.all_pairs}};
  out["chances"] = Json::array();
  for (const auto& chance : pair.judgement.chances)
    out["chances"].push_back({{"fresh_seeds", chance.num_seeds}, {"chance", chance.overall}, {"chance_if_different", chance.if_different}});
  if (pair.sequential) {
    out["sentence"] = sequential_sentence(c, pair);
    out["sequential"] = {{"looked_at", pair.sequential->looked_at},
                         {"different_at", maybe(pair.sequential->different)},
                         {"negligible_at", maybe(pair.sequential->negligible)},
                         {"looks", looks_json(c, pair)}};
    for (const char* key : {"p", "p_holm", "p_equivalence", "p_equivalence_adjusted"})
      out[key] = nullptr;  // of a design without interim analyses
  }
  return out;
}

Json contrast_json(const Comparison& c, const ContrastResult& contrast) {
  Json out = pair_json(c, contrast.pair, c.ratio_form);
  out["contrast"] = contrast.is_main_effect() ? "main_effect" : "interaction";
  out["at"] = contrast.is_main_effect() ? Json(nullptr) : Json(contrast.at);
  out["against"] = contrast.is_main_effect() ? Json(nullptr) : Json(contrast.against);
  return out;
}

Json sequential_json(const SequentialProgress& s) {
  return {{"maxima", s.maxima}, {"comparisons", s.comparisons}, {"looks", s.sample_sizes}, {"open", s.open}};
}

}  // namespace

Json comparison_json(const Comparison& c) {
  Json facets = Json::array();
  for (const auto& facet : c.facets) {
    Json groups = Json::array(), pairs = Json::array();
    for (const auto& g : facet.groups) groups.push_back(group_json(c, g));
    for (const auto* some : {&facet.pairs, &facet.further_pairs})
      for (const auto& p : *some) pairs.push_back(pair_json(c, p, c.ratio_form));
    facets.push_back({{"keys", facet.keys}, {"groups", groups}, {"pairs", pairs}});
  }
  Json out = {{"schema_version", 1},
              {"by", c.by},
              {"metric", c.metric},
              {"direction", c.higher_is_better ? "higher" : "lower"},
              {"scale", c.as_ratios ? "log_ratio" : "difference"},
              {"shown", name_of(c.shown)},
              {"reference", c.reference},
              {"alpha", c.alpha},
              {"min_effect", c.min_effect},
              {"facets", facets},
              {"notes", c.notes}};
  if (!c.over.empty()) out["over"] = c.over;
  if (!c.rate.empty()) out["untuned_rate"] = c.rate;
  if (!c.interaction_key.empty()) {
    Json contrasts = Json::array();
    for (const auto& contrast : c.contrasts) contrasts.push_back(contrast_json(c, contrast));
    out["interaction"] = {{"key", c.interaction_key}, {"contrasts", contrasts}};
  }
  out["qualification"] = c.history.qualification;
  out["scope"] = c.scope;
  for (const auto& e : c.history.claims) {
    out["expect"].push_back(
        {{"claim", e.claim}, {"source", e.source}, {"outcome", outcome_of(e)}, {"found", e.found}, {"after_results", e.is_after_results}});
  }
  if (c.tuned) out["tuning"] = to_json(*c.tuned);
  if (c.sequential) out["sequential"] = sequential_json(*c.sequential);
  return out;
}

}  // namespace ffn
