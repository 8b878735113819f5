// An engine that only pretends: its numbers are functions of seed and step, as the real ones are.
#pragma once

#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "ffn/base/safetensors.hpp"
#include "ffn/data/run_identity.hpp"
#include "ffn/store/run_recorder.hpp"
#include "store/runs.hpp"
#include "store/scratch.hpp"
#include "support/catch_plain.hpp"

namespace ffn::test_store {

struct Plan {
  std::int64_t from = 0, to = 400;
  bool finish = true;
};

inline double pretended_loss(std::int64_t seed, std::int64_t step) { return static_cast<double>((step * 37 + seed * 11) % 101) / 7.0; }

/// Evaluates every 50 steps, at 0 too, and checkpoints every 100, after the evaluation.
inline void pretend_to_train(TrainObserver& observer, const std::vector<RecordedRun>& runs, const Plan& plan) {
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
  result.steps = plan.to;
  result.train_seconds = 100;
  result.hit = Hit{150, 37.5, 9600};
  result.weights = some_weights();
  for (std::size_t run = 0; run < runs.size(); ++run) observer.finished(run, result);
}

inline std::vector<RecordedRun> two_runs(const std::filesystem::path& root, const std::string& keep = "all") {
  std::vector<RecordedRun> runs;
  make_directory(root / "small");
  for (const std::int64_t seed : {0, 1}) {
    RunConfig config = small_run(seed);
    config.keep = keep;
    runs.push_back({RunDirectory(root / config.name / run_directory_name(seed, run_identity(config))),
                    config,
                    run_identity(config),
                    std::nullopt,
                    {}});
  }
  return runs;
}

inline std::optional<Checkpoint> checkpoint_of(const RecordedRun& run) {
  const auto stored = run.directory.read_checkpoint(run.config.train.steps, run.identity);
  return stored ? std::optional<Checkpoint>(stored->checkpoint) : std::nullopt;
}

/// The same runs, as they go on from their checkpoints.
inline std::vector<RecordedRun> resuming(const std::filesystem::path& root, const std::string& keep = "all") {
  auto runs = two_runs(root, keep);
  for (auto& run : runs) {
    const auto stored = run.directory.read_checkpoint(run.config.train.steps, run.identity).value();
    run.resumed_at = stored.checkpoint.step;
    run.metrics = stored.metrics;
    run.sessions = read_record(run.directory.path())->sessions;
  }
  return runs;
}

inline RunRecorder recorder(std::vector<RecordedRun> runs) {
  return {std::move(runs), {"ffn-train", "--config", "small.json"}, {"cpu", "isa"}};
}

inline std::set<std::string> names_in(const std::filesystem::path& directory) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) names.insert(entry.path().filename());
  return names;
}

inline RunRecord record_of(const RecordedRun& run) { return read_record(run.directory.path()).value(); }

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

inline void check_same_results(const Reference& reference, const std::vector<RecordedRun>& runs) {
  for (std::size_t run = 0; run < runs.size(); ++run) {
    for (const char* name : {"metrics.jsonl", "model.safetensors"}) {
      INFO("run " << run << " " << name);
      CHECK_FALSE(reference.file(run, name).empty());
      CHECK(content(runs[run].directory.path() / name) == reference.file(run, name));
    }
    CHECK(names_in(runs[run].directory.path()) == names_in(reference.runs[run].directory.path()));
    CHECK(record_of(runs[run]).state == RunState::done);
    CHECK(summary_json(*record_of(runs[run]).summary) == summary_json(*record_of(reference.runs[run]).summary));
  }
}

}  // namespace ffn::test_store
