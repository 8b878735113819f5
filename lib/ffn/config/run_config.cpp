#include "ffn/config/run_config.hpp"

#include <cctype>
#include <nlohmann/json.hpp>

#include "ffn/config/json_reader.hpp"
#include "ffn/config/json_writer.hpp"
#include "ffn/core/hash.hpp"

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
  v.require(is_path_safe(name), "name",
            shortened(name) + " is no directory name; use up to 128 letters, digits and -_.+=, the first of them no dot");
  const auto* text = std::get_if<TextConfig>(&task);
  const bool text_metric = train.target && (train.target->metric == "val/bits_per_char" || train.target->metric == "val/perplexity");
  v.require(text || !text_metric, "train.target.metric",
            "the target metric " + (train.target ? train.target->metric : "") + " exists for text tasks only", {"task.kind"});
}

RunConfig read_run_config(const Document& document, const std::string& source) {
  RunConfig config;
  Document copy = document;
  copy.tree().erase("$schema");  // an editor's hint, not ours
  JsonReader reader(copy);
  reader.read([&config](FieldVisitor& v) { config.describe(v); });
  if (!reader.problems.empty()) {
    throw ConfigError(source, std::move(reader.problems), "`ffn-train list keys` shows every key with its default");
  }
  return config;
}

Json resolved_json(const RunConfig& config) { return write_json(config); }

std::string run_identity(const RunConfig& config) {
  RunConfig same = config;
  const auto settle_width = [&](auto& ffn) {  // d_ff 32 and expansion 4 of 8 are one layer
    if constexpr (std::is_base_of_v<FfnSize, std::decay_t<decltype(ffn)>>) {
      ffn.d_ff = ffn.hidden_width(config.model.d_model);
      ffn.expansion.reset();
      ffn.match = "none";
      ffn.match_tolerance = 0;
    }
  };
  std::visit(settle_width, same.model.ffn);
  Json json = write_json(same);
  json.erase("name");
  json["train"].erase("checkpoint_every");
  if (const auto* text = std::get_if<TextConfig>(&config.task)) json["task"]["file"] = file_identity(text->file);
  return sha256_hex(dump_json(json)).substr(0, 16);
}

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
