// Training from the command line: one run, or a study.
#pragma once

#include <map>
#include <string>

#include "commands.hpp"
#include "ffn/compare/compare.hpp"
#include "ffn/config/accounting.hpp"
#include "ffn/config/study_config.hpp"
#include "ffn/report/progress.hpp"
#include "ffn/study/run_study.hpp"

namespace ffn::app {

struct TrainOptions {
  std::int64_t fast_dev_run = 0;
  bool fresh = false, dry_run = false, fail_fast = false;
  std::string shard;                         ///< "i/n"; "" is the whole study
  std::string fingerprint;                   ///< what processes that share the study's directory have in common; "": its runs
  bool goes_on = false;                      ///< a later part of one start: what was said before training is not said again
  std::map<std::string, std::string> texts;  ///< SHA-256 by file, of texts that must not change from one part to the next; empty: any
};

int train_run(const RunConfig& config, const TrainOptions& options, const CommonOptions& common);
/// What one start of a study came to.
struct TrainedStudy {
  Plan plan;
  StudyOutcome outcome;
  std::string part;      ///< "shard 2 of 4"; empty for the whole
  bool is_tuned = true;  ///< false if tuning was interrupted or had runs that failed: nothing else was trained
};
/// Throws DataError where a run of the plan learns another text than `texts` says.
void require_texts(const Plan& plan, const std::map<std::string, std::string>& texts);
/// Trains what the study lacks, under its lock and with a display. What is wrong with it is found before anything is written.
TrainedStudy train_runs(const Study& study, const TrainOptions& options, const CommonOptions& common);

/// A study with its choices made, or the outcome that kept it from them: interrupted, or with runs that failed.
struct Tuned {
  std::optional<Study> study;
  StudyOutcome outcome;
};
/// Trains the grid of a study that is tuned, as a study of its own beside it, and chooses. A grid that some variant's choice stands at
/// the end of grows there for all variants, at most twice.
Tuned tune_study(Study study, const TrainOptions& options, const CommonOptions& common);

/// How far the tuning of a study has come, for whoever does not go on with it.
struct TuningStanding {
  Study study;                  ///< its grid as far as it has grown
  Plan plan;                    ///< of its tuning runs
  std::optional<Study> chosen;  ///< once all of them have ended
};
TuningStanding tuning_standing(Study study, const std::string& out);

/// train_runs, tuned before where the study asks for it.
TrainedStudy train_tuned(const Study& study, const TrainOptions& options, const CommonOptions& common);

/// The same for a study that adds seeds, look by look, until its comparisons are settled or its maximum is reached. What comes back is
/// of the last look, and counts the runs of all.
TrainedStudy train_until_settled(Study study, const TrainOptions& options, const CommonOptions& common);

/// What was declared of a growing study with this directory before, or is now. Throws UsageError where a study has no error left for
/// what it is asked: seeds added to a fixed number, or the reverse; not if it begins afresh. Nothing for a fixed number.
std::optional<SequentialRecord> looks_so_far(const Study& study, const std::filesystem::path& directory, bool fresh = false);

/// Gives a growing study the seeds that it trains before it first decides anything: up to the first look that is not below its min.
void take_first_seeds(Study& study);

/// The comparison of a planned study, as far as it has come; `resamples` of what is shown beside the verdicts. In a growing study the
/// intervals take longest.
enum class FromDisk { yes, no };
Comparison compare_plan(const Plan& plan, std::size_t resamples, FromDisk from_disk = FromDisk::yes, bool verdicts_only = false);

/// The study from its first run to its comparison. Returns the exit code.
int train_study(const Study& study, const std::string& source, const TrainOptions& options, const CommonOptions& common);

/// A bar on a terminal, lines elsewhere, nothing where the program is to be quiet.
ProgressOptions progress_options(const std::string& label, std::int64_t total, const CommonOptions& common);

/// Steps ran and what came out, nothing kept.
int fast_dev_run(RunConfig config, std::int64_t steps, const CommonOptions& common);

/// How many comparisons the study makes, before anything is trained. Throws UsageError or ConfigError for what is wrong with them or with
/// its claims; claims about values that it does not have may stand (`whole` is false) where a command line narrows a study.
std::size_t check_study(const Study& study, const std::string& source, bool whole = true);

/// Says where a mixture has more experts than its task has inputs: how the load spreads then tells nothing of the router.
void warn_of_few_inputs(const std::vector<const RunConfig*>& configs);
void warn_of_few_inputs(const Study& study);

/// Throws UsageError for a config that this machine cannot hold.
void require_memory(const RunConfig& config);

/// What remains on disk of one run: weights, metrics, and small files. A checkpoint exists while it trains.
double disk_bytes(const RunConfig& config, const Cost& cost);

/// The FFN's size if its width was solved by `match`, else null.
const FfnSize* matched_size(const Variant& variant);

/// Workers: as asked for; otherwise one per core as far as the free memory goes, or one per GPU of a study that trains on GPUs.
std::size_t job_count(const CommonOptions& common, const Study& study);

/// Why there are fewer workers than cores for want of memory; empty where that is not so.
std::string few_workers_line(const CommonOptions& common, const Study& study);

/// The runs of a study that one engine trains for one reason.
struct EngineShare {
  std::string engine, device, reason;
  std::size_t runs = 0;
  std::int64_t stack = 0;  ///< on a GPU: how many runs train as one stack at most
};
std::vector<EngineShare> engine_shares(const Study& study);
/// "engine: fused, cpu, x86-64-v4 (it covers the model on the CPU)"
std::string engine_line(const EngineShare& share);

}  // namespace ffn::app
