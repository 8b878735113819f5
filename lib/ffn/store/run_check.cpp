#include "ffn/store/run_check.hpp"

#include <algorithm>

#include "ffn/base/checksum.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/hash.hpp"
#include "ffn/base/text.hpp"
#include "ffn/store/cleanup.hpp"
#include "ffn/store/json_text.hpp"
#include "ffn/store/log.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

constexpr std::uintmax_t kMaxRunFileBytes = std::uintmax_t{1} << 36;

std::string difference_of(const fs::path& path, const FileFacts& facts) {
  const std::string name = path.filename().string();
  const auto type = type_of(path);
  if (type == fs::file_type::not_found) return name + ": missing";
  if (type != fs::file_type::regular) return name + ": no regular file";
  std::error_code error;
  const auto bytes = fs::file_size(path, error);
  if (error) throw ReadError("cannot read " + path.string() + ": " + error.message());
  if (bytes != facts.bytes) return name + ": " + std::to_string(bytes) + " bytes instead of " + std::to_string(facts.bytes);
  const bool same = checksum_of(read_file(path, name, ExitCode::data, kMaxRunFileBytes)) == facts.checksum;
  return same ? "" : name + ": damaged: its checksum differs";
}

std::string without_prefix(const std::string& what, const fs::path& directory) {
  const std::string prefix = directory.string() + "/";
  return what.rfind(prefix, 0) == 0 ? what.substr(prefix.size()) : what;
}

// Differences of the files from the summary's: "metrics.jsonl: 120 bytes instead of 4096".
std::vector<std::string> file_differences(const RunDirectory& directory, const RunSummary& summary) {
  std::vector<std::string> out;
  for (const auto& [name, facts] : summary.files) {
    // No path from a file leads out of the run's directory.
    const std::string what =
        name.find('/') != std::string::npos ? "run.json names a file " + store::shown(name) : difference_of(directory.path() / name, facts);
    if (!what.empty()) out.push_back(what);
  }
  return out;
}

// Throws CheckpointError where the record names steps that no checkpoint has.
std::optional<StoredCheckpoint> checkpoint_of(const RunDirectory& directory, const RunRecord& record, std::int64_t steps) {
  auto stored = directory.read_checkpoint(steps, record.identity);
  if (!stored && record.step > 0)
    throw CheckpointError(directory.checkpoint_path().string() + ": missing, of a run that had come to step " +
                          std::to_string(record.step));
  return stored;
}

}  // namespace

RunCheck check_run(const RunDirectory& directory, const std::string& identity) {
  using Verdict = RunCheck::Verdict;
  const auto type = type_of(directory.path());
  if (type == fs::file_type::not_found) return {};
  if (type != fs::file_type::directory) return {Verdict::damaged, {"no directory"}};
  RunCheck out;
  try {
    out.record = read_record(directory.path());
  } catch (const VersionError&) {  // whole, for another program
    throw;
  } catch (const DataError& error) {
    return {Verdict::damaged, {without_prefix(error.what(), directory.path())}};
  }
  if (!out.record) {
    const auto results = {directory.metrics_path(), directory.weights_path(), directory.best_path(), directory.checkpoint_path()};
    if (std::none_of(results.begin(), results.end(), path_exists)) return {};
    return {Verdict::damaged, {"run.json: missing"}};
  }
  const RunRecord& record = *out.record;
  if (!identity.empty() && record.identity != identity) {
    out.damage = {"run.json: of another run (identity " + record.identity + ", not " + identity + ")"};
  } else if (record.summary) {
    out.damage = file_differences(directory, *record.summary);
  }
  out.verdict = !out.damage.empty()                ? Verdict::damaged
                : record.summary                   ? Verdict::whole
                : record.state == RunState::failed ? Verdict::failed
                                                   : Verdict::unfinished;
  return out;
}

RunCheck check_run_closely(const RunDirectory& directory) {
  try {
    RunCheck out = check_run(directory);
    if (out.verdict != RunCheck::Verdict::unfinished && out.verdict != RunCheck::Verdict::failed) return out;
    try {
      checkpoint_of(directory, *out.record, config_of(*out.record, directory).train.steps);
    } catch (const Error& error) {
      out.verdict = RunCheck::Verdict::damaged;
      out.damage.push_back(without_prefix(error.what(), directory.path()));
    }
    return out;
  } catch (const ReadError& error) {
    return {RunCheck::Verdict::unreadable, {error.what()}};
  } catch (const VersionError& error) {
    return {RunCheck::Verdict::unreadable, {error.what()}};
  }
}

std::optional<StoredCheckpoint> make_ready(const RunDirectory& directory, const RunConfig& config, const std::string& identity,
                                           const RunsBeside& beside, RunCheck& check) {
  if (check.verdict == RunCheck::Verdict::unfinished || check.verdict == RunCheck::Verdict::failed) {
    try {
      auto stored = checkpoint_of(directory, *check.record, config.train.steps);
      if (stored && stored->checkpoint.step > 0) return stored;
    } catch (const CheckpointError& error) {
      check = {RunCheck::Verdict::damaged, {without_prefix(error.what(), directory.path())}};
    }
  }
  if (check.verdict == RunCheck::Verdict::damaged) {
    const auto renamed = move_aside(directory.path(), kDamagedMark);
    log_warning(directory.path().string() + " is damaged: " + join(check.damage, "; ") + "; renamed to " + renamed.filename().string() +
                ", the run is trained again");
    check = {};
  }
  return state_of_shorter_run(directory, config, identity, beside, check);
}

std::string lacking_files(const RunConfig& config, const RunSummary& summary) {
  if (config.keep == "summary" || config.command) return "";
  if (summary.files.empty()) return "its weights and curves were";
  const bool has_state = summary.files.count("checkpoint.safetensors") > 0, reached_the_end = summary.steps == config.train.steps;
  if (config.keep == "best" && summary.files.count("best.safetensors") == 0) return "its best weights were";
  return config.keep == "state" && !has_state && reached_the_end && summary.end == RunEnd::done ? "its state was" : "";
}

RunRecord require_trained(const RunDirectory& directory, const fs::path& weights) {
  auto record = read_record(directory.path());
  const std::string run = directory.path().string();
  if (!record || !record->summary)
    throw DataError(run + " has no trained weights yet", "finish the training first, with the command that started it");
  const auto facts = record->summary->files.find(weights.filename());
  if (facts == record->summary->files.end()) {
    const std::string kept = record->config->value("keep", "all");
    throw DataError(run + " kept no " + weights.filename().string() + " (its config has keep: " + kept + ")",
                    std::string("train it with keep=") + (weights == directory.best_path() ? "best" : "all") + " under another name");
  }
  const std::string what = difference_of(weights, facts->second);
  if (!what.empty()) throw DataError(run + "/" + what, "the command that trained the run trains it again");
  return std::move(*record);
}

// The same in every version and build, which may all be at work in one directory. 60 bits: no two runs share a byte.
static std::int64_t byte_of(const std::string& name) { return std::stoll(sha256_hex(name).substr(0, 15), nullptr, 16); }

std::optional<LockFile> claim_run(const fs::path& run) {
  // Beside the run's directory: one that is renamed must not take the lock along. One file for all runs beside each other, each of which
  // has a byte of it (that need not exist).
  if (!path_exists(run.parent_path())) make_directory(run.parent_path());
  LockFile file(run.parent_path() / ".lock");
  if (!file.try_lock(LockFile::Hold::alone, byte_of(run.filename().string()))) return std::nullopt;
  return file;
}

}  // namespace ffn
