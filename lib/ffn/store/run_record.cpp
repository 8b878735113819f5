#include "ffn/store/run_record.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "ffn/config/metrics.hpp"
#include "ffn/store/json_text.hpp"

namespace ffn {

using store::count_from;
using store::facts_from;
using store::facts_json;
using store::number_from;
using store::number_json;
using store::seconds_from;
using store::value_from;

namespace {

// In the order of RunState and RunEnd.
constexpr const char* kStates[] = {"pending", "running", "done", "diverged", "failed", "interrupted"};
constexpr const char* kEnds[] = {"done", "diverged", "interrupted", "failed"};

template <class Enum, std::size_t n>
Enum enum_from(const char* const (&names)[n], const std::string& name, const std::string& source, const char* what) {
  const auto* const found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names)) throw DataError(source + ": unknown " + what + " \"" + name + "\"");
  return static_cast<Enum>(found - std::begin(names));
}

std::optional<bool> higher_is_better(const std::string& metric) {
  for (const auto& row : metric_catalogue()) {
    if (metric == row.name) return row.higher_is_better;
  }
  return find_metric_row(metric) ? std::nullopt : usual_direction(metric);
}

void take(MetricSummary& summary, double value, std::int64_t step, std::optional<bool> higher, bool counts) {
  summary.final_value = value;
  if (step == 0 && std::isfinite(value)) summary.first = value;
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
  if (metric.first) json["first"] = *metric.first;
  if (metric.best) {
    json["best"] = metric.best->value;
    json["best_step"] = metric.best->step;
  }
  return json;
}

MetricSummary metric_from(const std::string& name, const Json& json, std::int64_t steps) {
  MetricSummary metric{name, value_from(json.at("final")), {}};
  if (!json.at("best").is_null()) metric.best = MetricSummary::Best{value_from(json.at("best")), count_from(json.at("best_step"), steps)};
  if (json.contains("first")) metric.first = value_from(json.at("first"));
  return metric;
}

RunSummary summary_from(const Json& json, const std::string& source) {
  RunSummary out;
  out.end = enum_from<RunEnd>(kEnds, json.at("end").get<std::string>(), source, "end");
  out.steps = count_from(json.at("steps"));
  out.tokens = count_from(json.at("tokens"));
  out.train_seconds = seconds_from(json.at("train_seconds"));
  out.cost.parameters = count_from(json.at("parameters"));
  out.cost.active_parameters = count_from(json.at("active_parameters"));
  out.cost.flops = count_from(json.at("flops_per_token"));
  out.computed_by = json.at("computed_by").get<std::vector<std::string>>();
  for (const auto& [name, metric] : json.at("metrics").items()) out.metrics.push_back(metric_from(name, metric, out.steps));
  if (const Json& hit = json.at("hit"); !hit.is_null())
    out.hit = Hit{count_from(hit.at("step"), out.steps), seconds_from(hit.at("time_s")), count_from(hit.at("tokens"))};
  if (const Json& d = json.at("divergence"); !d.is_null())
    out.divergence = Divergence{count_from(d.at("step"), out.steps), number_from(d.at("loss")), number_from(d.at("learning_rate")),
                                number_from(d.at("grad_norm"))};
  for (const auto& [name, facts] : json.at("files").items()) out.files[name] = facts_from(facts);
  return out;
}

}  // namespace

const char* to_string(RunState state) { return kStates[static_cast<std::size_t>(state)]; }

const MetricSummary* RunSummary::find(const std::string& metric) const {
  const auto found = std::find_if(metrics.begin(), metrics.end(), [&](const MetricSummary& m) { return m.name == metric; });
  return found == metrics.end() ? nullptr : &*found;
}

std::string engine_of(const std::vector<std::string>& computed_by) {
  const std::string last = computed_by.empty() ? "" : computed_by.back();
  return last.substr(0, last.find(','));
}

bool computed_as_asked(const ComputeConfig& compute, const std::vector<std::string>& computed_by) {
  return compute.engine == "auto" || engine_of(computed_by) == compute.engine;
}

void MetricTally::add(const Evaluation& evaluation) {
  last_step_ = evaluation.step;
  tokens_ = evaluation.tokens;
  // An accuracy of outputs that are not finite is none, though it is a number.
  const bool counts = std::all_of(evaluation.metrics.begin(), evaluation.metrics.end(),
                                  [](const auto& m) { return m.first != metric::kValLoss.name || std::isfinite(m.second); });
  for (const auto& [name, computed] : evaluation.metrics) {
    const double value = store::value_of_metric(computed);
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
  Json metrics = Json::object(), files = Json::object();
  for (const auto& metric : summary.metrics) metrics[metric.name] = metric_json(metric);
  for (const auto& [name, facts] : summary.files) files[name] = facts_json(facts);
  return {{"end", kEnds[static_cast<std::size_t>(summary.end)]},
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

std::string record_text(RunRecord record) {
  Json json = {{"schema_version", kSchemaVersion},
               {"identity", record.identity},
               {"state", to_string(record.state)},
               {"reason", record.reason},
               {"step", record.step},
               {"updated", utc_now()},
               {"host", host_name()},
               {"pid", ::getpid()},
               {"tokens_per_step", record.tokens_per_step}};
  if (!record.text.empty()) json["text"] = record.text;
  json["config"] = *record.config;
  json["summary"] = record.summary ? summary_json(*record.summary) : Json(nullptr);
  json["sessions"] = *record.sessions;
  return store::sealed_text(json);
}

RunRecord parse_record(const std::string& text, const std::string& source) {
  RunRecord out;
  store::read_json_text(text, source, [&](const Json& json) {
    json.at("identity").get_to(out.identity);
    out.state = enum_from<RunState>(kStates, json.at("state").get<std::string>(), source, "state");
    json.at("reason").get_to(out.reason);
    out.step = count_from(json.at("step"));
    json.at("updated").get_to(out.updated);
    json.at("host").get_to(out.host);
    out.pid = count_from(json.at("pid"));
    out.tokens_per_step = count_from(json.at("tokens_per_step"), std::int64_t{1} << 40);
    out.text = json.value("text", std::string());
    out.config = json.at("config");
    out.sessions = json.at("sessions");
    if (!out.config->is_object() || !out.sessions->is_array()) throw DataError(source + ": its config or its sessions are missing");
    if (const Json& summary = json.at("summary"); !summary.is_null()) {
      out.summary = summary_from(summary, source);
      out.summary->identity = out.identity;
    }
    const bool may_have_summary = is_finished(out.state) || out.state == RunState::failed;
    if (out.summary ? !may_have_summary : is_finished(out.state))
      throw DataError(source + ": its state and its summary contradict each other");
  });
  return out;
}

}  // namespace ffn
