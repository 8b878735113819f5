// A study from the command line: progress while it runs, the comparison at its end.
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "compare_text.hpp"
#include "ffn/compare/compare_json.hpp"
#include "ffn/compare/expect.hpp"
#include "ffn/core/cores.hpp"
#include "ffn/core/files.hpp"
#include "ffn/core/hash.hpp"
#include "ffn/core/shell.hpp"
#include "ffn/core/utf8.hpp"
#include "ffn/engine/devices.hpp"
#include "ffn/kernels/isa.hpp"
#include "ffn/record/log.hpp"
#include "ffn/record/moved_aside.hpp"
#include "ffn/record/study_file.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/output.hpp"
#include "ffn/report/terminal.hpp"
#include "ffn/study/adopt.hpp"
#include "ffn/study/beacon.hpp"
#include "ffn/study/other_study.hpp"
#include "ffn/study/run_study.hpp"
#include "ffn/study/shard.hpp"
#include "ffn/study/study_lock.hpp"
#include "ffn/tasks/task.hpp"
#include "ffn/train/engine.hpp"
#include "ffn/train/memory.hpp"
#include "next_command.hpp"
#include "signals.hpp"
#include "study_display.hpp"
#include "train.hpp"

namespace ffn::app {
namespace fs = std::filesystem;

namespace {

// What the runs of a study that train on the CPU take at least, one of them at a time.
double least_of_worker(const Study& study) {
  double bytes = 0;
  for (const auto& variant : study.variants) {
    if (variant.config.compute.on_cpu()) bytes = std::max(bytes, least_memory(variant.config, task_shape(variant.config.task)).total());
  }
  return bytes;
}

}  // namespace

std::size_t job_count(const CommonOptions& common, const Study& study) {
  if (common.jobs > 0) return static_cast<std::size_t>(common.jobs);
  const auto on = [&](const char* device) {
    return std::all_of(study.variants.begin(), study.variants.end(),
                       [&](const Variant& v) { return v.config.compute.device.rfind(device, 0) == 0; });
  };
  if (on("cuda:")) return 1;
  if (on("cuda")) return std::max<std::size_t>(1, visible_gpus().size());
  return workers_that_fit(usable_cores(), least_of_worker(study), free_memory());
}

std::string few_workers_line(const CommonOptions& common, const Study& study) {
  const auto jobs = job_count(common, study), cores = usable_cores();
  const double least = least_of_worker(study), free = free_memory();
  if (common.jobs > 0 || least * static_cast<double>(cores) <= free) return "";
  return format_counted(jobs, "worker") + " for " + format_counted(cores, "core") + ": a run takes " + format_bytes(least) +
         " of memory at least, and " + format_bytes(free) + " are free (--jobs asks for more)";
}

std::vector<EngineShare> engine_shares(const Study& study) {
  std::vector<EngineShare> shares;
  for (const auto& variant : study.variants) {
    const auto choice = choose_engine(variant.config);
    const auto& device = variant.config.compute.device;
    auto share = std::find_if(shares.begin(), shares.end(), [&](const EngineShare& s) {
      return s.engine == choice.name() && s.device == device && s.reason == choice.reason;
    });
    if (share == shares.end()) share = shares.insert(share, {choice.name(), device, choice.reason, 0, 0});
    share->runs += study.seeds.size();
    if (!variant.config.compute.on_cpu())
      share->stack = std::max(share->stack, stack_width(variant.config, task_shape(variant.config.task), gpu_bytes_of(device)));
  }
  return shares;
}

std::string engine_line(const EngineShare& share) {
  return "engine: " + share.engine + ", " + share.device + ", " + kernel_isa() + " (" + share.reason + ")" +
         (share.stack > 0 ? "; up to " + format_count(share.stack) + " runs as one stack" : "");
}

double disk_bytes(const RunConfig& config, const Cost& cost) {
  const double evaluations = static_cast<double>(config.train.steps) / static_cast<double>(config.train.eval_every) + 1;
  return 4.0 * static_cast<double>(cost.parameters) + 260.0 * evaluations + 6000.0;
}

const FfnSize* matched_size(const Variant& variant) {
  const FfnSize* size = size_of(variant.config.model.ffn);
  return size && size->matched_width ? size : nullptr;
}

namespace {

// The study's runs in the study's order: as they stand on disk, or as pending where nothing of this identity is there.
std::vector<FoundRun> planned_runs(const Plan& plan, FoundRuns on_disk) {
  std::map<fs::path, FoundRun> found;
  for (auto& run : on_disk.runs) found[run.path] = std::move(run);
  std::vector<FoundRun> runs;
  for (const auto& planned : plan.runs) {
    const auto at = found.find(planned.directory.lexically_normal());
    const bool same = at != found.end() && at->second.identity == planned.identity;
    runs.push_back(same ? std::move(at->second) : pending_run(planned.config, planned.directory));
  }
  return runs;
}

}  // namespace

Comparison compare_plan(const Plan& plan, std::size_t resamples, FromDisk from_disk, bool verdicts_only) {
  CompareRequest request;
  request.config = comparison_of(plan.study);
  request.resamples = resamples;
  request.in_given_order = true;
  request.tuned = plan.study.tuned;
  if (const auto& record = plan.study.sequential) request.sequential = SequentialRequest{record->maxima, record->comparisons, verdicts_only};
  FoundRuns found;
  if (from_disk == FromDisk::yes && path_exists(plan.directory)) found = find_runs({plan.directory});
  FoundRuns lacking;
  lacking.left_out = found.left_out;
  lacking.strangers = found.strangers;
  auto comparison = compare_runs(planned_runs(plan, std::move(found)), request);
  for (auto& note : notes_about(lacking)) comparison.notes.push_back(std::move(note));
  return comparison;
}

namespace {

// Prints whether the study's claims hold; false if one does not.
bool report_expectations(const std::vector<Expectation>& expectations, bool color) {
  bool all = true;
  for (const auto& e : expectations) {
    const bool met = e.state == Expectation::State::met, unmet = e.state == Expectation::State::unmet;
    const std::string mark = met ? "holds" : unmet ? "DOES NOT HOLD" : "cannot be said yet";
    std::string line = wrapped("claim: " + printable(e.claim) + ": " + mark + " (" + printable(e.found) + ")", terminal_width_of(1));
    const auto style = met ? Style::green : unmet ? Style::red : Style::yellow;
    if (const auto at = line.find(": " + mark); at != std::string::npos) line.replace(at + 2, mark.size(), styled(mark, style, color));
    std::cout << line;
    all = all && !unmet;
  }
  return all;
}

// The comparison of what is finished, printed and saved; false if a claim of the study does not hold.
bool print_and_save(const Comparison& comparison, const Plan& plan, const std::string& source, const CommonOptions& common) {
  const auto expectations = check_expectations(*plan.study.config.expect, comparison, source);
  Json json = comparison_json(comparison);
  for (const auto& e : expectations) {
    const char* state = e.state == Expectation::State::met ? "met" : e.state == Expectation::State::unmet ? "unmet" : "unknown";
    json["expect"].push_back({{"claim", e.claim}, {"source", e.source}, {"state", state}, {"found", e.found}});
  }
  remove_old_temporaries(plan.directory);
  try {
    write_file_atomically(plan.directory / "compare.json", dump_json_lossy(json, 2) + "\n");
  } catch (const SystemError& error) {
    log_warning(error.what());  // a study can be looked at where nothing can be written
  }
  const bool color = color_enabled(color_mode(common), 1);
  if (common.json) print_json(json);
  else {
    std::cout << printable(comparison_text(comparison, {TableForm::terminal, false, false, color, terminal_width_of(1)}), /*keep_colors=*/true);
  }
  std::cout << std::flush;  // before anything is logged: an error of writing is thrown here
  if (!common.json && !expectations.empty()) return std::cout << "\n", report_expectations(expectations, color);
  return std::none_of(expectations.begin(), expectations.end(), [](const Expectation& e) { return e.state == Expectation::State::unmet; });
}

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

}  // namespace

// Asks for the comparison of a study that has not begun: what cannot be compared is found before hours of training.
void check_study(const Study& study, const std::string& source) {
  for (const auto& variant : study.variants) task_shape(variant.config.task);  // a missing text is an error, too
  Study one_seed = study;
  one_seed.seeds.resize(1);  // all seeds of a variant have the same keys
  const auto comparison = compare_plan(make_plan(std::move(one_seed), "runs"), 1, FromDisk::no);
  check_expectations(*study.config.expect, comparison, source, /*complete=*/true);
}

namespace {

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
  if (bytes > kWorthSaying) log_info(format_counted(pending, "run") + " to train: they will take about " + format_bytes(bytes) + " on disk, in " + plan.directory.string());
}

}  // namespace

namespace {

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
    log_info(format_counted(adopted, "run") + (adopted == 1 ? " was" : " were") + " trained before, in another place of this study, and copied");
}

}  // namespace

TrainedStudy train_runs(const Study& study, const TrainOptions& options, const CommonOptions& common) {
  const auto shard = options.shard.empty() ? Shard() : parse_shard(options.shard);
  const auto number = [](std::size_t n) { return format_count(static_cast<std::int64_t>(n)); };
  TrainedStudy out{make_plan(study, common.out), {}, shard.count == 1 ? "" : "shard " + number(shard.index) + " of " + number(shard.count)};
  const Plan& plan = out.plan;
  const auto runs = runs_of(plan, shard);
  auto found = progress_of(plan.runs);
  if (!options.fresh) refuse_other_study(plan, found);
  const bool has_work =
      options.fresh || std::any_of(runs.begin(), runs.end(), [&](std::size_t i) { return found[i] != Progress::finished; });
  std::optional<StudyLock> lock;
  std::optional<Beacon> beacon;
  if (has_work) {  // what cannot be had is found before anything is written
    for (const auto& variant : study.variants) {
      require_memory(variant.config);
      training_engine().prepare(variant.config);
    }
    for (const auto& share : engine_shares(study)) {
      if (!options.goes_on) log_info(engine_line(share));
    }
    if (const auto few = few_workers_line(common, study); !few.empty() && !options.goes_on) log_info(few);
    if (!out.part.empty())
      log_info(out.part + ": " + number(runs.size()) + " of " + number(plan.runs.size()) + " runs; the others are trained elsewhere");
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

namespace {

ExitCode exit_code_of(const StudyOutcome& outcome) {
  return outcome.interrupted ? ExitCode::interrupted : !outcome.failed.empty() ? ExitCode::partial : ExitCode::done;
}

bool every_run_diverged(const Comparison& c) {
  std::size_t runs = 0, diverged = 0;
  for (const auto& facet : c.facets) {
    for (const auto& group : facet.groups) {
      runs += group.num_runs;
      diverged += group.num_diverged;
    }
  }
  return runs > 0 && diverged == runs;
}

void say_how_to_go_on(const CommonOptions& common) { log_info("interrupted; the same command goes on: " + shell_command(common.argv)); }

// A study that could not be tuned is not compared.
ExitCode end_of_tuning(const StudyOutcome& outcome, const CommonOptions& common) {
  if (outcome.directory_lost) throw SystemError("the results of the tuning are lost with their directory", "start it again");
  if (outcome.interrupted) say_how_to_go_on(common);
  else
    log_error(std::to_string(outcome.failed.size()) + " runs of the tuning failed (see their status.json); nothing was chosen. The same command tries them again");
  return exit_code_of(outcome);
}

}  // namespace

TrainedStudy train_tuned(const Study& study, const TrainOptions& options, const CommonOptions& common) {
  if (!study.tune) return train_runs(study, options, common);
  const auto tuned = tune_study(study, options, common);
  if (!tuned.study) return {make_plan(study, common.out), tuned.outcome, "", false};
  return train_runs(*tuned.study, options, common);
}

int train_study(const Study& asked, const std::string& source, const TrainOptions& options, const CommonOptions& common) {
  if (!options.shard.empty()) do_without_locks();
  check_study(asked, source);
  looks_so_far(asked, fs::path(common.out) / asked.name, options.fresh);
  const auto trained = asked.growing ? train_until_settled(asked, options, common) : train_tuned(asked, options, common);
  if (!trained.is_tuned) return static_cast<int>(end_of_tuning(trained.outcome, common));
  const auto& [plan, outcome, part, is_tuned] = trained;
  const Study& study = plan.study;
  if (outcome.directory_lost) throw SystemError("the results of this study are lost with its directory", "start it again");
  const auto number = [](std::size_t n) { return format_count(static_cast<std::int64_t>(n)); };
  ExitCode code = exit_code_of(outcome);
  if (!study.config.question.empty() && !common.json) std::cout << wrapped(printable(study.config.question), terminal_width_of(1)) << "\n";
  const auto comparison = compare_plan(plan, CompareRequest().resamples);
  const bool claims_hold = print_and_save(comparison, plan, source, common);
  // Neither that all diverged nor a claim about the whole study is judged by a part of it.
  const bool all_diverged = part.empty() && every_run_diverged(comparison);
  if (code == ExitCode::done && all_diverged) code = ExitCode::run_failed;
  if (code == ExitCode::done && !claims_hold && part.empty()) code = ExitCode::condition;
  log_info((part.empty() ? "" : part + ": ") + number(outcome.total) + (part.empty() ? "" : " of " + number(plan.runs.size())) +
           (outcome.total == 1 && part.empty() ? " run: " : " runs: ") + number(outcome.trained) + " trained now, " +
           number(outcome.reused) + " found finished" + (outcome.diverged > 0 ? ", " + number(outcome.diverged) + " diverged" : "") +
           (outcome.failed.empty() ? "" : ", " + number(outcome.failed.size()) + " failed (see their status.json)"));
  if (all_diverged)
    log_error(
        "every run diverged: there is nothing to compare. A lower train.optimizer.lr or train.clip_norm=1 may help, "
        "with --fresh or another name");
  if (outcome.interrupted) say_how_to_go_on(common);
  else if (part.empty()) log_info(last_lines(plan, comparison, {outcome.failed.size(), all_diverged}, common));
  else
    log_info("results: " + plan.directory.string() + "    more: ffn-train compare " + shell_word(plan.directory.string()) +
             " when the other shards are through (ffn-train merge first if they are elsewhere)");
  return static_cast<int>(code);
}

}  // namespace ffn::app
