#include "ffn/store/run_directory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>

#include "ffn/base/checksum.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/json_document.hpp"
#include "ffn/store/json_text.hpp"
#include "ffn/store/moved_aside.hpp"
#include "ffn/store/safetensors.hpp"
#include "ffn/store/text.hpp"

namespace ffn {
namespace fs = std::filesystem;

using record_detail::json_text;
using record_detail::sealed_text;

namespace {

constexpr std::uintmax_t kMaxJsonBytes = 64 << 20;   // of a status, summary or meta file; they have a few kB
constexpr std::uintmax_t kMaxConfigBytes = 4 << 20;  // as of configs that a person writes
constexpr const char* kSeed = "seed-";

std::optional<std::string> read_if_there(const fs::path& path, const char* what) {
  return read_file_if_there(path, what, ExitCode::data, kMaxJsonBytes);
}

void remove_if_there(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) throw SystemError("cannot remove " + path.string() + ": " + error.message());
}

/// The sessions before this one, oldest first. A meta.json that cannot be understood is no reason not to train.
Json earlier_sessions(const fs::path& path) {
  Json last, sessions = Json::array();
  try {
    if (const auto text = read_if_there(path, "meta file")) last = parse_json(*text);
  } catch (const Error&) {  // nor is one that cannot be read: too large, a directory or a device in its place
  }
  if (!last.is_object()) return sessions;
  if (last.contains("earlier_sessions")) {
    sessions = last["earlier_sessions"];
    last.erase("earlier_sessions");
  }
  if (sessions.is_array()) sessions.push_back(std::move(last));
  return sessions;
}

// How many threads there were leaves no trace: a run's files are the same for any number of them.
Json kept_config(RunConfig config) {
  config.compute.threads.reset();
  return resolved_json(config);
}

}  // namespace

std::string config_text(const RunConfig& config) { return json_text(kept_config(config)); }

std::string seed_directory(std::int64_t seed) { return kSeed + std::to_string(seed); }

std::optional<std::int64_t> seed_of_directory(const std::string& name) {
  if (name.rfind(kSeed, 0) != 0) return std::nullopt;
  return std::strtoll(name.c_str() + std::strlen(kSeed), nullptr, 10);
}

fs::path single_run_path(const fs::path& root, const std::string& name, std::int64_t seed) { return root / name / seed_directory(seed); }

fs::path study_run_path(const fs::path& root, const std::string& study, const std::string& variant, std::int64_t seed) {
  return run_path_within(root / study, variant, seed);
}

fs::path run_path_within(const fs::path& study, const std::string& variant, std::int64_t seed) {
  return study / variant / seed_directory(seed);
}

bool holds_run(const fs::path& directory) {
  return std::any_of(std::begin(kRunFiles), std::end(kRunFiles), [&](const char* name) { return path_exists(directory / name); });
}

bool holds_ended_run(const fs::path& directory) { return path_exists(RunDirectory(directory).summary_path()); }

std::optional<RunStatus> read_status(const fs::path& run) {
  const fs::path file = RunDirectory(run).status_path();
  const auto text = read_if_there(file, "status file");
  if (!text) return std::nullopt;
  return parse_status(*text, file.string());
}

std::optional<RunSummary> read_summary(const fs::path& run) {
  const fs::path file = RunDirectory(run).summary_path();
  const auto text = read_if_there(file, "summary file");
  if (!text) return std::nullopt;
  return parse_summary(*text, file.string());
}

std::vector<Evaluation> read_run_metrics(const fs::path& run) { return read_metrics(RunDirectory(run).metrics_path()); }

bool RunDirectory::create() const { return make_directories(path_); }

std::string RunDirectory::mark() const {
  struct statx about = {};
  struct stat status = {};
  // Containers whose profile is older than statx() answer EPERM to all of it: without it there is no time of birth.
  static const bool has_statx = ::statx(AT_FDCWD, "/", 0, STATX_INO, &about) == 0 || (errno != EPERM && errno != ENOSYS);
  const int failed = has_statx ? ::statx(AT_FDCWD, path_.c_str(), 0, STATX_INO | STATX_BTIME, &about) : ::stat(path_.c_str(), &status);
  if (failed && errno == ENOENT) return "";
  if (failed) throw ReadError("cannot read " + path_.string() + ": " + std::strerror(errno));
  if (!has_statx)
    return std::to_string(major(status.st_dev)) + ":" + std::to_string(minor(status.st_dev)) + ":" + std::to_string(status.st_ino);
  // The time of birth, where the file system knows it: an inode is given to the next directory once this one is removed.
  std::string text = std::to_string(about.stx_dev_major) + ":" + std::to_string(about.stx_dev_minor) + ":" + std::to_string(about.stx_ino);
  if (about.stx_mask & STATX_BTIME) text += "@" + std::to_string(about.stx_btime.tv_sec) + "." + std::to_string(about.stx_btime.tv_nsec);
  return text;
}

void RunDirectory::remove_temporaries() const {
  ffn::remove_temporaries(path_);
  ffn::remove_temporaries(checkpoint_path().parent_path());
}

void RunDirectory::remove_results() const {
  remove_final_results();
  remove_if_there(metrics_path());
  remove_checkpoint();
}

void RunDirectory::remove_final_results() const {
  remove_if_there(summary_path());
  remove_if_there(weights_path());
}

FileFacts RunDirectory::write_config(const RunConfig& config) const {
  const std::string text = config_text(config);
  write_file_atomically(config_path(), text, Durability::cached);
  return {text.size(), checksum_of(text)};
}

std::string RunDirectory::read_config_text() const { return read_file(config_path(), "config", ExitCode::data, kMaxConfigBytes); }

RunConfig RunDirectory::read_config() const {
  const std::string source = config_path().string();
  return read_run_config(parse_document(read_config_text(), source, path_.string()), source);
}

void RunDirectory::write_meta(const RunMeta& meta) const {
  Json json = meta_json(meta);
  if (meta.resumed_at) json["earlier_sessions"] = earlier_sessions(meta_path());
  make_room_for_file(meta_path());
  write_file_atomically(meta_path(), sealed_text(json), Durability::cached);
}

void RunDirectory::write_status(RunStatus status, FileGroup* group) const {
  status.updated = utc_now();
  status.pid = ::getpid();
  status.host = host_name();
  // A run that trains is found by its checkpoint, one that is over by its summary (run_standing): only failing leaves neither.
  const bool alone = status.state == RunState::failed;
  write_file(status_path(), sealed_text(status_json(status)), alone ? Durability::flushed : Durability::cached, group);
}

void RunDirectory::write_summary(const RunSummary& summary, FileGroup* group) const {
  write_file(summary_path(), sealed_text(summary_json(summary)), Durability::flushed, group);
}

FileFacts RunDirectory::write_weights(const RunConfig& config, const std::string& identity, std::int64_t step,
                                      std::vector<TensorData> weights, const std::map<std::string, std::string>& more,
                                      FileGroup* group) const {
  TensorFile file;
  file.tensors = std::move(weights);
  file.metadata = {{"format", "pt"},
                   {"config", dump_json_lossy(kept_config(config))},
                   {"identity", identity},
                   {"step", std::to_string(step)},
                   {"schema_version", std::to_string(kSchemaVersion)}};
  file.metadata.insert(more.begin(), more.end());
  add_checksum(file);
  const std::string bytes = safetensors_bytes(file);
  write_file(weights_path(), bytes, Durability::flushed, group);
  return {bytes.size(), checksum_of(bytes)};
}

void RunDirectory::write_checkpoint(const Checkpoint& checkpoint, const std::string& identity, const FileFacts& metrics,
                                    FileGroup* group) const {
  // One JSON object in the metadata: it has its own version check, and the numbers keep their bits.
  Json state = {{"schema_version", kSchemaVersion},      {"identity", identity},      {"step", checkpoint.step},
                {"computed_by", checkpoint.computed_by}, {"numbers", Json::object()}, {"metrics", record_detail::facts_json(metrics)}};
  for (const auto& [name, value] : checkpoint.numbers) state["numbers"][name] = record_detail::number_json(value);
  make_directory(checkpoint_path().parent_path());
  FileGroup alone;
  FileGroup& files = group ? *group : alone;
  files.flush_first(metrics_path());
  TensorFile file{checkpoint.tensors, {{"state", dump_json(state)}}};
  add_checksum(file);
  files.write(checkpoint_path(), safetensors_bytes(file));
  if (!group) files.commit();
}

std::optional<StoredCheckpoint> RunDirectory::read_checkpoint(const RunConfig& config, const std::string& identity) const {
  const std::string source = checkpoint_path().string();
  if (!path_exists(checkpoint_path())) return std::nullopt;
  TensorFile file = read_safetensors(checkpoint_path());
  if (!file.metadata.count("state")) throw CheckpointError(source + ": no checkpoint of ffn-train: its metadata has no \"state\"");

  StoredCheckpoint stored;
  Checkpoint& checkpoint = stored.checkpoint;
  std::string found;
  std::optional<FileFacts> metrics;
  try {
    record_detail::read_json_text(
        file.metadata["state"], source,
        [&](const Json& state) {
          if (state.value("schema_version", 0) > 1 && !has_checksum(file)) throw DataError(source + ": damaged: its checksum is missing");
          state.at("identity").get_to(found);
          checkpoint.step = record_detail::count_from(state.at("step"));
          // Version 0.1 did not say: it had the fused engine alone.
          const std::vector<std::string> before{"fused, cpu, ffn-train 0.1"};
          checkpoint.computed_by = state.value("computed_by", before);
          for (const auto& [name, value] : state.at("numbers").items()) checkpoint.numbers[name] = record_detail::number_from(value);
          if (state.contains("metrics")) metrics = record_detail::facts_from(state["metrics"]);
        },
        /*sealed=*/false);
    if (found != identity) throw DataError(source + ": belongs to another config (identity " + found + ", this one is " + identity + ")");
    if (checkpoint.step < 0 || checkpoint.step >= config.train.steps)
      throw DataError(source + ": of step " + std::to_string(checkpoint.step) + " in a run of " + std::to_string(config.train.steps));
    stored.metrics = metrics ? read_metrics_up_to(metrics_path(), *metrics)
                             : read_metrics_up_to(metrics_path(), checkpoint.step, config.train.eval_every);
  } catch (const DataError& error) {
    throw CheckpointError(error.what());
  }
  checkpoint.tensors = std::move(file.tensors);
  return stored;
}

void RunDirectory::remove_checkpoint() const { remove_if_there(checkpoint_path().parent_path()); }

}  // namespace ffn
