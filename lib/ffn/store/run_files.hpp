// What the small files of a run say: status.json, summary.json, meta.json. Layout: DESIGN §5.
// Structs and their JSON; run_directory.hpp puts them in their place. Depends on core, config and the engine's structs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ffn/base/json_document.hpp"
#include "ffn/config/accounting.hpp"
#include "ffn/config/compute_config.hpp"
#include "ffn/train/interface.hpp"

namespace ffn {

/// Goes up when a file's meaning changes; a reader refuses a newer one. 1: version 0.1. 2: every file carries a checksum.
inline constexpr int kSchemaVersion = 2;

/// A file as it was when another vouched for it.
struct FileFacts {
  std::uint64_t bytes = 0;
  std::string checksum;  ///< as Checksum::text()
};

/// "2026-01-31T12:00:00Z".
std::string utc_now();
/// Seconds since 1970 of such a text; nothing for any other.
std::optional<double> seconds_of(const std::string& utc);

// ---- status.json

enum class RunState { pending, running, done, diverged, failed, interrupted };

const char* to_string(RunState state);

struct RunStatus {
  RunState state = RunState::pending;
  std::string reason;     ///< why it failed, diverged or was interrupted; for a person
  std::string identity;   ///< run_identity() of the config
  std::int64_t step = 0;  ///< steps that are safe: a resume starts here
  std::int64_t pid = 0;   ///< of the process that trains or trained it, on `host`
  std::string host;
  std::string updated;          ///< UTC; filled in when written
  std::string config_checksum;  ///< of config.json; empty in files of version 0.1
};

Json status_json(const RunStatus& status);
/// Throws DataError naming `source`.
RunStatus parse_status(const std::string& text, const std::string& source);

// ---- summary.json

/// One metric over a whole run.
struct MetricSummary {
  struct Best {
    double value = 0;
    std::int64_t step = 0;
  };
  std::string name;
  double final_value = 0;  ///< the last one measured; may be NaN or infinite
  std::optional<Best>
      best;  ///< earliest best of the finite values at evaluations with a finite val/loss, if any and if the catalogue knows the direction
};

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
  std::vector<std::string> computed_by;  ///< as in RunResult; empty in files of version 0.1
  /// What else the run came to, by the name of the file: config.json, metrics.jsonl, model.safetensors. Empty in version 0.1.
  std::map<std::string, FileFacts> files = {};

  const MetricSummary* find(const std::string& metric) const;  ///< null if it was never measured
};

/// The name of the engine that finished a run (RunSummary::computed_by).
std::string engine_of(const std::vector<std::string>& computed_by);

/// True if a result that was computed by these (RunSummary::computed_by) is what `compute` asks for: any is where the engine
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
/// Throws DataError naming `source`.
RunSummary parse_summary(const std::string& text, const std::string& source);

// ---- meta.json

/// Where a run came from, for whoever wonders later why its numbers are what they are.
struct RunMeta {
  std::vector<std::string> argv;
  EngineInfo engine;
  std::string started;                     ///< UTC
  std::optional<std::int64_t> resumed_at;  ///< step of the checkpoint it went on from
};

/// Adds what it finds out by itself: version and commit of the build, host, CPU, kernel.
Json meta_json(const RunMeta& meta);

std::string host_name();

}  // namespace ffn
