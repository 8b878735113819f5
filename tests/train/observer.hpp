// Collects what an engine reports, for tests.
#pragma once

#include <map>

#include "ffn/train/cpu_learner.hpp"
#include "ffn/train/trainer.hpp"

namespace ffn::test {

struct Collected : TrainObserver {
  std::map<std::size_t, std::vector<Evaluation>> evaluations;
  std::map<std::size_t, RunResult> results;
  std::map<std::size_t, std::vector<Checkpoint>> checkpoints;
  std::int64_t steps = 0, stop_at = -1;
  std::int64_t leave_evaluation_at = -1, asked = 0;  // in the middle, at that step
  bool left = false;

  void evaluated(std::size_t run, const Evaluation& e) override { evaluations[run].push_back(e); }
  void stepped(std::int64_t step, double) override { steps = step; }
  void checkpointed(std::size_t run, const Checkpoint& c) override { checkpoints[run].push_back(c); }
  void finished(std::size_t run, const RunResult& r) override { results[run] = r; }
  bool stop_requested() override { return stop_at >= 0 && steps >= stop_at; }
  bool evaluating(std::int64_t step, double share) override {
    ++asked;
    left = left || (step == leave_evaluation_at && share > 0.3);
    return !left;
  }

  double last(std::size_t run, const std::string& metric) const {
    for (const auto& [name, value] : evaluations.at(run).back().metrics) {
      if (name == metric) return value;
    }
    throw std::out_of_range("no metric " + metric);
  }
};

/// On the cpu engine.
inline Trainer cpu_trainer(const Cohort& cohort, TrainObserver& observer) {
  const auto learner = [](const std::vector<RunConfig>& runs, const Task& task) { return std::make_unique<CpuLearner>(runs, task); };
  return Trainer(cohort, observer, learner, "cpu");
}

inline Collected train(const std::vector<RunConfig>& runs) {
  Collected collected;
  cpu_trainer({runs, {}}, collected).train();
  return collected;
}

/// Metrics after step `from` without times, the hit, and weights, as one string: equal strings mean equal bits.
inline std::string bits_of(const Collected& c, std::size_t run, std::int64_t from = -1) {
  std::string out;
  const auto put = [&](const auto& value) { out.append(reinterpret_cast<const char*>(&value), sizeof value); };
  const auto evaluations = c.evaluations.find(run);
  if (evaluations == c.evaluations.end()) throw std::out_of_range("a run without evaluations");
  for (const auto& e : evaluations->second) {
    if (e.step <= from) continue;
    put(e.step);
    put(e.tokens);
    for (const auto& [name, value] : e.metrics) {
      out += name;
      put(value);
    }
  }
  if (const auto& hit = c.results.at(run).hit) {
    put(hit->step);
    put(hit->tokens);
  }
  for (const auto& w : c.results.at(run).weights) out += w.name + w.bytes;
  return out;
}

}  // namespace ffn::test
