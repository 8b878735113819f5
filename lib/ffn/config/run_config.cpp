#include "ffn/config/run_config.hpp"

#include <cctype>
#include <nlohmann/json.hpp>

#include "ffn/config/json_reader.hpp"
#include "ffn/config/json_writer.hpp"
#include "ffn/config/match.hpp"
#include "ffn/config/metrics.hpp"

namespace ffn {

namespace {

bool is_path_safe(const std::string& name) {
  const auto safe = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.' || c == '+' || c == '=';
  };
  for (const char c : name) {
    if (!safe(c)) return false;
  }
  return !name.empty() && name[0] != '.' && name.size() <= 128;
}

}  // namespace

void RunConfig::describe(FieldVisitor& v) {
  v.text({"name", "name of the run's directory"}, name);
  v.integer({"seed", "root seed; initial weights, data order and dropout derive from it"}, seed, at_least(std::int64_t{0}));
  v.one_of({"task", "what is learned"}, task);
  v.group({"model", "the network"}, model);
  v.group({"train", "how it is trained"}, train);
  v.group({"compute", "what it is computed with; no part of the run's identity"}, compute);
  v.require(is_path_safe(name), "name",
            shortened(name) + " is no directory name; use up to 128 letters, digits and -_.+=, the first of them no dot");
  if (const MetricRow* row = train.target ? find_metric_row(train.target->metric) : nullptr) {
    const auto [who, key] = text_of(row->logged_by);
    v.require(is_logged(*row, *this), "train.target.metric",
              std::string("the target metric ") + row->name + " is logged for " + who + " only", {key});
  }
}

RunConfig read_run_config(const Document& document, const std::string& source) {
  RunConfig config;
  Document copy = document;
  copy.tree().erase("$schema");  // an editor's hint, not ours
  JsonReader reader(copy);
  reader.read([&config](FieldVisitor& v) { config.describe(v); });
  resolve_widths(config.model);
  reader.check("/model", [&config](FieldVisitor& v) { require_match(v, config.model); });
  if (!reader.problems.empty()) {
    throw ConfigError(source, std::move(reader.problems), "`ffn-train list keys` shows every key with its default");
  }
  return config;
}

Json resolved_json(const RunConfig& config) { return write_json(config); }

std::string cohort_key(const RunConfig& config) {
  Json json = write_json(config);
  json.erase("name");
  json.erase("seed");
  json["model"]["ffn"].erase("dropout");
  json["train"]["optimizer"].erase("lr");
  json["train"]["optimizer"].erase("weight_decay");
  return dump_json(json);
}

}  // namespace ffn
