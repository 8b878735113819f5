// Training from the command line: one run, or a study.
#pragma once

#include <string>

#include "commands.hpp"
#include "ffn/config/accounting.hpp"
#include "ffn/config/study_config.hpp"
#include "ffn/report/progress.hpp"
#include "ffn/study/needs.hpp"
#include "ffn/study/train_study.hpp"

namespace ffn::app {

struct TrainOptions {
  std::int64_t fast_dev_run = 0;
  bool fresh = false, dry_run = false, fail_fast = false;
  std::string shard;   ///< "i/n"; "" is the whole study
  std::string budget;  ///< "1h"; "" is none
};

int train_run(RunConfig config, const TrainOptions& options, const CommonOptions& common);

/// The study from its first run to its comparison. Returns the exit code.
int train_study(const Study& study, const std::string& source, const TrainOptions& options, const CommonOptions& common);

/// The request of a start to every study that it trains.
StudyRequest study_request(const TrainOptions& options, const CommonOptions& common);

/// Says how an interrupted study is resumed.
void say_how_to_go_on(const CommonOptions& common);

/// A search from its first race to what it found, and what it would cost. Both return the exit code.
int train_search(const Document& document, const std::string& source, const TrainOptions& options, const CommonOptions& common);
/// Throws what is wrong with it or its tasks.
void check_search(const Document& document, const std::string& source);
int plan_search(const Document& document, const std::string& source, bool probe, const CommonOptions& common);

/// A bar on a terminal, lines elsewhere, nothing where the program is to be quiet.
ProgressOptions progress_options(const std::string& label, std::int64_t total, const CommonOptions& common);

/// Steps ran and what came out, nothing kept.
int fast_dev_run(RunConfig config, std::int64_t steps, const CommonOptions& common);

/// Says where a mixture has more experts than its task has inputs: how the load spreads then tells nothing of the router.
void warn_of_few_inputs(const std::vector<const RunConfig*>& configs);
void warn_of_few_inputs(const Study& study);

/// Says, once each, what was found in the data of each task that describes its data, and which parameters go by which optimizer.
void log_data_and_optimizer(const std::vector<const RunConfig*>& configs);
void log_data_and_optimizer(const Study& study);

/// Throws UsageError for a config that this machine cannot hold, or whose program is not there.
void require_memory(const RunConfig& config);

/// Why there are fewer workers than cores for want of memory; empty where that is not so.
std::string few_workers_line(const CommonOptions& common, const Study& study);

/// "engine: cpu, x86-64-v4 (it covers the model on the CPU)"
std::string engine_line(const EngineShare& share);

}  // namespace ffn::app
