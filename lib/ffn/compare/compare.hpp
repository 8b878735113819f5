// Which variant is better and how surely: reads run directories, pairs runs by seed, asks ffn/stats. Never loads LibTorch.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ffn/compare/ladder.hpp"
#include "ffn/config/study_config.hpp"
#include "ffn/stats/paired.hpp"
#include "ffn/stats/scale.hpp"
#include "ffn/stats/sequential.hpp"
#include "ffn/stats/summary.hpp"
#include "ffn/stats/verdict.hpp"
#include "ffn/store/run_record.hpp"

namespace ffn {

/// A run as found on disk.
struct FoundRun {
  std::filesystem::path path;
  std::int64_t seed = 0;
  std::string identity;                     ///< of the config that was trained
  std::string variant;                      ///< name of the directory above; `by` may be "variant"
  std::string label;                        ///< what people call it; may be empty
  std::map<std::string, std::string> keys;  ///< the config, flattened: dotted key → value as text
  RunState state = RunState::pending;
  std::string reason;                 ///< why it failed or diverged
  std::string text;                   ///< SHA-256 of the text that it learned; empty for other tasks
  std::optional<RunSummary> summary;  ///< of a run that is done or diverged
  std::int64_t budget_steps = 0;
  std::int64_t tokens_per_step = 0;
  std::int64_t flops_per_token = 0;            ///< forward; 0 if it is not known
  std::optional<std::string> own_target = {};  ///< target_text() of its training, where another is asked for afterwards
  std::vector<double> parts = {};  ///< of a pooled run (compare.over): the metric or its logarithm with each value, NaN where it is missing
};

/// "metric=val/loss at_most=0.01"; empty without a target.
std::string target_text(const FoundRun& run);

/// A run that is planned: as find_runs would report it before it has begun.
FoundRun pending_run(const RunConfig& config, const std::filesystem::path& path);

struct FoundRuns {
  /// A study's in the order of its plan, others by path; those that are damaged or missing stand among them as pending.
  std::vector<FoundRun> runs;
  std::vector<std::string> left_out;         ///< damaged runs: path and reason, for a person
  std::vector<std::string> missing;          ///< paths of runs that a study.json lists and the disk lacks
  std::vector<std::string> extra;            ///< paths of runs in a study's directory that its study.json does not list
  std::vector<std::string> damaged_studies;  ///< a study.json that is missing or damaged, and what that means: for a person
};

/// Runs in a study's directory that its study.json does not list: of another config or sweep under the same name.
enum class Extras { leave_out, include };

/// Every run below the directories, without earlier results, damaged runs and, unless they are named, tuning runs, whose seeds judge
/// nothing. A run counts if run.json is as it was written. Paths may lack the identity. Throws DataError for a directory that is not there.
FoundRuns find_runs(const std::vector<std::filesystem::path>& directories, Extras extras = Extras::leave_out);

/// The directories of the runs below these, and of those that a study.json lists and the disk lacks.
struct RunPlaces {
  std::vector<std::filesystem::path> there, missing;
  std::vector<std::filesystem::path> studies;  ///< whose study.json can be read
  std::vector<std::string> damaged_studies;    ///< as in FoundRuns
};
enum class TuningRuns { leave_out, include };
RunPlaces find_run_places(const std::vector<std::filesystem::path>& directories, TuningRuns tuning = TuningRuns::leave_out);

/// Notes about runs that could not be found whole: one each for those left out, missing and extra.
std::vector<std::string> notes_about(const FoundRuns& found);

/// How a sequential design is judged. Its seeds follow each other.
struct SequentialRequest {
  std::vector<std::size_t> maxima;
  std::size_t comparisons = 0;  ///< as declared
  bool verdicts_only = false;   ///< without intervals, which take longer
};

struct CompareRequest {
  CompareConfig config;
  std::size_t resamples = 10000;
  std::optional<SequentialRequest> sequential;
  bool in_given_order = false;                ///< values stand as the runs do, and the first is the reference; otherwise numbers go by size
  std::optional<TuningResult> tuned = {};     ///< of a study whose variants were tuned: its keys go with the variants
  std::optional<bool> higher_is_better = {};  ///< of config.metric, where another trainer logged it
  bool unpaired = false;                      ///< seeds do not pair these runs
  std::optional<LadderConfig> ladder = {};    ///< of the study that these are the runs of
};

/// A run as it counts within its group.
struct GroupRun {
  std::filesystem::path path;
  std::int64_t seed;
  RunState state;
  stats::Outcome value;                 ///< of the metric; none of a run that is not over or has none, and of a time that was not reached
  std::optional<stats::Hit> to_target;  ///< of a run that is over and has a target: in the metric's unit if that is a time, else in steps
  std::map<std::string, FileFacts> files;  ///< as its summary vouches for them
  std::optional<double> lost_at = {};      ///< of a run that diverged or failed without its target: when, in the unit of `to_target`
};

/// One value of `by` within one facet.
struct GroupResult {
  std::string value;
  std::size_t num_runs = 0, num_done = 0, num_diverged = 0, num_failed = 0, num_pending = 0;
  std::size_t num_unmeasured = 0;          ///< done, and the metric is none that they log
  std::vector<double> values;              ///< of the metric, finite ones
  std::optional<double> mean, half_width;  ///< half_width of the t interval, level 1 - alpha; none where a run has no value
  std::optional<double> iqm;               ///< as `median`
  std::optional<double> median;            ///< runs without a value are the worst; infinite if half of them are
  std::optional<stats::Centre> centre;     ///< shown in place of the mean, if Comparison::shown says so
  std::size_t num_hits = 0;
  bool has_target = false;
  std::optional<double> median_steps, restricted_mean_steps;  ///< steps to target; Kaplan–Meier
  std::int64_t parameters = 0, flops_per_token = 0;
  double train_seconds = 0;                 ///< mean per run
  std::optional<double> seconds_to_target;  ///< mean over the hits
  std::vector<GroupRun> runs;               ///< in the order in which they were found

  std::size_t num_lost() const { return num_diverged + num_failed; }
  std::size_t num_over() const { return num_done + num_lost(); }
};

/// One value of `by` against the reference within one facet.
struct PairResult {
  std::string value, reference;
  stats::PairedResult paired;
  stats::Judgement judgement;
  std::optional<stats::BadRuns> bad;               ///< of minimised logged metrics
  std::size_t unpaired_seeds = 0;                  ///< seeds that only one side has finished
  std::optional<stats::CrossedMean> crossed = {};  ///< effect on other values of Comparison::over, too
  // In a sequential design; all of the above is then of the seeds of the last interim analysis.
  std::vector<double> advantages;  ///< in the order of the seeds, in favour of the value
  std::size_t waiting_seeds = 0;   ///< finished, and for the next interim analysis
  std::optional<stats::SequentialVerdict> sequential;
  std::vector<stats::InterimAnalysis> interim_analyses;  ///< at Comparison::alpha / comparisons
};

/// A main effect (the mean over the facets of value − reference), or an interaction: value − reference at one value of the second factor
/// less the same at its first. Its verdict is of this number: "worse" at 8 against 1 is doing less well there, not being worse.
struct ContrastResult {
  std::string at, against;  ///< values of Comparison::interaction_key; empty of a main effect
  PairResult pair;
  bool is_main_effect() const { return against.empty(); }
};

/// Whether it has a verdict.
bool is_decided(const PairResult& pair);

/// Runs that agree in every other key that varies.
struct Facet {
  std::map<std::string, std::string> keys;  ///< the values that define it; empty if there is one facet only
  std::vector<GroupResult> groups;          ///< in the order of the config's values, the reference first
  std::vector<PairResult> pairs;            ///< against the study's reference
  std::vector<PairResult> further_pairs;    ///< against another value, where compare.pairs asks for them
};

/// How far a sequential design has come.
struct SequentialProgress {
  std::vector<std::size_t> maxima;
  std::size_t comparisons;                ///< m of the correction
  std::vector<std::size_t> sample_sizes;  ///< seeds of each interim analysis so far
  std::size_t open;                       ///< comparisons without a verdict
};

/// The centre that a table shows of a variant, so that it goes with what is judged: the ratio of two geometric means is that of the mean
/// log ratio, and bad runs do not move a median.
enum class ShownCentre { mean, geometric_mean, median };

/// A claim that a study makes about its own outcome, and what came of it.
struct Expectation {
  enum class Outcome { holds, refuted, not_shown } outcome = Outcome::holds;
  std::string claim, source;
  std::string found;              ///< what was measured, or why nothing is shown
  bool is_asked = true;           ///< false: about a value or a facet that no variant has, as where a command line narrows a study
  bool is_after_results = false;  ///< added or reworded when runs had finished
};

/// "holds", "refuted", "not shown"; "not asked here".
std::string outcome_of(const Expectation& expectation);

/// Declarations, seen seeds and claims from before this answer (declared_before.hpp).
struct AnswerHistory {
  std::string qualification;  ///< why its verdicts are suggestive; empty: they are sure
  std::vector<Expectation> claims;
  std::int64_t last_seed = -1;  ///< the largest that was seen; larger ones are fresh
  std::string way_out;          ///< to a sure answer, of another trainer's runs
  bool is_repeatable = false;   ///< the study's command asks this question
};

/// A run that was compared, and what came out of it: seen_values() of one that is over.
struct ComparedRun {
  std::filesystem::path path;
  std::int64_t seed = 0;
  std::string values;
};

struct Comparison {
  std::string by, metric, reference;
  std::string over;  ///< CompareConfig::over: the values of its groups are means over that key
  bool higher_is_better = false;
  double alpha = 0.05, min_effect = 0;
  bool as_ratios = false;  ///< effects are ln(variant / reference), and min_effect is relative
  stats::RatioForm ratio_form = stats::RatioForm::percent;
  ShownCentre shown = ShownCentre::mean;
  std::map<std::string, std::string> key_names;  ///< of `by` and the facets' keys, as people are shown them
  std::map<std::string, std::map<std::string, std::string>>
      value_names;  ///< key → value → what people are shown where that is another text
  std::vector<Facet> facets;
  std::string interaction_key;            ///< the second factor, where compare.interaction asks whether the answer depends on it
  std::vector<ContrastResult> contrasts;  ///< those that could be tested
  std::optional<LadderAnswer> ladder;     ///< of a study's ladder
  std::size_t num_comparisons = 0;        ///< that the correction covers
  std::string rate;                       ///< the learning rate of all runs, where layers are compared that were not tuned
  std::string scope;                      ///< behind "Sure": what seeds do not vary, "of this text"; empty where nothing is shared
  bool mixed_scales = false;              ///< values of different losses, targets, …: none is the lowest
  bool splits_rows = false;               ///< each seed splits the same rows of a table anew: tests are corrected for that
  bool mixed_budgets = false;             ///< runs had different numbers of steps: times of groups are not on one scale
  std::optional<TuningResult> tuned;
  std::vector<std::string> notes;
  std::optional<SequentialProgress> sequential;
  std::map<std::string, std::string> shared;  ///< keys that all runs have with one value, without those that were tuned
  bool is_later_target = false;               ///< another than the runs were trained with
  bool unpaired = false;                      ///< seeds do not pair its runs
  std::string pairing;                        ///< of another trainer's runs: a sentence about how they were compared
  AnswerHistory history;
  std::vector<ComparedRun> runs;  ///< those that were pooled, too
};

/// Runs that are not over.
std::size_t num_pending(const Comparison& comparison);

/// Pools over `over` if there is one, groups by `by` (the first key that varies if empty), one facet per combination of the other varying
/// keys, pairs by seed, and judges all pairs of all facets, and the contrasts, as one family (Holm, or sequentially if the request says
/// so). Throws UsageError for an unknown key, metric or reference, naming those that exist, and DataError without runs.
Comparison compare_runs(std::vector<FoundRun> runs, const CompareRequest& request);

}  // namespace ffn
