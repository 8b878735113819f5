// The recorder's files for runs that finish, stop, diverge, fail or go on.
#include <nlohmann/json.hpp>

#include "ffn/config/accounting.hpp"
#include "ffn/data/run_identity.hpp"
#include "ffn/data/task.hpp"
#include "store/pretended_training.hpp"

using namespace ffn;
using namespace ffn::test_store;

TEST_CASE("a finished run leaves exactly the files of the design and no checkpoint") {
  const Reference reference;
  const RunDirectory& run = reference.runs[1].directory;

  CHECK(names_in(run.path()) == std::set<std::string>{"metrics.jsonl", "model.safetensors", "run.json"});
  CHECK(read_metrics(run.metrics_path()).size() == 9);
  const auto record = record_of(reference.runs[1]);
  CHECK(record.state == RunState::done);
  CHECK(record.step == 400);
  CHECK(record.identity == reference.runs[1].identity);
  const auto& summary = record.summary;
  CHECK(summary->identity == reference.runs[1].identity);
  CHECK(summary->find("val/loss")->final_value == pretended_loss(1, 400));
  CHECK(summary->hit->step == 150);
  const auto& config = reference.runs[1].config;
  CHECK(summary->cost.parameters == model_cost(config.model, task_shape(config.task)).total.parameters);
  CHECK(read_safetensors(run.weights_path()).metadata.at("step") == "400");
}

TEST_CASE("a run that was killed resumes from its checkpoint to the files of an undisturbed one") {
  const Reference reference;
  const ScratchDirectory scratch;
  {
    auto observer = recorder(two_runs(scratch.path()));
    pretend_to_train(observer, observer.runs(), {0, 270, false});  // checkpoints at 100 and 200, evaluations up to 250
  }
  std::ofstream(two_runs(scratch.path())[0].directory.metrics_path(), std::ios::app) << R"({"step":270,"time_)";  // and a torn line

  const auto runs = resuming(scratch.path());
  REQUIRE(runs[0].resumed_at == 200);
  auto observer = recorder(runs);
  pretend_to_train(observer, runs, {200, 400, true});

  check_same_results(reference, runs);
  const auto sessions = record_of(runs[0]).sessions;
  REQUIRE(sessions->size() == 2);
  CHECK((*sessions)[1]["resumed_at_step"] == 200);
}

TEST_CASE("an evaluation that a resumed run repeats stays on file once") {
  const Reference reference;
  const ScratchDirectory scratch;
  {
    auto observer = recorder(two_runs(scratch.path()));
    pretend_to_train(observer, observer.runs(), {0, 200, false});
  }
  const auto runs = resuming(scratch.path());
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
  CHECK(names_in(runs[0].directory.path()) == std::set<std::string>{"run.json"});
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
  result.end = RunEnd::interrupted;
  result.steps = 149;
  for (std::size_t run : {0, 1}) observer.checkpointed(run, {149, {}, {}});
  for (std::size_t run : {0, 1}) observer.finished(run, result);

  const auto status = record_of(runs[0]);
  CHECK(status.state == RunState::interrupted);
  CHECK(status.reason == "stopped on request at step 149; start again to resume");
  CHECK(status.step == 149);
  CHECK(checkpoint_of(runs[0])->step == 149);
  CHECK_FALSE(record_of(runs[0]).summary);
  CHECK_FALSE(observer.summary(0));
}

TEST_CASE("a diverged run is summed up, says why, and cannot be resumed") {
  const ScratchDirectory scratch;
  const auto runs = two_runs(scratch.path());
  auto observer = recorder(runs);
  pretend_to_train(observer, runs, {0, 120, false});
  RunResult result;
  result.end = RunEnd::diverged;
  result.steps = 120;
  result.divergence = Divergence{120, std::numeric_limits<double>::infinity(), 0.5, 1e12};

  observer.finished(0, result);
  observer.stepped(121, 0.5);

  const auto status = record_of(runs[0]);
  CHECK(status.state == RunState::diverged);
  CHECK(status.reason == "not finite at step 120: loss inf, learning rate 0.5, gradient norm 1e+12");
  CHECK(record_of(runs[0]).summary->end == RunEnd::diverged);
  CHECK_FALSE(checkpoint_of(runs[0]));
  CHECK(record_of(runs[1]).state == RunState::running);
}

TEST_CASE("an error marks the runs that had not finished, and only those") {
  const ScratchDirectory scratch;
  const auto runs = two_runs(scratch.path());
  auto observer = recorder(runs);
  pretend_to_train(observer, runs, {0, 100, false});
  observer.finished(0, {});

  observer.fail_unfinished("out of memory");

  CHECK(record_of(runs[0]).state == RunState::done);
  const auto status = record_of(runs[1]);
  CHECK(status.state == RunState::failed);
  CHECK(status.reason == "out of memory");
  CHECK(status.step == 100);
  CHECK(checkpoint_of(runs[1]));
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
    CHECK(record_of(run).state == RunState::failed);
    CHECK(record_of(run).reason == reason);
  }
}

TEST_CASE("a run whose directory is removed ends in an error; what is made anew, or changed by others, is written whole") {
  const ScratchDirectory scratch;
  const auto runs = two_runs(scratch.path());
  auto observer = recorder(runs);
  pretend_to_train(observer, runs, {0, 120, false});
  const auto path = runs[0].directory.path(), metrics = runs[0].directory.metrics_path();
  const std::string before = content(metrics);

  std::filesystem::remove_all(path);
  CHECK_FALSE(message_of<SystemError>([&] { observer.finished(0, {}); }).empty());
  CHECK_FALSE(std::filesystem::exists(path));
  std::filesystem::create_directories(path);
  for (const std::int64_t step : {150, 200}) {
    observer.evaluated(0, evaluation(step, 1, 1));
    observer.checkpointed(0, {step, {}, {}});
    observer.stepped(step, 1);
    CHECK(content(metrics).rfind(before, 0) == 0);
    CHECK(read_metrics(metrics).back().step == step);
    CHECK(runs[0].directory.read_checkpoint(400, runs[0].identity)->checkpoint.step == step);
    put(metrics, "by another process");
  }
}

TEST_CASE("a run that keeps its summary alone leaves run.json, also when it was resumed") {
  const Reference reference;
  for (const bool killed : {false, true}) {
    const ScratchDirectory scratch;
    auto runs = two_runs(scratch.path(), "summary");
    if (killed) {
      auto observer = recorder(runs);
      pretend_to_train(observer, runs, {0, 270, false});
      CHECK(names_in(runs[0].directory.path()) == std::set<std::string>{"checkpoint.safetensors", "metrics.jsonl", "run.json"});
      runs = resuming(scratch.path(), "summary");
    }
    auto observer = recorder(runs);
    pretend_to_train(observer, runs, {killed ? 200 : 0, 400, true});
    for (std::size_t run : {0, 1}) {
      CHECK(names_in(runs[run].directory.path()) == std::set<std::string>{"run.json"});
      RunSummary expected = *record_of(reference.runs[run]).summary;
      expected.files.clear();
      CHECK(summary_json(*record_of(runs[run]).summary) == summary_json(expected));
    }
  }
}

TEST_CASE("a run whose text is another one when it is read does not train") {
  const ScratchDirectory scratch;
  auto run = two_runs(scratch.path())[0];
  TextConfig text;
  text.file = (scratch.path() / "text.txt").string();
  std::ofstream(text.file) << std::string(5000, 'a') + std::string(5000, 'b');
  run.config.task = text;
  run.identity = run_identity(run.config, "hash of the text that the run is named by");
  auto observer = recorder({run});

  observer.prepared({true, 27, 16, 27}, "hash of the text that the run is named by");
  CHECK(message_of<DataError>([&] {
          observer.prepared({true, 27, 16, 27}, "hash of another text");
        }).find("its data file changed") != std::string::npos);
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
