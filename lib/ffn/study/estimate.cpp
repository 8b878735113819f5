#include "ffn/study/estimate.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <utility>

#include "ffn/base/files.hpp"
#include "ffn/study/train_cohort.hpp"
#include "ffn/study/worker_pool.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Processor time of all threads of this process; idle threads, and threads that wait for files, take none.
double processor_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec); };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// Measured use of one cohort.
struct Tried {
  double seconds = 0, processor_seconds = 0;
  double evaluation_share = 0;  ///< of the seconds
};

// Mean time of what is measured in pieces; the first piece, which touches memory for the first time, counts only if it is the only one.
class Pieces {
 public:
  void add(double seconds, std::int64_t count) {
    if (++pieces_ == 2) {
      seconds_ = 0;
      count_ = 0;
    }
    seconds_ += seconds;
    count_ += count;
  }
  std::optional<double> mean() const { return count_ > 0 ? std::optional<double>(seconds_ / static_cast<double>(count_)) : std::nullopt; }

 private:
  int pieces_ = 0;
  double seconds_ = 0;
  std::int64_t count_ = 0;
};

// Tells the time of steps from that of evaluations. The trainer asks whether to stop after every evaluation and reports after
// every few steps, and the two take turns. An evaluation that takes longer than `limit` is left in the middle and counts by its share.
class Stopwatch final : public TrainObserver {
 public:
  Pieces steps, evaluations;

  /// `train`: of one of `runs` that train one after the other, as they are planned. A tenth of their time is enough.
  Stopwatch(double limit, TrainConfig train, std::size_t runs) : limit_(limit), train_(std::move(train)), runs_(runs) {}

  double evaluation_seconds() const {
    const auto num_evaluations = (train_.steps + train_.eval_every - 1) / train_.eval_every + 1;
    return evaluations.mean().value_or(0) * static_cast<double>(num_evaluations);
  }
  double run_seconds() const { return steps.mean().value_or(0) * static_cast<double>(train_.steps) + evaluation_seconds(); }
  bool left_evaluation() const { return left_evaluation_; }

  void evaluated(std::size_t, const Evaluation&) override { evaluated_ = true; }
  bool stop_requested() override {
    end_evaluation();
    began_ = Clock::now();
    if (left_evaluation_) return true;
    return evaluations.mean() && steps.mean() && seconds_since(start_) > std::min(limit_, 0.1 * static_cast<double>(runs_) * run_seconds());
  }
  bool evaluating(std::int64_t, double share) override {
    if (share < share_ || share_ == 0) {
      share_began_ = Clock::now();
      share_ = share;
    }
    if (share == share_ || seconds_since(share_began_) < limit_) return true;
    evaluations = {};
    evaluations.add(seconds_since(share_began_) / (share - share_), 1);
    left_evaluation_ = true;
    return false;
  }
  void stepped(std::int64_t step, double) override {
    steps.add(seconds_since(began_), step - step_);
    step_ = step;
    began_ = Clock::now();
  }
  void finished(std::size_t, const RunResult&) override { end_evaluation(); }

 private:
  void end_evaluation() {
    if (evaluated_ && step_ > 0) evaluations.add(seconds_since(began_), 1);
    evaluated_ = false;
  }

  double limit_;
  TrainConfig train_;
  std::size_t runs_;
  bool evaluated_ = false, left_evaluation_ = false;
  double share_ = 0;  // of the evaluation that share_began_ is of, then
  Clock::time_point share_began_;
  std::int64_t step_ = 0;
  Clock::time_point start_ = Clock::now(), began_ = start_;
};

// Steps and evaluations for so many seconds, and one of each at least; of all runs on a GPU, where they train as one stack, elsewhere of
// the first.
Stopwatch try_for(double seconds, const Plan& plan, const PlannedCohort& cohort, Engine& engine) {
  constexpr std::int64_t kOften = 3;  // evaluated, that a probe sees both
  const RunConfig& first = plan.runs[cohort[0]].config;
  Cohort probe;
  for (const auto index : cohort) {
    auto& run = probe.runs.emplace_back(plan.runs[index].config);
    run.train.eval_every = std::min(run.train.eval_every, kOften);
    run.train.checkpoint_every = run.train.steps + 1;
    if (run.train.target) run.train.target->stop = false;  // a hit would end the probe before it has seen enough
    if (run.compute.on_cpu()) break;
  }
  give_back_freed_memory();
  Stopwatch watch(seconds, first.train, first.compute.on_cpu() ? cohort.size() : 1);
  engine.train(probe, watch);
  if (!watch.left_evaluation() || watch.steps.mean()) return watch;
  // The first evaluation was too long to see a step behind it.
  for (auto& run : probe.runs) run.train.eval_examples = 1;
  Stopwatch of_steps(seconds, first.train, 1);
  engine.train(probe, of_steps);
  watch.steps = of_steps.steps;
  return watch;
}

// The runs' own work, by steps and evaluations; on a GPU runs train as one stack, elsewhere one after the other.
Tried tried_in_part(const Plan& plan, const PlannedCohort& cohort, Engine& engine) {
  const bool stacked = !plan.runs[cohort[0]].config.compute.on_cpu();
  const auto start = Clock::now();
  const double processor_start = processor_seconds();
  const auto watch = try_for(0.3, plan, cohort, engine);
  const double cores = (processor_seconds() - processor_start) / std::max(seconds_since(start), 1e-6);
  const double one = watch.run_seconds();
  const double all = stacked ? one : one * static_cast<double>(cohort.size());
  return {all, all * cores, one > 0 ? watch.evaluation_seconds() / one : 0};
}

// A directory on the disk that the results will lie on; it goes with everything in it.
class Scratch {
 public:
  explicit Scratch(const fs::path& wanted) {
    std::error_code error;
    fs::path above = absolute_path(wanted);
    while (!fs::is_directory(above, error) && above.has_relative_path()) above = above.parent_path();
    for (const auto& parent : {above, fs::temp_directory_path(error)}) {
      const fs::path path = parent / (".ffn-train-plan-" + std::to_string(::getpid()));
      if (fs::create_directory(path, error)) {
        path_ = path;
        return;
      }
    }
  }
  ~Scratch() {
    std::error_code error;
    if (!path_.empty()) fs::remove_all(path_, error);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const fs::path& path() const { return path_; }  ///< empty if nothing can be written

 private:
  fs::path path_;
};

// The whole cohort with all its files, or nothing where none can be written.
std::optional<Tried> tried_as_a_whole(const Plan& plan, const PlannedCohort& cohort, Engine& engine, const fs::path& scratch) {
  if (scratch.empty()) return std::nullopt;
  Plan copy;
  copy.directory = scratch;
  PlannedCohort all;
  for (const auto index : cohort) {
    copy.runs.push_back(plan.runs[index]);
    copy.runs.back().directory = scratch / std::to_string(index);
    copy.runs.back().beside.clear();  // it begins, that all of it is measured
    all.push_back(copy.runs.size() - 1);
  }
  const auto start = Clock::now();
  const double processor_start = processor_seconds();
  const auto outcome = train_cohort(copy, all, engine, {}, {});
  if (outcome.trained != all.size()) return std::nullopt;
  return Tried{seconds_since(start), processor_seconds() - processor_start, 0};
}

// The most that this process has had in memory since the last reset_peak().
double peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return 1024 * std::strtod(line.c_str() + 6, nullptr);
  }
  return 0;
}

void reset_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

}  // namespace

Use estimate_use(const Plan& plan, const std::vector<PlannedCohort>& cohorts, std::size_t jobs, std::size_t cores, Engine& engine,
                 const std::function<double(const RunConfig&)>& row_bytes) {
  constexpr double kShort = 1;
  const std::size_t share = thread_share(cores, std::min(jobs, cohorts.size()));
  const auto with_threads = [&engine](std::size_t threads) { engine.set_threads([threads] { return threads; }); };
  const auto key_of = [&](const PlannedCohort& cohort) {
    return cohort_key(plan.runs[cohort[0]].config) + "×" + std::to_string(cohort.size());
  };
  Use out;
  std::map<std::string, Tried> known;
  std::vector<const PlannedCohort*> of_each_kind;
  double all_seconds = 0;
  for (const auto& cohort : cohorts) {
    auto found = known.find(key_of(cohort));
    if (found == known.end()) {
      const RunConfig& config = plan.runs[cohort[0]].config;
      give_back_freed_memory();  // a peak is no less than what is there
      reset_peak();
      double part = 0;
      if (share != cores) {  // the last at work has them all, and each thread has memory of its own
        with_threads(cores);
        try_for(0, plan, cohort, engine);
        part = peak_bytes();
      }
      with_threads(share);
      found = known.emplace(key_of(cohort), tried_in_part(plan, cohort, engine)).first;
      if (part == 0) part = peak_bytes();
      // A checkpoint that is saved is there twice more: its tensors in the file's order, and the file's bytes.
      const bool saves = config.keep == "state" || config.train.checkpoint_every < config.train.steps;
      const double rows = static_cast<double>(cohort.size()) + (saves ? 1 : -1);
      if (part > 0 && config.compute.on_cpu()) out.peak_bytes = std::max({out.peak_bytes, peak_bytes(), part + rows * row_bytes(config)});
      of_each_kind.push_back(&cohort);
    }
    all_seconds += found->second.seconds;
  }
  // Short ones as a whole, files and all, as long as that takes no longer than the study; what that adds to the parts counts for the
  // others.
  const double affordable = all_seconds / static_cast<double>(std::max<std::size_t>(1, std::min({jobs, cores, cohorts.size()})));
  const Scratch scratch(plan.directory);
  double spent = 0, of_parts = 0, processor_of_parts = 0, processor_spent = 0;
  std::vector<Tried*> others;
  for (const auto* cohort : of_each_kind) {
    Tried& tried = known.at(key_of(*cohort));
    if (tried.seconds >= kShort) continue;
    const auto whole =
        spent == 0 || spent + tried.seconds <= affordable ? tried_as_a_whole(plan, *cohort, engine, scratch.path()) : std::nullopt;
    if (!whole) {
      others.push_back(&tried);
      continue;
    }
    of_parts += tried.seconds;
    processor_of_parts += tried.processor_seconds;
    spent += whole->seconds;
    processor_spent += whole->processor_seconds;
    tried = {whole->seconds, whole->processor_seconds, tried.evaluation_share * std::min(1.0, tried.seconds / whole->seconds)};
    if (out.peak_bytes > 0) out.peak_bytes = std::max(out.peak_bytes, peak_bytes());
  }
  for (auto* tried : others) {
    if (!(of_parts > 0 && processor_of_parts > 0)) break;
    tried->seconds *= spent / of_parts;
    tried->processor_seconds *= processor_spent / processor_of_parts;
  }
  double processor_seconds = 0, evaluation_seconds = 0, worker_seconds = 0;
  std::vector<double> busy(std::max<std::size_t>(1, jobs), 0.0);  // until when each worker is
  for (const auto& cohort : cohorts) {
    const Tried& tried = known.at(key_of(cohort));
    *std::min_element(busy.begin(), busy.end()) += tried.seconds;  // whoever is free first takes the next
    processor_seconds += tried.processor_seconds;
    worker_seconds += tried.seconds;
    evaluation_seconds += tried.seconds * tried.evaluation_share;
  }
  out.evaluation_share = worker_seconds > 0 ? evaluation_seconds / worker_seconds : 0;
  // Workers and threads beyond the cores take turns.
  out.seconds = std::max(*std::max_element(busy.begin(), busy.end()), processor_seconds / static_cast<double>(cores));
  return out;
}

}  // namespace ffn
