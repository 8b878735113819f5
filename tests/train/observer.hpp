// Collects what an engine reports, for tests.
#pragma once

#include <map>

#include "ffn/engine/interface.hpp"

namespace ffn::test {

struct Collected : TrainObserver {
  std::map<std::size_t, std::vector<Evaluation>> evaluations;
  std::map<std::size_t, RunResult> results;
  std::map<std::size_t, std::vector<Checkpoint>> checkpoints;
  std::int64_t steps = 0, stop_at = -1;

  void evaluated(std::size_t run, const Evaluation& e) override { evaluations[run].push_back(e); }
  void stepped(std::int64_t step, double) override { steps = step; }
  void checkpointed(std::size_t run, const Checkpoint& c) override { checkpoints[run].push_back(c); }
  void finished(std::size_t run, const RunResult& r) override { results[run] = r; }
  bool stop_requested() override { return stop_at >= 0 && steps >= stop_at; }

  double last(std::size_t run, const std::string& metric) const {
    for (const auto& [name, value] : evaluations.at(run).back().metrics) {
      if (name == metric) return value;
    }
    throw std::out_of_range("no metric " + metric);
  }
};

/// Metrics without times, and weights, as one string: equal strings mean equal bits.
inline std::string bits_of(const Collected& c, std::size_t run) {
  std::string out;
  const auto put = [&](const void* p, std::size_t n) { out.append(static_cast<const char*>(p), n); };
  for (const auto& e : c.evaluations.at(run)) {
    put(&e.step, sizeof e.step), put(&e.tokens, sizeof e.tokens);
    for (const auto& [name, value] : e.metrics) out += name, put(&value, sizeof value);
  }
  for (const auto& w : c.results.at(run).weights) out += w.name + w.bytes;
  return out;
}

}  // namespace ffn::test
