// run.json: everything about a run but its curves and weights. Structs and their JSON; run_directory.hpp puts it in its place.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ffn/base/error.hpp"
#include "ffn/base/json_document.hpp"
#include "ffn/config/accounting.hpp"
#include "ffn/config/compute_config.hpp"
#include "ffn/train/cohort.hpp"

namespace ffn {

/// Goes up when a file's meaning changes; a reader refuses any other. 4: identities are of what differs from the defaults.
inline constexpr int kSchemaVersion = 4;

/// A file of an older or newer program: whole, and of no use to this one.
struct VersionError : DataError {
  using DataError::DataError;
};

/// A file as it was when another vouched for it.
struct FileFacts {
  std::uint64_t bytes = 0;
  std::string checksum;  ///< as Checksum::text()
};

/// "2026-01-31T12:00:00Z".
std::string utc_now();
/// Seconds since 1970 of such a text; nothing for any other.
std::optional<double> seconds_of(const std::string& utc);
std::string host_name();

enum class RunState { pending, running, done, diverged, failed, interrupted };

const char* to_string(RunState state);
/// Done or diverged: it has a summary. One that failed has one only if its program ended: it is not begun again.
inline bool is_finished(RunState state) { return state == RunState::done || state == RunState::diverged; }

/// One metric over a whole run.
struct MetricSummary {
  struct Best {
    double value = 0;
    std::int64_t step = 0;
  };
  std::string name;
  double final_value = 0;  ///< the last one measured; may be NaN or infinite
  /// Earliest best of the finite values at evaluations with a finite val/loss, if any and if the catalogue knows the direction.
  std::optional<Best> best;
  std::optional<double> first = {};  ///< before training, if it was measured and is finite
};

/// The results of a finished run.
struct RunSummary {
  std::string identity;
  RunEnd end = RunEnd::done;
  std::int64_t steps = 0;
  std::int64_t tokens = 0;  ///< at the last evaluation
  double train_seconds = 0;
  Cost cost;  ///< parameters and forward FLOPs per token
  std::vector<MetricSummary> metrics;
  std::optional<Hit> hit;
  std::optional<Divergence> divergence;
  std::vector<std::string> computed_by;  ///< as in RunResult
  /// The files that `keep` asks for, without run.json.
  std::map<std::string, FileFacts> files = {};

  const MetricSummary* find(const std::string& metric) const;  ///< null if it was never measured
};

/// The name of the engine that finished a run (RunSummary::computed_by).
std::string engine_of(const std::vector<std::string>& computed_by);

/// Whether a result that was computed by these (RunSummary::computed_by) is what `compute` asks for: any is where the engine
/// was left at auto. The engine that finished a run counts.
bool computed_as_asked(const ComputeConfig& compute, const std::vector<std::string>& computed_by);

/// The metrics of a run that is under way, taken in one evaluation after the other.
class MetricTally {
 public:
  void add(const Evaluation& evaluation);
  bool empty() const { return last_step_ < 0; }
  std::int64_t last_step() const { return last_step_; }  ///< of the last evaluation; -1 without any
  std::int64_t tokens() const { return tokens_; }
  const std::vector<MetricSummary>& metrics() const { return metrics_; }

 private:
  std::vector<MetricSummary> metrics_;
  std::int64_t last_step_ = -1, tokens_ = 0;
};

RunSummary summarize(const std::string& identity, const Cost& cost, const MetricTally& tally, const RunResult& result);

Json summary_json(const RunSummary& summary);

struct RunRecord {
  RunState state = RunState::running;
  std::string reason;     ///< why it failed, diverged or was interrupted; for a person
  std::string identity;   ///< run_identity() of the config
  std::string text;       ///< SHA-256 of the text that the identity rests on; empty for other tasks, and before it was read
  std::int64_t step = 0;  ///< steps that are safe: a resume starts here
  std::int64_t tokens_per_step = 0;
  std::int64_t pid = 0;  ///< of the process that trains or trained it, on `host`
  std::string host, updated;
  JsonValue config;                         ///< resolved, directly re-runnable
  std::optional<RunSummary> summary;        ///< of a finished run, and of a program that failed
  JsonValue sessions = JsonValue::array();  ///< provenance: who trained it, oldest first
};

/// A session's provenance: command, engine, and what the function finds out (version and commit of the build, host, CPU).
Json session_json(const std::vector<std::string>& argv, const EngineInfo& engine, const std::string& started,
                  std::optional<std::int64_t> resumed_at);

/// Sealed with a checksum. Fills in `updated`, `pid` and `host`.
std::string record_text(RunRecord record);
/// Throws DataError naming `source` for text that is damaged or no record.
RunRecord parse_record(const std::string& text, const std::string& source);

}  // namespace ffn
