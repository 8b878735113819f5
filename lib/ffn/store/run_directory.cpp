#include "ffn/store/run_directory.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "ffn/base/checksum.hpp"
#include "ffn/base/marked_names.hpp"
#include "ffn/base/safetensors.hpp"
#include "ffn/config/tuning.hpp"
#include "ffn/data/run_identity.hpp"
#include "ffn/data/task.hpp"
#include "ffn/store/json_text.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

constexpr std::uintmax_t kMaxRecordBytes = 64 << 20;  // it has a few kB
constexpr const char* kSeed = "seed-";

void remove_if_there(const fs::path& path) {
  std::error_code error;
  fs::remove(path, error);
  if (error) throw SystemError("cannot remove " + path.string() + ": " + error.message());
}

bool leads_to_directory(const DirectoryEntry& entry) {
  return entry.type == fs::file_type::directory || (entry.type == fs::file_type::symlink && directory_exists(entry.path));
}

}  // namespace

std::string run_directory_name(std::int64_t seed, const std::string& identity) {
  return kSeed + std::to_string(seed) + "." + identity.substr(0, kIdentityDigits);
}

bool is_run_directory_name(const std::string& name) {
  const auto dot = name.rfind('.');
  return name.rfind(kSeed, 0) == 0 && dot != std::string::npos && is_short_identity(name.substr(dot + 1));
}

std::vector<fs::path> run_places(const fs::path& study, const std::vector<RunPlace>& runs) {
  std::vector<fs::path> out;
  std::set<fs::path> planned, there;
  std::set<std::string> labels;
  for (const auto& run : runs) {
    out.push_back(study / run.label / run_directory_name(run.seed, run.identity));
    planned.insert(out.back());
    if (!labels.insert(run.label).second) continue;
    for (const auto& entry : entries_of(study / run.label)) there.insert(entry.path);
  }
  if (std::all_of(out.begin(), out.end(), [&](const fs::path& place) { return there.count(place) > 0; })) return out;
  std::map<std::string, fs::path> elsewhere;  // by the name of the run's directory
  for (const auto& label : entries_of(study)) {
    const std::string name = label.path.filename().string();
    if (name == kTuningDirectory || is_no_result(name) || !leads_to_directory(label)) continue;
    for (const auto& run : entries_of(label.path)) {
      if (is_run_directory_name(run.path.filename().string()) && !planned.count(run.path))
        elsewhere.emplace(run.path.filename().string(), run.path);
    }
  }
  for (auto& place : out) {
    const auto found = there.count(place) ? elsewhere.end() : elsewhere.find(place.filename().string());
    if (found != elsewhere.end()) place = found->second;
  }
  return out;
}

bool holds_run(const fs::path& directory) { return path_exists(RunDirectory(directory).record_path()); }

std::optional<RunRecord> read_record(const fs::path& run) {
  const fs::path file = RunDirectory(run).record_path();
  const auto text = read_file_if_there(file, "run's file", ExitCode::data, kMaxRecordBytes);
  if (!text) return std::nullopt;
  RunRecord record = parse_record(*text, file.string());
  const std::string name = (absolute_path(run) / "").lexically_normal().parent_path().filename().string();
  if (is_run_directory_name(name) && record.identity.substr(0, kIdentityDigits) != name.substr(name.rfind('.') + 1))
    throw DataError(file.string() + ": of another run (identity " + record.identity + ")");
  return record;
}

RunRecord new_record(RunConfig config, const std::string& identity) {
  RunRecord record;
  record.identity = identity;
  if (config.command) record.text = data_hash_now(config);
  else record.tokens_per_step = config.train.batch_size * task_shape(config.task).sequence_length;
  config.compute.threads.reset();
  record.config = resolved_json(config);
  return record;
}

RunConfig config_of(const RunRecord& record, const RunDirectory& directory) {
  const std::string source = directory.record_path().string();
  return read_run_config(parse_document(dump_json_lossy(*record.config), source, directory.path().string()), source);
}

void RunDirectory::remove_results() const {
  for (const auto& file : {weights_path(), best_path(), checkpoint_path(), metrics_path()}) remove_if_there(file);
  for (const char* file : kCommandFiles) remove_if_there(path_ / file);
}

FileFacts RunDirectory::facts_of(const std::string& file) const {
  const std::string bytes = read_file(path_ / file, "run's file", ExitCode::data, std::uintmax_t{1} << 36);
  return {bytes.size(), checksum_of(bytes)};
}

void RunDirectory::remove_checkpoint() const { remove_if_there(checkpoint_path()); }

FileFacts RunDirectory::write_weights(const fs::path& path, const Json& config, const std::string& identity, std::int64_t step,
                                      std::vector<TensorData> weights, const std::map<std::string, std::string>& more,
                                      FileGroup* group) const {
  TensorFile file;
  file.tensors = std::move(weights);
  file.metadata = {{"format", "pt"},
                   {"config", dump_json_lossy(config)},
                   {"identity", identity},
                   {"step", std::to_string(step)},
                   {"schema_version", std::to_string(kSchemaVersion)}};
  file.metadata.insert(more.begin(), more.end());
  add_checksum(file);
  const std::string bytes = safetensors_bytes(file);
  write_file(path, bytes, Durability::flushed, group);
  return {bytes.size(), checksum_of(bytes)};
}

FileFacts RunDirectory::write_checkpoint(const Checkpoint& checkpoint, const std::string& identity, const FileFacts& metrics,
                                         FileGroup* group) const {
  // One JSON object in the metadata: it has its own version check, and the numbers keep their bits.
  Json state = {{"schema_version", kSchemaVersion},      {"identity", identity},      {"step", checkpoint.step},
                {"computed_by", checkpoint.computed_by}, {"numbers", Json::object()}, {"metrics", store::facts_json(metrics)}};
  for (const auto& [name, value] : checkpoint.numbers) state["numbers"][name] = store::number_json(value);
  FileGroup alone;
  FileGroup& files = group ? *group : alone;
  TensorFile file{checkpoint.tensors, {{"state", dump_json(state)}}};
  add_checksum(file);
  const std::string bytes = safetensors_bytes(file);
  files.write(checkpoint_path(), bytes);
  if (!group) files.commit();
  return {bytes.size(), checksum_of(bytes)};
}

std::optional<StoredCheckpoint> RunDirectory::read_checkpoint(std::int64_t steps, const std::string& identity) const {
  const std::string source = checkpoint_path().string();
  if (!path_exists(checkpoint_path())) return std::nullopt;
  TensorFile file = read_safetensors(checkpoint_path());
  if (!file.metadata.count("state") || !has_checksum(file))
    throw CheckpointError(source + ": no checkpoint of ffn-train: its metadata lacks the state or the checksum");
  StoredCheckpoint stored;
  Checkpoint& checkpoint = stored.checkpoint;
  std::string found;
  FileFacts metrics;
  const auto read_state = [&](const Json& state) {
    state.at("identity").get_to(found);
    checkpoint.step = store::count_from(state.at("step"));
    state.at("computed_by").get_to(checkpoint.computed_by);
    for (const auto& [name, value] : state.at("numbers").items()) checkpoint.numbers[name] = store::number_from(value);
    metrics = store::facts_from(state.at("metrics"));
  };
  try {
    store::read_json_text(file.metadata["state"], source, read_state, /*sealed=*/false);
    if (found != identity) throw DataError(source + ": belongs to another run (identity " + found + ", this one is " + identity + ")");
    if (checkpoint.step > steps)  // a run may have been stopped before its last evaluation
      throw DataError(source + ": of step " + std::to_string(checkpoint.step) + " in a run of " + std::to_string(steps));
    stored.metrics = read_metrics_up_to(metrics_path(), metrics);
  } catch (const DataError& error) {
    throw CheckpointError(error.what());
  }
  checkpoint.tensors = std::move(file.tensors);
  return stored;
}

}  // namespace ffn
