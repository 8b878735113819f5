#include "ffn/data/run_identity.hpp"

#include <nlohmann/json.hpp>

#include "ffn/base/hash.hpp"
#include "ffn/config/json_writer.hpp"
#include "ffn/data/corpus.hpp"

namespace ffn {

Json identity_json(const RunConfig& config, const std::string& text) {
  RunConfig same = config;
  if (FfnSize* size = size_of(same.model.ffn)) {  // d_ff 32 and expansion 4 of 8 are one layer
    size->d_ff = size->hidden_width(config.model.d_model);
    size->expansion.reset();
    size->match = "none";
    size->match_tolerance = 0;
  }
  Json json = write_json(same);
  json.erase("name");
  json.erase("label");
  json.erase("compute");
  json.erase("log");
  json.erase("keep");
  json["train"].erase("checkpoint_every");
  if (!same.train.layer_metrics) json["train"].erase("layer_metrics");  // as before there were any
  if (const auto* moe = std::get_if<MoeConfig>(&same.model.ffn); moe && !moe->expert)
    json["model"]["ffn"].erase("expert");  // as before there were any
  if (const auto* task = std::get_if<TextConfig>(&config.task)) {
    json["task"]["file"] = text;
    if (!task->per_seed()) json["task"].erase("split");  // as before there were any
  }
  return json;
}

namespace {

std::string shortened_hash(const Json& json) { return sha256_hex(dump_json(json)).substr(0, 16); }

}  // namespace

std::string config_identity(const RunConfig& config) {
  Json json = identity_json(config, "");
  json.erase("seed");
  return shortened_hash(json);
}

std::vector<std::string> run_identities(const RunConfig& config, const std::string& text, const std::vector<std::int64_t>& seeds) {
  Json json = identity_json(config, text);
  std::vector<std::string> identities;
  identities.reserve(seeds.size());
  for (const auto seed : seeds) {
    json["seed"] = seed;
    identities.push_back(shortened_hash(json));
  }
  return identities;
}

std::string run_identity(const RunConfig& config, const std::string& text) { return run_identities(config, text, {config.seed})[0]; }

std::string text_now(const RunConfig& config) {
  const auto* text = std::get_if<TextConfig>(&config.task);
  return text ? file_identity(text->file) : "";
}

std::string run_identity(const RunConfig& config) { return run_identity(config, text_now(config)); }

}  // namespace ffn
