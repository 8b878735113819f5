// The recorder against an engine that only pretends: its numbers are functions of seed and step, as the real ones are.
#include <sys/syscall.h>
#include <unistd.h>

#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "ffn/record/run_recorder.hpp"
#include "ffn/record/safetensors.hpp"
#include "record/runs.hpp"
#include "record/scratch.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

/// While it lives, every file that is flushed in this process is noted, and what stood in `watched` at that moment.
class FlushWatch {
 public:
  explicit FlushWatch(std::vector<std::filesystem::path> watched) : watched_(std::move(watched)) { current = this; }
  ~FlushWatch() { current = nullptr; }
  FlushWatch(const FlushWatch&) = delete;
  FlushWatch& operator=(const FlushWatch&) = delete;

  void note(int fd) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::string file = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd)).string();
    flushed.insert(file.substr(0, file.find(".tmp-")));
    std::string contents;
    for (const auto& path : watched_) contents += content(path);
    seen.insert(contents);
  }

  std::multiset<std::string> flushed;  // the names that temporaries are to have
  std::set<std::string> seen;          // the contents of the watched files, whenever a file was flushed
  static FlushWatch* current;

 private:
  const std::vector<std::filesystem::path> watched_;
  std::mutex mutex_;
};

FlushWatch* FlushWatch::current = nullptr;

}  // namespace

// Instead of the C library's.
extern "C" int fsync(int fd) {
  if (FlushWatch::current) FlushWatch::current->note(fd);
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace {

struct Plan {
  std::int64_t from = 0, to = 400;
  bool finish = true;
};

double pretended_loss(std::int64_t seed, std::int64_t step) { return static_cast<double>((step * 37 + seed * 11) % 101) / 7.0; }

/// Evaluates every 50 steps, at 0 too, and checkpoints every 100, after the evaluation.
void pretend_to_train(TrainObserver& observer, const std::vector<RecordedRun>& runs, const Plan& plan) {
  for (std::int64_t step = plan.from; step <= plan.to; ++step) {
    const bool begins = step == plan.from;
    if (!begins) observer.stepped(step, 0.5);
    for (std::size_t run = 0; run < runs.size(); ++run) {
      const double loss = pretended_loss(runs[run].config.seed, step);
      if (step % 50 == 0 && (!begins || step == 0)) observer.evaluated(run, evaluation(step, loss, 1 / (1 + loss)));
      if (step % 100 == 0 && !begins) observer.checkpointed(run, {step, {{"sum", loss}}, some_weights()});
    }
    if (observer.stop_requested()) return;
  }
  if (!plan.finish) return;
  RunResult result;
  result.steps = plan.to, result.train_seconds = 100;
  result.hit = Hit{150, 37.5, 9600};
  result.weights = some_weights();
  for (std::size_t run = 0; run < runs.size(); ++run) observer.finished(run, result);
}

std::vector<RecordedRun> two_runs(const std::filesystem::path& root, std::optional<std::int64_t> resumed_at = {}) {
  std::vector<RecordedRun> runs;
  for (const std::int64_t seed : {0, 1}) {
    const RunConfig config = small_run(seed);
    runs.push_back({RunDirectory(single_run_path(root, config.name, seed)), config, run_identity(config), resumed_at});
  }
  return runs;
}

RunRecorder recorder(std::vector<RecordedRun> runs) { return {std::move(runs), {"ffn-train", "--config", "small.json"}, {"fused", "isa"}}; }

std::set<std::string> names_in(const std::filesystem::path& directory) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) names.insert(entry.path().filename());
  return names;
}

/// The undisturbed run's files, to compare with.
struct Reference {
  ScratchDirectory scratch;
  std::vector<RecordedRun> runs = two_runs(scratch.path());
  Reference() {
    auto observer = recorder(runs);
    pretend_to_train(observer, runs, {});
  }
  std::string file(std::size_t run, const std::string& name) const { return content(runs[run].directory.path() / name); }
};

void check_same_results(const Reference& reference, const std::vector<RecordedRun>& runs) {
  for (std::size_t run = 0; run < runs.size(); ++run) {
    for (const char* name : {"config.json", "metrics.jsonl", "summary.json", "model.safetensors"}) {
      INFO("run " << run << " " << name);
      CHECK_FALSE(reference.file(run, name).empty());
      CHECK(content(runs[run].directory.path() / name) == reference.file(run, name));
    }
    CHECK(names_in(runs[run].directory.path()) == names_in(reference.runs[run].directory.path()));
    CHECK(read_status(runs[run].directory.path())->state == RunState::done);
  }
}

}  // namespace

TEST_CASE("a finished run leaves exactly the files of the design and no checkpoint") {
  const Reference reference;
  const RunDirectory& run = reference.runs[1].directory;

  CHECK(names_in(run.path()) ==
        std::set<std::string>{"config.json", "meta.json", "metrics.jsonl", "model.safetensors", "status.json", "summary.json"});
  CHECK(read_metrics(run.metrics_path()).size() == 9);
  const auto status = read_status(run.path());
  CHECK(status->state == RunState::done);
  CHECK(status->step == 400);
  CHECK(status->identity == reference.runs[1].identity);
  const auto summary = read_summary(run.path());
  CHECK(summary->identity == reference.runs[1].identity);
  CHECK(summary->find("val/loss")->final_value == pretended_loss(1, 400));
  CHECK(summary->hit->step == 150);
  const auto& config = reference.runs[1].config;
  CHECK(summary->cost.parameters == model_cost(config.model, task_shape(config.task)).total.parameters);
  CHECK(read_safetensors(run.weights_path()).metadata.at("step") == "400");
}

TEST_CASE("a run is running, with a config and no results, before its first step") {
  const ScratchDirectory scratch;
  const auto runs = two_runs(scratch.path());

  const auto observer = recorder(runs);

  CHECK(names_in(runs[0].directory.path()) == std::set<std::string>{"config.json", "meta.json", "status.json"});
  CHECK(read_status(runs[0].directory.path())->state == RunState::running);
  CHECK_FALSE(observer.summary(0));
}

TEST_CASE("a run that was killed resumes from its checkpoint to the files of an undisturbed one") {
  const Reference reference;
  const ScratchDirectory scratch;
  {
    auto observer = recorder(two_runs(scratch.path()));
    pretend_to_train(observer, observer.runs(), {0, 270, false});  // checkpoints at 100 and 200, evaluations up to 250
  }
  auto runs = two_runs(scratch.path());
  std::ofstream(runs[0].directory.metrics_path(), std::ios::app) << R"({"step":270,"time_)";  // and a torn line

  for (auto& run : runs) run.resumed_at = run.directory.read_checkpoint(run.identity)->step;
  REQUIRE(runs[0].resumed_at == 200);
  put(runs[0].directory.path() / "summary.json", "of a config that was longer once");
  auto observer = recorder(runs);
  CHECK_FALSE(read_summary(runs[0].directory.path()));
  pretend_to_train(observer, runs, {200, 400, true});

  check_same_results(reference, runs);
  CHECK(Json::parse(content(runs[0].directory.path() / "meta.json"))["resumed_at_step"] == 200);
}

TEST_CASE("an evaluation that a resumed run repeats stays on file once") {
  const Reference reference;
  const ScratchDirectory scratch;
  {
    auto observer = recorder(two_runs(scratch.path()));
    pretend_to_train(observer, observer.runs(), {0, 200, false});
  }
  const auto runs = two_runs(scratch.path(), 200);
  auto observer = recorder(runs);

  for (std::size_t run : {0, 1}) observer.evaluated(run, evaluation(200, 99, 99));
  pretend_to_train(observer, runs, {200, 400, true});

  check_same_results(reference, runs);
}

TEST_CASE("a run that starts again from 0 leaves nothing of the earlier attempt") {
  const Reference reference;
  const ScratchDirectory scratch;
  {
    auto observer = recorder(two_runs(scratch.path()));
    pretend_to_train(observer, observer.runs(), {0, 350, true});
    observer.checkpointed(0, {});
  }
  const auto runs = two_runs(scratch.path());
  auto observer = recorder(runs);
  CHECK(names_in(runs[0].directory.path()) == std::set<std::string>{"config.json", "meta.json", "status.json"});
  pretend_to_train(observer, runs, {});

  check_same_results(reference, runs);
}

TEST_CASE("an interrupted run keeps its checkpoint and has no summary") {
  const ScratchDirectory scratch;
  const auto runs = two_runs(scratch.path());
  auto observer = recorder(runs);
  std::int64_t asked = 0;
  observer.stop_when([&asked] { return ++asked == 150; });
  pretend_to_train(observer, runs, {});
  CHECK(asked == 150);

  RunResult result;
  result.end = RunEnd::interrupted, result.steps = 149;
  for (std::size_t run : {0, 1}) observer.checkpointed(run, {149, {}, {}});
  for (std::size_t run : {0, 1}) observer.finished(run, result);

  const auto status = read_status(runs[0].directory.path());
  CHECK(status->state == RunState::interrupted);
  CHECK(status->reason == "stopped on request at step 149; start again to resume");
  CHECK(status->step == 149);
  CHECK(runs[0].directory.read_checkpoint(runs[0].identity)->step == 149);
  CHECK_FALSE(read_summary(runs[0].directory.path()));
  CHECK_FALSE(observer.summary(0));
}

TEST_CASE("a diverged run is summed up, says why, and cannot be resumed") {
  const ScratchDirectory scratch;
  const auto runs = two_runs(scratch.path());
  auto observer = recorder(runs);
  pretend_to_train(observer, runs, {0, 120, false});
  RunResult result;
  result.end = RunEnd::diverged, result.steps = 120;
  result.divergence = Divergence{120, std::numeric_limits<double>::infinity(), 0.5, 1e12};

  observer.finished(0, result);
  observer.stepped(121, 0.5);

  const auto status = read_status(runs[0].directory.path());
  CHECK(status->state == RunState::diverged);
  CHECK(status->reason == "not finite at step 120: loss inf, learning rate 0.5, gradient norm 1e+12");
  CHECK(read_summary(runs[0].directory.path())->end == RunEnd::diverged);
  CHECK_FALSE(runs[0].directory.read_checkpoint(runs[0].identity));
  CHECK(read_status(runs[1].directory.path())->state == RunState::running);
}

TEST_CASE("an error marks the runs that had not finished, and only those") {
  const ScratchDirectory scratch;
  const auto runs = two_runs(scratch.path());
  auto observer = recorder(runs);
  pretend_to_train(observer, runs, {0, 100, false});
  observer.finished(0, {});

  observer.fail_unfinished("out of memory");

  CHECK(read_status(runs[0].directory.path())->state == RunState::done);
  const auto status = read_status(runs[1].directory.path());
  CHECK(status->state == RunState::failed);
  CHECK(status->reason == "out of memory");
  CHECK(status->step == 100);
  CHECK(runs[1].directory.read_checkpoint(runs[1].identity));
}

TEST_CASE("a run whose metrics cannot be written ends as failed, with the reason") {
  const ScratchDirectory scratch;
  const auto runs = two_runs(scratch.path());
  auto observer = recorder(runs);
  std::filesystem::create_directories(runs[0].directory.metrics_path());  // nothing can be appended to a directory
  std::string reason;
  try {
    pretend_to_train(observer, runs, {});
  } catch (const SystemError& error) {
    reason = error.what();
    observer.fail_unfinished(reason);
  }
  CHECK(reason.find("metrics.jsonl") != std::string::npos);
  for (const auto& run : runs) {
    CHECK(read_status(run.directory.path())->state == RunState::failed);
    CHECK(read_status(run.directory.path())->reason == reason);
  }
}

TEST_CASE("runs that finish together appear together, when all of them are on the disk") {
  const ScratchDirectory scratch;
  const auto runs = two_runs(scratch.path());
  auto observer = recorder(runs);
  pretend_to_train(observer, runs, {0, 50, false});
  std::vector<std::filesystem::path> results;
  std::multiset<std::string> expected;
  for (const auto& run : runs) {
    for (const char* name : {"model.safetensors", "summary.json", "status.json"}) results.push_back(run.directory.path() / name);
  }
  for (const auto& path : results) expected.insert(path.string());
  const std::string before = content(results[2]) + content(results[5]);
  FlushWatch watch(results);

  observer.finished(0, {});
  CHECK(watch.flushed.empty());
  CHECK(read_status(runs[0].directory.path())->state == RunState::running);
  CHECK_FALSE(std::filesystem::exists(results[0]));
  CHECK_FALSE(observer.summary(0));
  observer.finished(1, {});

  CHECK(watch.flushed == expected);
  CHECK(watch.seen == std::set<std::string>{before});  // the statuses "running", and nothing else
  for (std::size_t run : {0, 1}) {
    CHECK(observer.summary(run));
    CHECK(read_status(runs[run].directory.path())->state == RunState::done);
    CHECK(names_in(runs[run].directory.path()) ==
          std::set<std::string>{"config.json", "meta.json", "metrics.jsonl", "model.safetensors", "status.json", "summary.json"});
  }
}

TEST_CASE("checkpoints of one step appear together, when the metrics are on the disk, too") {
  const ScratchDirectory scratch;
  const auto runs = two_runs(scratch.path());
  auto observer = recorder(runs);
  pretend_to_train(observer, runs, {0, 50, false});
  std::vector<std::filesystem::path> checkpoints;
  std::multiset<std::string> expected;
  for (const auto& run : runs) {
    checkpoints.push_back(run.directory.checkpoint_path());
    expected.insert(run.directory.checkpoint_path().string());
    expected.insert(run.directory.metrics_path().string());
  }
  FlushWatch watch(checkpoints);

  observer.checkpointed(0, {50, {}, some_weights()});
  CHECK_FALSE(runs[0].directory.read_checkpoint(runs[0].identity));
  observer.checkpointed(1, {50, {}, some_weights()});

  CHECK(watch.flushed == expected);
  CHECK(watch.seen == std::set<std::string>{""});
  for (const auto& run : runs) {
    CHECK(run.directory.read_checkpoint(run.identity)->step == 50);
    CHECK(read_status(run.directory.path())->step == 50);
    CHECK(names_in(run.directory.checkpoint_path().parent_path()).size() == 1);
  }
}

TEST_CASE("a run that ends before its neighbours does not wait for them longer than a step") {
  const ScratchDirectory scratch;
  const auto runs = two_runs(scratch.path());
  auto observer = recorder(runs);
  pretend_to_train(observer, runs, {0, 120, false});

  observer.finished(0, {});
  CHECK(read_status(runs[0].directory.path())->state == RunState::running);
  CHECK(runs[0].directory.read_checkpoint(runs[0].identity));
  observer.stepped(121, 0.5);
  CHECK(read_status(runs[0].directory.path())->state == RunState::done);
  CHECK_FALSE(runs[0].directory.read_checkpoint(runs[0].identity));

  observer.checkpointed(1, {200, {}, some_weights()});  // the last one left: nobody to wait for
  CHECK(runs[1].directory.read_checkpoint(runs[1].identity)->step == 200);
}

TEST_CASE("no run is done without its weights and summary, whichever of the files cannot be put in place") {
  for (const char* name : {"model.safetensors", "summary.json"}) {
    INFO(name);
    const ScratchDirectory scratch;
    const auto runs = two_runs(scratch.path());
    auto observer = recorder(runs);
    pretend_to_train(observer, runs, {0, 120, false});
    std::filesystem::create_directories(runs[1].directory.path() / name / "in the way");

    observer.finished(0, {});
    const auto problem = message_of<SystemError>([&] { observer.finished(1, {}); });
    CHECK(problem == "cannot replace " + (runs[1].directory.path() / name).string() + ": Is a directory");
    CHECK(read_status(runs[1].directory.path())->state == RunState::running);

    observer.fail_unfinished(problem);
    for (std::size_t run : {0, 1}) {
      const auto status = read_status(runs[run].directory.path());
      CHECK(status->state == RunState::failed);
      CHECK(status->reason == problem);
      CHECK(status->step == 100);  // and not what the run that could not be recorded had reached
      CHECK(runs[run].directory.read_checkpoint(runs[run].identity)->step == 100);
      CHECK_FALSE(observer.summary(run));
      for (const auto& file : names_in(runs[run].directory.path())) CHECK(file.find(".tmp-") == std::string::npos);
    }
  }
}

TEST_CASE("what waits for its neighbours while the process is killed leaves no trace in the run that goes on") {
  const ScratchDirectory scratch;
  const auto runs = two_runs(scratch.path(), 100);
  {
    auto observer = recorder(two_runs(scratch.path()));
    pretend_to_train(observer, runs, {0, 100, false});
  }
  for (const auto& run : runs) {
    put(run.directory.weights_path().string() + ".tmp-123-4", "half of the wei");
    put(run.directory.checkpoint_path().string() + ".tmp-123-5", "");
    put(run.directory.path() / "notes.txt", "mine");
  }

  auto observer = recorder(runs);

  for (const auto& run : runs) {
    CHECK(names_in(run.directory.path()) ==
          std::set<std::string>{"checkpoint", "config.json", "meta.json", "metrics.jsonl", "notes.txt", "status.json"});
    CHECK(names_in(run.directory.checkpoint_path().parent_path()) == std::set<std::string>{"state.safetensors"});
  }
}

TEST_CASE("a second observer hears everything and can ask for a stop") {
  struct Second final : TrainObserver {
    std::vector<std::string> heard;
    bool stop = false;
    void evaluated(std::size_t run, const Evaluation& e) override {
      heard.push_back("e" + std::to_string(run) + "@" + std::to_string(e.step));
    }
    void stepped(std::int64_t step, double) override { heard.push_back("s@" + std::to_string(step)); }
    void checkpointed(std::size_t run, const Checkpoint& c) override {
      heard.push_back("c" + std::to_string(run) + "@" + std::to_string(c.step));
    }
    void finished(std::size_t run, const RunResult&) override { heard.push_back("f" + std::to_string(run)); }
    bool stop_requested() override { return stop; }
  } second;
  const ScratchDirectory scratch;
  const auto runs = two_runs(scratch.path());
  auto observer = recorder(runs);
  observer.forward_to(&second);

  observer.evaluated(1, evaluation(0, 1, 1));
  observer.stepped(1, 0.5);
  observer.checkpointed(0, {1, {}, {}});
  observer.finished(1, {});

  CHECK(second.heard == std::vector<std::string>{"e1@0", "s@1", "c0@1", "f1"});  // f1: with 0's checkpoint, all were waiting
  observer.finished(0, {});
  CHECK(second.heard.back() == "f0");
  CHECK_FALSE(observer.stop_requested());
  second.stop = true;
  CHECK(observer.stop_requested());
}
