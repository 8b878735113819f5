// The runs of a study: what keeps others from its directory, what is said before they train, what is taken from another place.
#include <algorithm>
#include <filesystem>

#include "ffn/base/cores.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/hash.hpp"
#include "ffn/data/run_identity.hpp"
#include "ffn/data/task.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/terminal.hpp"
#include "ffn/store/log.hpp"
#include "ffn/store/moved_aside.hpp"
#include "ffn/study/adopt.hpp"
#include "ffn/study/beacon.hpp"
#include "ffn/study/other_study.hpp"
#include "ffn/study/run_study.hpp"
#include "ffn/study/shard.hpp"
#include "ffn/study/study_lock.hpp"
#include "ffn/train/engine.hpp"
#include "signals.hpp"
#include "study_display.hpp"
#include "train.hpp"

namespace ffn::app {
namespace fs = std::filesystem;

namespace {

// A study that several machines would train twice is refused before anything is written. True where that cannot be told yet.
bool locks_may_not_reach(const fs::path& directory) {
  if (!locks_are_needed()) return false;
  const auto reach = lock_reach(directory);
  if (reach.one_machine) {
    throw SystemError("locks are seen on this machine alone: " + reach.mount + "; another machine might train the same runs",
                      kWithoutLocksHint);
  }
  return reach.shared;
}

// Somebody who is at work and whose lock we do not see would not see ours either.
void check_nobody_unseen(const StudyLock& lock, Beacon& beacon, const fs::path& directory) {
  if (!lock.was_first()) return;
  const std::string other = beacon.other_alive();
  if (other.empty()) return;
  throw SystemError(other + " is at work in " + directory.string() + ", and its locks are not seen here, so both may train the same run",
                    "stop one of the two; or divide the study among machines that need no locks with --shard i/n");
}

std::string fingerprint(const Plan& plan, const std::string& given = "") {
  if (!given.empty()) return given;
  std::string all;
  for (const auto& run : plan.runs) all += run.identity + run.config.compute.engine;  // two engines would undo each other's runs
  return sha256_hex(all);
}

// Where nothing is left to train, what a kill left is removed if nobody else is at work; it matters little if not.
void tidy_up(const Plan& plan) {
  if (!StudyLock::has_leftovers(plan.directory)) return;
  try {
    StudyLock(plan.directory, fingerprint(plan), /*exclusive=*/true);
  } catch (const Error&) {
  }
}

void say_how_it_trains(const Study& study, const CommonOptions& common) {
  for (const auto& share : engine_shares(study)) log_info(engine_line(share));
  if (const auto few = few_workers_line(common, study); !few.empty()) log_info(few);
}

// Who has little room should know before it is full.
void say_room(const Plan& plan, const std::vector<std::size_t>& runs, const std::vector<Progress>& found) {
  constexpr double kWorthSaying = 200e6;
  std::vector<double> of_variant;
  for (const auto& variant : plan.study.variants)
    of_variant.push_back(disk_bytes(variant.config, model_cost(variant.config.model, task_shape(variant.config.task)).total));
  double bytes = 0;
  std::size_t pending = 0;
  for (const auto i : runs) {
    if (found[i] != Progress::finished) {
      bytes += of_variant[plan.runs[i].variant];
      ++pending;
    }
  }
  if (bytes > kWorthSaying)
    log_info(format_counted(pending, "run") + " to train: they will take about " + format_bytes(bytes) + " on disk, in " +
             plan.directory.string());
}

// Runs that were trained in another place of the study. Thousands take a while: there is a bar, and who stops is not kept waiting.
void adopt_with_bar(const Plan& plan, const std::vector<std::size_t>& runs, std::vector<Progress>& found, const CommonOptions& common) {
  const auto places = adoptable_runs(plan, runs, found);
  if (places.empty()) return;
  auto options = progress_options("copying", static_cast<std::int64_t>(places.size()), common);
  options.unit = "run";
  ProgressBar bar(options);
  set_up_log(log_options(common.verbosity, color_enabled(color_mode(common), 2), [&bar] { bar.clear(); }));
  const auto end_bar = [&] {
    bar.finish();
    set_up_log(log_options(common));
  };
  std::size_t adopted = 0;
  try {
    adopted = adopt_runs(plan, places, found, [&](std::size_t done) {
      bar.update(static_cast<std::int64_t>(done));
      return !stop_requested();
    });
  } catch (...) {
    end_bar();
    throw;
  }
  end_bar();
  if (adopted > 0)
    log_info(format_counted(adopted, "run") + (adopted == 1 ? " was" : " were") +
             " trained before, in another place of this study, and copied");
}

}  // namespace

void require_texts(const Plan& plan, const std::map<std::string, std::string>& texts) {
  if (texts.empty()) return;
  for (const auto& run : plan.runs) {
    const auto* text = std::get_if<TextConfig>(&run.config.task);
    const auto known = text ? texts.find(text->file) : texts.end();
    if (known != texts.end() && run_identity(run.config, known->second) != run.identity)
      throw DataError(text->file + " changed while the study was tuned, and what was chosen on one text is not judged on another",
                      "put the text back, or start with --fresh, or under another name=..., to tune and train on it as it is");
  }
}

TrainedStudy train_runs(const Study& study, const TrainOptions& options, const CommonOptions& common) {
  const auto shard = options.shard.empty() ? Shard() : parse_shard(options.shard);
  TrainedStudy out{
      make_plan(study, common.out), {}, shard.count == 1 ? "" : "shard " + format_count(shard.index) + " of " + format_count(shard.count)};
  const Plan& plan = out.plan;
  require_texts(plan, options.texts);
  const auto runs = runs_of(plan, shard);
  auto found = progress_of(plan.runs);
  if (!options.fresh) refuse_other_study(plan, found);
  else if (path_exists(plan.directory)) require_results(plan.directory);
  const bool has_work =
      options.fresh || std::any_of(runs.begin(), runs.end(), [&](std::size_t i) { return found[i] != Progress::finished; });
  std::optional<StudyLock> lock;
  std::optional<Beacon> beacon;
  if (has_work) {  // what cannot be had is found before anything is written
    for (const auto& variant : study.variants) {
      require_memory(variant.config);
      training_engine().prepare(variant.config);
    }
    if (!options.goes_on) say_how_it_trains(study, common);
    if (!out.part.empty())
      log_info(out.part + ": " + format_count(runs.size()) + " of " + format_count(plan.runs.size()) +
               " runs; the others are trained elsewhere");
    const bool uncertain = locks_may_not_reach(plan.directory);
    lock.emplace(plan.directory, fingerprint(plan, options.fingerprint), options.fresh);
    if (options.fresh && path_exists(plan.directory)) {
      log_info("earlier results moved to " + move_aside(plan.directory).string());
      found.assign(plan.runs.size(), Progress::pending);
    }
    say_room(plan, runs, found);
    lock->share();
    if (uncertain) {
      beacon.emplace(plan.directory);
      check_nobody_unseen(*lock, *beacon, plan.directory);
    }
    adopt_with_bar(plan, runs, found, common);
  } else {
    tidy_up(plan);
  }

  StudyDisplay display(plan, runs, found, common);
  StudyOptions run;
  run.runs = runs;
  run.found = std::move(found);
  run.jobs = job_count(common, study);
  run.cores = usable_cores();
  run.fail_fast = options.fail_fast;
  run.argv = common.argv;
  run.stop = [&beacon] {
    if (beacon) beacon->beat();
    return stop_requested();
  };
  run.in_worker = handle_worker_signals;
  run.engine = []() -> Engine& { return training_engine(); };
  run.on_message = [&](const WorkerMessage& m, const std::vector<PlannedCohort>& cohorts) { display.receive(m, cohorts); };
  out.outcome = run_study(plan, run);
  return out;
}

}  // namespace ffn::app
