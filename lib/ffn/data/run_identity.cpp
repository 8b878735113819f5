#include "ffn/data/run_identity.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "ffn/base/hash.hpp"
#include "ffn/config/json_writer.hpp"
#include "ffn/config/younger_keys.hpp"
#include "ffn/data/corpus.hpp"
#include "ffn/data/images.hpp"

namespace ffn {

namespace {

// The paths among the fields of a task, as they are described.
class FileVisitor final : public FieldVisitor {
 public:
  std::vector<DataFile> files;

  void path(const Field& field, std::string& path) override { files.push_back({field.name, path}); }
  void integer(const Field&, std::int64_t&, Bounds<std::int64_t>) override {}
  void real(const Field&, double&, Bounds<double>) override {}
  void flag(const Field&, bool&) override {}
  void text(const Field&, std::string&) override {}
  void choice(const Field&, std::string&, const std::vector<Choice>&) override {}
  void json(const Field&, Json&, Shape) override {}
  void optional_integer(const Field&, std::optional<std::int64_t>&, Bounds<std::int64_t>) override {}
  void optional_real(const Field&, std::optional<double>&, Bounds<double>) override {}
  void section(const Field&, const Describe&) override {}
  void optional_section(const Field&, const OptionalSection&) override {}
  void union_section(const Field&, const Union&) override {}
};

}  // namespace

std::vector<DataFile> data_files(TaskConfig task) {
  FileVisitor visitor;
  std::visit([&](auto& c) { c.describe(visitor); }, task);
  return visitor.files;
}

Json identity_json(const RunConfig& config, const std::string& text) {
  RunConfig same = config;
  if (FfnSize* size = size_of(same.model.ffn)) {  // d_ff 32 and expansion 4 of 8 are one layer
    size->d_ff = size->hidden_width(config.model.d_model);
    size->expansion.reset();
    size->match = "none";
    size->match_tolerance = 0;
    size->match_multiple_of = 1;
  }
  Json json = write_json(same);
  json.erase("name");
  json.erase("label");
  json.erase("compute");
  json.erase("log");
  json.erase("keep");
  json["train"].erase("checkpoint_every");
  for (Json* layer : {&json["model"]["ffn"], &json["model"]["ffn"]["expert"]}) {  // written out: config/trained_activation.hpp
    if (!layer->is_object()) continue;
    layer->erase("activation_parameters");
    layer->erase("written_from");
  }
  json["model"].erase("init_from");  // its hash stands for it
  if (same.model.init_hash.empty()) json["model"].erase("init_hash");
  if (same.model.attention && same.model.positions != "rotary") {  // as before there were any
    for (const char* key : {"rotary_base", "rotary_layout"}) json["model"]["attention"].erase(key);
  }
  if (same.model.init_scale->empty()) json["model"].erase("init_scale");                             // likewise
  if (json["train"]["optimizer"]["lr_scale"].empty()) json["train"]["optimizer"].erase("lr_scale");  // likewise
  erase_younger_keys(json);
  if (const auto* task = std::get_if<FunctionConfig>(&config.task)) {
    json["task"].erase("name");                                                         // what it stands for is there
    if (task->features.empty()) json["task"].erase("features");                         // as before there were any
    if (task->group.empty() || !same.train.layer_metrics) json["task"].erase("group");  // likewise; and nothing is measured by them
  }
  if (std::holds_alternative<SequenceConfig>(config.task)) json["task"].erase("name");  // likewise
  if (same.train.target && !same.train.target->stop) {                                  // likewise
    json["train"]["target"].erase("stop");
    json["train"]["target"].erase("patience");
  }
  std::istringstream hashes(text);
  for (const auto& file : data_files(config.task)) {
    std::string hash;
    std::getline(hashes, hash, ',');
    json["task"][file.key] = hash;
  }
  if (const auto* task = std::get_if<TextConfig>(&config.task); task && !task->per_seed()) json["task"].erase("split");  // likewise
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

std::string data_hash_now(const RunConfig& config) {
  std::string hashes;
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
