// A run's directory: which file lies where, and how each is written so that a crash at any moment costs nothing that was
// there before. Its name carries the run's identity, so that no other run stands in its place.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ffn/base/files.hpp"
#include "ffn/store/metrics_file.hpp"
#include "ffn/store/run_record.hpp"

namespace ffn {

/// "seed-3.1a2b3c4d", the name of a run's own directory.
std::string run_directory_name(std::int64_t seed, const std::string& identity);
/// Whether it has such a name.
bool is_run_directory_name(const std::string& name);

/// The place of a run in its study.
struct RunPlace {
  std::string label;  ///< of the directory above the run's: the variant's name
  std::int64_t seed = 0;
  std::string identity;
};
/// The directories of a study's runs: STUDY/LABEL/seed-K.IDENTITY. A run that is not there is found under another label, which its variant
/// had before the sweep gained or lost a key, unless that is another of these runs.
std::vector<std::filesystem::path> run_places(const std::filesystem::path& study, const std::vector<RunPlace>& runs);

/// Whether there is a run, or what is left of one. Also where looking is refused: reading it then says why.
bool holds_run(const std::filesystem::path& directory);

/// Nothing if there is no run.json. Throws DataError for one that is damaged, or of another run than the directory's name says.
std::optional<RunRecord> read_record(const std::filesystem::path& run);

/// A checkpoint, and the part of metrics.jsonl that belongs to it.
struct StoredCheckpoint {
  Checkpoint checkpoint;
  std::string metrics;
};

/// For a run that a program trained: its command line with its end, and what it printed.
inline constexpr const char* kCommandFiles[] = {"command.json", "stdout.txt", "stderr.txt"};

/// Names the place; creates nothing until asked. All writing throws SystemError with path and reason. What is written with
/// a `group` appears, after one flush for all, when that is committed; without one, at once.
class RunDirectory {
 public:
  explicit RunDirectory(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path record_path() const { return path_ / "run.json"; }
  std::filesystem::path metrics_path() const { return path_ / "metrics.jsonl"; }
  std::filesystem::path weights_path() const { return path_ / "model.safetensors"; }
  std::filesystem::path best_path() const { return path_ / "best.safetensors"; }
  std::filesystem::path checkpoint_path() const { return path_ / "checkpoint.safetensors"; }
  std::filesystem::path output_path() const { return path_ / "output"; }  ///< a program's own directory

  /// Removes what earlier training left unfinished: nothing stale beside a run that begins again.
  void remove_results() const;
  void remove_checkpoint() const;
  /// Size and checksum of a file as it is.
  FileFacts facts_of(const std::string& file) const;

  void write_record(const RunRecord& record, Durability durability, FileGroup* group = nullptr) const {
    write_file(record_path(), record_text(record), durability, group);
  }
  /// Metadata: the config as JSON, identity, step, and format "pt" (torch.nn layout) as Python's loaders expect it.
  /// `more` is what else a user of the weights needs (RunResult::metadata).
  FileFacts write_weights(const std::filesystem::path& file, const Json& config, const std::string& identity, std::int64_t step,
                          std::vector<TensorData> weights, const std::map<std::string, std::string>& more,
                          FileGroup* group = nullptr) const;
  /// `metrics` is of metrics.jsonl, on which the checkpoint rests.
  FileFacts write_checkpoint(const Checkpoint& checkpoint, const std::string& identity, const FileFacts& metrics,
                             FileGroup* group = nullptr) const;
  /// Nothing if there is none. Numbers come back bit for bit, tensors in the order of the file, not of writing.
  /// Throws CheckpointError for one that is damaged, of another run, or whose metrics.jsonl is not what it was.
  std::optional<StoredCheckpoint> read_checkpoint(std::int64_t steps, const std::string& identity) const;

 private:
  std::filesystem::path path_;
};

/// The record of a run that begins. Its config does not keep the number of threads.
RunRecord new_record(RunConfig config, const std::string& identity);
/// The config that is kept in a record, or another version's DataError.
RunConfig config_of(const RunRecord& record, const RunDirectory& directory);

}  // namespace ffn
