#include "ffn/data/starts.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "ffn/base/error.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/hash.hpp"
#include "ffn/base/safetensors.hpp"
#include "ffn/base/text.hpp"
#include "ffn/data/run_identity.hpp"
#include "ffn/data/table.hpp"

namespace ffn {

namespace {

/// Identifies the held-out part of a task's data, without the data. Equal descriptions hold out the same part; empty if examples are
/// drawn without end.
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

// Whether they may draw the same examples, but for the data: functions by what they compute.
bool same_examples(const TaskConfig& a, const TaskConfig& b) {
  const auto *one = std::get_if<FunctionConfig>(&a), *other = std::get_if<FunctionConfig>(&b);
  if (!one || !other) return a.index() == b.index();
  return *one->inputs == *other->inputs && one->features == other->features && one->label == other->label && one->target == other->target;
}

std::string held_out_part(const RunConfig& config) { return std::visit(HeldOutPart{config.seed}, config.task); }

}  // namespace

Starts::Start& Starts::read(const std::string& path) {
  const auto known = known_.find(path);
  if (known != known_.end()) return known->second;
  const std::string bytes = read_file(path, "file of weights", ExitCode::data, std::uintmax_t{1} << 36);
  Start start{sha256_hex(bytes), parse_safetensors(bytes, path).metadata, {}, {}};
  if (const auto text = start.metadata.find("config"); text != start.metadata.end() && start.metadata.count("identity") > 0)
    start.trained = read_run_config(parse_document(text->second, path, std::filesystem::path(path).parent_path().string()), path);
  return known_[path] = std::move(start);
}

void Starts::take(RunConfig& config, const std::string& data) {
  ModelConfig& model = config.model;
  if (model.init_from.empty()) return;
  const std::string path = model.initial_weights(config.seed);
  if (model.starts_per_seed() && !path_exists(path))
    throw DataError("model.init_from: there is no run of seed " + std::to_string(config.seed) + " at " + model.init_from,
                    "train it there, choose seeds that it has, or start all from one run: model.init_from=RUN");
  Start& start = read(path);
  if (model.starts_per_seed()) model.init_hash = start.hash;
  const std::string here = held_out_part(config);
  if (here.empty() || !start.trained || !same_examples(start.trained->task, config.task)) return;
  const std::string there = held_out_part(*start.trained);
  if (there == here) return;
  const auto known = start.is_of.find(data);
  const bool is_of = known != start.is_of.end() ? known->second : run_identity(*start.trained, data) == start.metadata.at("identity");
  start.is_of[data] = is_of;
  if (!is_of) return;
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
