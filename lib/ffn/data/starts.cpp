#include "ffn/data/starts.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "ffn/base/error.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/hash.hpp"
#include "ffn/base/safetensors.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/data/run_identity.hpp"
#include "ffn/data/table.hpp"

namespace ffn {

namespace {

/// What is held out of a task's data, all but the data: equal where it is the same; empty where examples are drawn without end.
struct HeldOutPart {
  std::int64_t seed;

  std::string part(bool drawn_per_seed, double fraction, const std::string& split) const {
    return split + ", " + dump_json(Json(fraction)) + " of it" + (drawn_per_seed ? ", drawn by seed " + std::to_string(seed) : "");
  }
  std::string operator()(const TableConfig& c) const {
    return part(c.split == "per_seed", c.validation_fraction.value_or(TableConfig::kDefaultFraction), "split " + c.split);
  }
  std::string operator()(const TextConfig& c) const { return part(c.per_seed(), c.validation_fraction, "split " + c.split); }
  std::string operator()(const FunctionConfig& c) const { return c.held_out > 0 ? part(true, c.held_out, "held_out") : ""; }
  template <class Other>
  std::string operator()(const Other&) const {
    return "";
  }
};

std::string held_out_part(const RunConfig& config) { return std::visit(HeldOutPart{config.seed}, config.task); }

}  // namespace

const Starts::Start& Starts::read(const std::string& path) {
  const auto known = known_.find(path);
  if (known != known_.end()) return known->second;
  const std::string bytes = read_file(path, "file of weights", ExitCode::data, std::uintmax_t{1} << 36);
  return known_[path] = {sha256_hex(bytes), parse_safetensors(bytes, path).metadata};
}

void Starts::take(RunConfig& config, const std::string& data) {
  ModelConfig& model = config.model;
  if (model.init_from.empty()) return;
  const std::string path = model.initial_weights(config.seed);
  if (model.starts_per_seed() && !path_exists(path))
    throw DataError("model.init_from: there is no run of seed " + std::to_string(config.seed) + " at " + model.init_from,
                    "train it there, choose seeds that it has, or start all from one run: model.init_from=RUN");
  const Start& start = read(path);
  if (model.starts_per_seed()) model.init_hash = start.hash;
  const auto text = start.metadata.find("config"), identity = start.metadata.find("identity");
  const std::string here = held_out_part(config);
  if (here.empty() || text == start.metadata.end() || identity == start.metadata.end()) return;
  const RunConfig trained = read_run_config(parse_document(text->second, path, std::filesystem::path(path).parent_path().string()), path);
  const std::string there = held_out_part(trained);
  if (there == here || trained.task.index() != config.task.index() || run_identity(trained, data) != identity->second) return;
  throw DataError(
      "model.init_from: " + path + " was trained on a part of what this run holds out: it held out " + there + ", this run " + here,
      "start each seed from its own, with the same split: model.init_from=STUDY, whose seed K then starts seed K");
}

std::string other_names(const std::map<std::string, std::string>& start, const std::map<std::string, std::string>& task) {
  for (const auto& [key, here] : task) {
    const auto there = start.find(key);
    if (there == start.end() || there->second == here) continue;
    if (key != "table") return "it was trained with " + key + " " + shortened(there->second) + ", this run has " + shortened(here);
    const auto named = [](const DataColumn& column) { return column.name + (column.is_number() ? "" : " (" + join(column.values) + ")"); };
    const auto names_of = [&](const DataTable& table) {
      std::vector<std::string> names;
      for (const auto& column : table.inputs) names.push_back(named(column));
      names.push_back("to " + (table.target.is_number() ? "a number" : join(table.target.values)));
      return join(names);
    };
    const auto from = names_of(trained_table(start).columns), to = names_of(trained_table(task).columns);
    if (from != to) return "it reads " + from + "; this run reads " + to;
  }
  return "";
}

}  // namespace ffn
