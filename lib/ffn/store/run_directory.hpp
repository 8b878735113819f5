// A run's directory: which file lies where, and how each is written so that a crash at any moment costs nothing that was
// there before. Layout: DESIGN §5. Depends on core, config and the engine's structs.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ffn/base/files.hpp"
#include "ffn/store/metrics_file.hpp"
#include "ffn/store/run_files.hpp"

namespace ffn {

/// "seed-3", a run's own directory.
std::string seed_directory(std::int64_t seed);
/// 3 of such a name; nothing of one that begins otherwise.
std::optional<std::int64_t> seed_of_directory(const std::string& name);

/// `root/name/seed-k`: a single run.
std::filesystem::path single_run_path(const std::filesystem::path& root, const std::string& name, std::int64_t seed);

/// `root/study/variant/seed-k`: a run of a study.
std::filesystem::path study_run_path(const std::filesystem::path& root, const std::string& study, const std::string& variant,
                                     std::int64_t seed);
/// The same within a study's directory, whatever that is called.
std::filesystem::path run_path_within(const std::filesystem::path& study, const std::string& variant, std::int64_t seed);

/// config.json, as text.
std::string config_text(const RunConfig& config);

/// Any of these tells of a run.
inline constexpr const char* kRunFiles[] = {"status.json", "summary.json", "meta.json"};

/// Whether there is a run, or what is left of one. Also where looking is refused: reading it then says why.
bool holds_run(const std::filesystem::path& directory);

/// Whether a run ended there: it has been summed up.
bool holds_ended_run(const std::filesystem::path& directory);

/// Nothing if there is no such file in the run's directory. Throw DataError for one that cannot be understood.
std::optional<RunStatus> read_status(const std::filesystem::path& run);
std::optional<RunSummary> read_summary(const std::filesystem::path& run);
std::vector<Evaluation> read_run_metrics(const std::filesystem::path& run);

/// A checkpoint, and the part of metrics.jsonl that belongs to it.
struct StoredCheckpoint {
  Checkpoint checkpoint;
  std::string metrics;
};

/// Names the place; creates nothing until asked. All writing throws SystemError with path and reason. What is written with
/// a `group` appears, after one flush for all, when that is committed; without one, at once.
class RunDirectory {
 public:
  explicit RunDirectory(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config_path() const { return path_ / "config.json"; }
  std::filesystem::path metrics_path() const { return path_ / "metrics.jsonl"; }
  std::filesystem::path weights_path() const { return path_ / "model.safetensors"; }
  std::filesystem::path checkpoint_path() const { return path_ / "checkpoint" / "state.safetensors"; }
  std::filesystem::path meta_path() const { return path_ / "meta.json"; }
  std::filesystem::path status_path() const { return path_ / "status.json"; }
  std::filesystem::path summary_path() const { return path_ / "summary.json"; }
  std::filesystem::path log_path() const { return path_ / "log.txt"; }

  /// False if it was there.
  bool create() const;
  /// Tells this directory from any other that takes its place later; empty where there is none.
  std::string mark() const;
  /// Removes what writing that was killed left half-done.
  void remove_temporaries() const;
  /// Removes what earlier training left (metrics, summary, weights, checkpoint): nothing stale beside a new run.
  void remove_results() const;
  /// Removes the results that only a finished run has; metrics and checkpoint stay.
  void remove_final_results() const;

  /// The complete config; `ffn-train --config` on it trains the same run.
  FileFacts write_config(const RunConfig& config) const;
  /// Throw DataError where it cannot be read, ConfigError where it is none.
  std::string read_config_text() const;
  RunConfig read_config() const;
  /// On a resume the record of the earlier sessions is kept, under "earlier_sessions".
  void write_meta(const RunMeta& meta) const;
  /// Fills in `updated`, `pid` and `host`.
  void write_status(RunStatus status, FileGroup* group = nullptr) const;
  void write_summary(const RunSummary& summary, FileGroup* group = nullptr) const;
  /// Metadata: the config as JSON, identity, step, and format "pt" (torch.nn layout) as Python's loaders expect it.
  /// `more` is what else a user of the weights needs (RunResult::metadata).
  FileFacts write_weights(const RunConfig& config, const std::string& identity, std::int64_t step, std::vector<TensorData> weights,
                          const std::map<std::string, std::string>& more = {}, FileGroup* group = nullptr) const;

  /// `metrics` is of metrics.jsonl, on which the checkpoint rests: what was appended there reaches the disk first.
  void write_checkpoint(const Checkpoint& checkpoint, const std::string& identity, const FileFacts& metrics,
                        FileGroup* group = nullptr) const;
  /// Nothing if there is none. Numbers come back bit for bit, tensors in the order of the file, not of writing.
  /// Throws CheckpointError for one that is damaged, of another run, or whose metrics.jsonl is not what it was.
  std::optional<StoredCheckpoint> read_checkpoint(const RunConfig& config, const std::string& identity) const;
  void remove_checkpoint() const;

 private:
  std::filesystem::path path_;
};

}  // namespace ffn
