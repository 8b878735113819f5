// A run: one task, one model, one way to train it, one seed.
#pragma once

#include "ffn/base/json_document.hpp"
#include "ffn/config/command_config.hpp"
#include "ffn/config/compute_config.hpp"
#include "ffn/config/loss.hpp"
#include "ffn/config/model_config.hpp"
#include "ffn/config/task_config.hpp"
#include "ffn/config/train_config.hpp"

namespace ffn {

struct MetricRow;

/// Logs beside metrics.jsonl; not part of a run's identity.
struct LogConfig {
  bool layers = false;
  void describe(FieldVisitor& v);
};

struct RunConfig {
  std::string name = "run";
  std::string label;  ///< what people read in place of the variant's name; no part of a run's identity
  std::int64_t seed = 0;
  TaskConfig task;
  ModelConfig model;
  TrainConfig train;
  ComputeConfig compute;
  LogConfig log;
  std::string keep = "all";              ///< files that stay, no part of a run's identity; "summary": run.json alone
  std::optional<CommandConfig> command;  ///< of a run that another program trains; task, model, train and compute then say nothing
  void describe(FieldVisitor& v);

  Loss loss() const;
  /// By which metric the best weights are chosen.
  const MetricRow& best_by() const;
};

/// Whether it can be the name of a directory of results.
bool is_path_safe(const std::string& name);

/// Reads a run from a document. Throws ConfigError with every problem.
RunConfig read_run_config(const Document& document, const std::string& source);

/// d_ff and expansion are one width: the other of the two for the dotted path of one, else null.
const char* other_width(const std::string& key);

/// d_ff and expansion are one width, at_least and at_most one bound of a target: of two that were written in different layers the newer
/// replaces the older. Both stay where they are of one layer, as the overrides of one command are, and reading the config refuses them.
void keep_newer(Document& document);

/// The complete config as JSON, directly re-runnable.
Json resolved_json(const RunConfig& config);

/// Runs with equal keys have equal tensors and may train as one cohort: everything but name, seed, learning rate, weight
/// decay, dropout rate and what is logged.
std::string cohort_key(const RunConfig& config);

}  // namespace ffn
