// Trains what a study lacks. Start it as often as you like, also twice at the same time: nothing is trained twice.
#pragma once

#include <set>

#include "ffn/compare/compare.hpp"
#include "ffn/study/shard.hpp"
#include "ffn/study/worker_pool.hpp"

namespace ffn {

/// The options of a start, beside the study.
struct StudyRequest {
  std::filesystem::path out;  ///< the study's directory is out/NAME
  std::vector<std::string> argv;
  int jobs = 0;  ///< worker processes; 0: one per core as far as the free memory goes, or one per GPU
  Shard shard;
  bool fresh = false;  ///< renames earlier results first
  bool fail_fast = false;
  std::function<void(const RunConfig&)> prepare;  ///< throws where this machine cannot train it
  std::function<Engine&()> engine;                ///< called when there is something to train
  std::function<void()> in_worker;                ///< first thing in a worker: its own signal handlers
  std::function<bool()> stop;                     ///< asked often; true ends the study in order
};

/// Receives what happens, for a display; an observer overrides what it is about.
class StudyObserver {
 public:
  virtual ~StudyObserver() = default;
  virtual void renamed(const std::filesystem::path& /*earlier_results*/) {}
  virtual void tuning(const Study&) {}
  /// A sequential design starts, up to the number of seeds of its first and of its last interim analysis.
  virtual void sequential(const Study&, const SequentialRecord&, std::size_t /*first*/, std::size_t /*last*/) {}
  virtual void interim_analysis(const Comparison&, std::size_t /*seeds*/) {}
  /// There are runs to train: before anything is written, and before workers start.
  virtual void training(const Plan&, const std::vector<std::size_t>& /*runs*/, const std::vector<Progress>& /*found*/) {}
  virtual void message(const WorkerMessage&, const std::vector<PlannedCohort>&) {}
  virtual void trained() {}
};

struct StudyOutcome {
  std::size_t total = 0, reused = 0, trained = 0, diverged = 0;
  std::set<std::size_t> failed;  ///< indices into Plan::runs, of this session
  bool interrupted = false;
};

/// Trains every run of the request's shard that is not finished, resumes those that were begun, tries again those that failed in an earlier
/// session. Runs that another process is training are waited for. Throws UsageError where another engine than was asked for has trained.
StudyOutcome train_plan(const Plan& plan, const StudyRequest& request, StudyObserver& observer);

/// Writes study.json where it is damaged or says something else; not where a sequential design has come further than this plan. Without
/// work to do, a directory that cannot be written is only warned of. Without a finished run, claims are those of this start.
void keep_study_file(const Plan& plan, bool has_work, bool any_finished = true);

/// For --fresh: renames a directory of results to NAME.old-N while nobody else is at work in it. Throws DataError where it holds a person's
/// files and no results.
void rename_results(const std::filesystem::path& directory, StudyObserver& observer);

struct TrainedStudy {
  Plan plan;
  StudyOutcome outcome;
  bool is_tuned = true;  ///< false if tuning was interrupted or had runs that failed: nothing else was trained
};
/// The whole way: tuned first where the study asks for it; a sequential design interim analysis by interim analysis, until its comparisons
/// are decided or its maximum is reached. What comes back is of the last one, and counts the runs of all.
TrainedStudy train_study(Study study, const StudyRequest& request, StudyObserver& observer);

}  // namespace ffn
