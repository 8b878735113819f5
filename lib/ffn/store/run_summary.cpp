// summary.json: what a run came to.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "ffn/config/metrics.hpp"
#include "ffn/store/json_text.hpp"
#include "ffn/store/run_files.hpp"

namespace ffn {

using record_detail::count_from;
using record_detail::facts_from;
using record_detail::facts_json;
using record_detail::number_from;
using record_detail::number_json;
using record_detail::seconds_from;
using record_detail::value_from;

namespace {

const char* end_name(RunEnd end) {
  switch (end) {
    case RunEnd::done:
      return "done";
    case RunEnd::diverged:
      return "diverged";
    case RunEnd::interrupted:
      return "interrupted";
  }
  return "?";
}

RunEnd end_from(const std::string& name, const std::string& source) {
  for (const RunEnd end : {RunEnd::done, RunEnd::diverged, RunEnd::interrupted}) {
    if (name == end_name(end)) return end;
  }
  throw DataError(source + ": unknown end \"" + name + "\"");
}

std::optional<bool> higher_is_better(const std::string& metric) {
  for (const auto& row : metric_catalogue()) {
    if (metric == row.name) return row.higher_is_better;
  }
  return std::nullopt;
}

void take(MetricSummary& summary, double value, std::int64_t step, std::optional<bool> higher, bool counts) {
  summary.final_value = value;
  if (!higher || !counts || !std::isfinite(value)) return;
  const bool better = !summary.best || (*higher ? value > summary.best->value : value < summary.best->value);
  if (better) summary.best = MetricSummary::Best{value, step};
}

Json hit_json(const Hit& hit) { return {{"step", hit.step}, {"time_s", hit.time_s}, {"tokens", hit.tokens}}; }

Json divergence_json(const Divergence& d) {
  return {{"step", d.step},
          {"loss", number_json(d.loss)},
          {"learning_rate", number_json(d.learning_rate)},
          {"grad_norm", number_json(d.grad_norm)}};
}

Json metric_json(const MetricSummary& metric) {
  Json json = {{"final", number_json(metric.final_value)}, {"best", nullptr}, {"best_step", nullptr}};
  if (metric.best) {
    json["best"] = metric.best->value;
    json["best_step"] = metric.best->step;
  }
  return json;
}

MetricSummary metric_from(const std::string& name, const Json& json, std::int64_t steps) {
  MetricSummary metric{name, value_from(json.at("final")), {}};
  if (!json.at("best").is_null()) metric.best = MetricSummary::Best{value_from(json.at("best")), count_from(json.at("best_step"), steps)};
  return metric;
}

}  // namespace

const MetricSummary* RunSummary::find(const std::string& metric) const {
  const auto found = std::find_if(metrics.begin(), metrics.end(), [&](const MetricSummary& m) { return m.name == metric; });
  return found == metrics.end() ? nullptr : &*found;
}

std::string engine_of(const std::vector<std::string>& computed_by) {
  const std::string last = computed_by.empty() ? "fused" : computed_by.back();  // version 0.1 had the fused engine alone
  return last.substr(0, last.find(','));
}

bool computed_as_asked(const ComputeConfig& compute, const std::vector<std::string>& computed_by) {
  return compute.engine == "auto" || engine_of(computed_by) == compute.engine;
}

void MetricTally::add(const Evaluation& evaluation) {
  last_step_ = evaluation.step;
  tokens_ = evaluation.tokens;
  // An accuracy of outputs that are no numbers is none, though it is a number.
  const bool counts = std::all_of(evaluation.metrics.begin(), evaluation.metrics.end(),
                                  [](const auto& m) { return m.first != metric::kValLoss.name || std::isfinite(m.second); });
  for (const auto& [name, value] : evaluation.metrics) {
    auto metric = std::find_if(metrics_.begin(), metrics_.end(), [&wanted = name](const auto& m) { return m.name == wanted; });
    if (metric == metrics_.end()) metric = metrics_.insert(metric, MetricSummary{name, value, {}});
    take(*metric, value, evaluation.step, higher_is_better(name), counts);
  }
}

RunSummary summarize(const std::string& identity, const Cost& cost, const MetricTally& tally, const RunResult& result) {
  RunSummary out;
  out.identity = identity;
  out.cost = cost;
  out.end = result.end;
  out.steps = result.steps;
  out.train_seconds = result.train_seconds;
  out.hit = result.hit;
  out.divergence = result.divergence;
  out.computed_by = result.computed_by;
  out.tokens = tally.tokens();
  out.metrics = tally.metrics();
  return out;
}

Json summary_json(const RunSummary& summary) {
  Json metrics = Json::object();
  for (const auto& metric : summary.metrics) metrics[metric.name] = metric_json(metric);
  Json files = Json::object();
  for (const auto& [name, facts] : summary.files) files[name] = facts_json(facts);
  return {{"schema_version", kSchemaVersion},
          {"identity", summary.identity},
          {"end", end_name(summary.end)},
          {"steps", summary.steps},
          {"tokens", summary.tokens},
          {"train_seconds", summary.train_seconds},
          {"parameters", summary.cost.parameters},
          {"active_parameters", summary.cost.active_parameters},
          {"flops_per_token", summary.cost.flops},
          {"computed_by", summary.computed_by},
          {"metrics", std::move(metrics)},
          {"hit", summary.hit ? hit_json(*summary.hit) : Json(nullptr)},
          {"divergence", summary.divergence ? divergence_json(*summary.divergence) : Json(nullptr)},
          {"files", std::move(files)}};
}

RunSummary parse_summary(const std::string& text, const std::string& source) {
  RunSummary out;
  record_detail::read_json_text(text, source, [&](const Json& json) {
    json.at("identity").get_to(out.identity);
    out.end = end_from(json.at("end").get<std::string>(), source);
    out.steps = count_from(json.at("steps"));
    out.tokens = count_from(json.at("tokens"));
    out.train_seconds = seconds_from(json.at("train_seconds"));
    out.cost.parameters = count_from(json.at("parameters"));
    out.cost.active_parameters = count_from(json.at("active_parameters"));
    out.cost.flops = count_from(json.at("flops_per_token"));
    out.computed_by = json.value("computed_by", std::vector<std::string>{});
    for (const auto& [name, metric] : json.at("metrics").items()) out.metrics.push_back(metric_from(name, metric, out.steps));
    if (const Json& hit = json.at("hit"); !hit.is_null()) {
      out.hit = Hit{count_from(hit.at("step"), out.steps), seconds_from(hit.at("time_s")), count_from(hit.at("tokens"))};
    }
    if (const Json& d = json.at("divergence"); !d.is_null()) {
      out.divergence = Divergence{count_from(d.at("step"), out.steps), number_from(d.at("loss")), number_from(d.at("learning_rate")),
                                  number_from(d.at("grad_norm"))};
    }
    if (json.contains("files")) {
      for (const auto& [name, facts] : json["files"].items()) out.files[name] = facts_from(facts);
    }
  });
  return out;
}

}  // namespace ffn
