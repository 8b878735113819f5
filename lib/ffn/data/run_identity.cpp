#include "ffn/data/run_identity.hpp"

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "ffn/base/hash.hpp"
#include "ffn/config/config_values.hpp"
#include "ffn/data/corpus.hpp"
#include "ffn/data/images.hpp"

namespace ffn {

std::vector<DataFile> data_files(TaskConfig task) {
  const auto found = config_values([&](FieldVisitor& v) { std::visit([&](auto& c) { c.describe(v); }, task); });
  std::vector<DataFile> files;
  for (const auto& key : found.files) files.push_back({key, found.values.at(key)->get<std::string>()});
  return files;
}

namespace {

bool starts_with(const std::string& text, const char* beginning) { return text.rfind(beginning, 0) == 0; }

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// Keys that make no other run: names, what computes and logs, and keys that others stand for.
bool is_left_out(const std::string& path) {
  static const std::set<std::string> kNames{
      "name", "label", "keep", "train.checkpoint_every", "model.init_from", "task[function].name", "task[sequence].name"};
  return kNames.count(path) > 0 || starts_with(path, "compute.") || starts_with(path, "log.") ||
         ends_with(path, ".activation_parameters") || ends_with(path, ".written_from");  // written out: config/trained_activation.hpp
}

std::string shortened_hash(const Json& json) { return sha256_hex(dump_json(json)).substr(0, 16); }

}  // namespace

namespace {

// Without what another place or time changes: where it runs, and for how long it may.
Json identity_of_command(const RunConfig& config, const std::string& files_hash) {
  const CommandConfig& command = *config.command;
  Json json = {{"command", *command.command}, {"files", files_hash}, {"seed", config.seed}};
  for (const auto& [section, values] :
       {std::pair("keys", &command.keys), {"metrics", &command.metrics}, {"environment", &command.environment}}) {
    for (const auto& [key, value] : leaves_of(**values)) json[std::string(section) + "." + key] = *value;
  }
  return json;
}

}  // namespace

Json identity_json(const RunConfig& config, const std::string& data_hash) {
  if (config.command) return identity_of_command(config, data_hash);
  RunConfig same = config;
  same.model.match_expansion.reset();             // its d_model is solved
  if (FfnSize* size = size_of(same.model.ffn)) {  // d_ff 32 and expansion 4 of 8 are one layer
    size->d_ff = size->hidden_width(config.model.d_model);
    size->expansion.reset();
    size->match = "none";
    size->match_tolerance = FfnSize().match_tolerance;
    size->match_multiple_of = FfnSize().match_multiple_of;
  }
  auto [values, files] = config_values([&](FieldVisitor& v) { same.describe(v); });
  std::istringstream hashes(data_hash);
  for (const auto& file : files) {  // all are the task's
    std::string hash;
    std::getline(hashes, hash, ',');
    values[file] = Json(hash);
  }
  Json json = Json::object();
  const auto defaults = default_values(&values);
  for (const auto& [path, value] : values) {
    const auto known = defaults.find(path);
    const bool differs = known == defaults.end() || *known->second != *value;
    if (!is_left_out(path) && (differs || path == "seed")) json[path] = *value;
  }
  return json;
}

std::vector<std::string> run_identities(const RunConfig& config, const std::string& data_hash, const std::vector<std::int64_t>& seeds) {
  Json json = identity_json(config, data_hash);
  std::vector<std::string> identities;
  identities.reserve(seeds.size());
  for (const auto seed : seeds) {
    json["seed"] = seed;
    identities.push_back(shortened_hash(json));
  }
  return identities;
}

std::string run_identity(const RunConfig& config, const std::string& data_hash) {
  return run_identities(config, data_hash, {config.seed})[0];
}

std::string data_hash_now(const RunConfig& config) {
  std::string hashes;
  if (config.command) {
    for (const auto& file : config.command->program_files()) hashes += (hashes.empty() ? "" : ",") + bytes_identity(file, "file");
    return hashes;
  }
  for (const auto& file : data_files(config.task)) {
    const bool is_table = std::holds_alternative<TableConfig>(config.task);
    hashes += (hashes.empty() ? "" : ",") + (std::holds_alternative<ImagesConfig>(config.task)
                                                 ? read_images(file.path)->sha256
                                                 : file_identity(file.path, is_table ? "table" : "text file"));
  }
  return hashes;
}

std::string run_identity(const RunConfig& config) { return run_identity(config, data_hash_now(config)); }

}  // namespace ffn
