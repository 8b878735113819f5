// The engine behind the command line: each cohort is trained by what its config asks for, or what suits it.
#pragma once

#include "ffn/train/cohort.hpp"
#include "ffn/train/trainer.hpp"

namespace ffn {

/// Which engine trains a run, and why.
struct EngineChoice {
  bool cpu = true;
  std::string reason;
  const char* name() const { return cpu ? "cpu" : "torch"; }
};

/// `auto` takes the cpu engine on the CPU for what it covers. Opens nothing. Throws UsageError if compute.engine is cpu
/// and the model is not covered.
EngineChoice choose_engine(const RunConfig& config);

/// The learner of runs for which this engine was chosen. Opens LibTorch if needed.
std::unique_ptr<Learner> make_learner(const std::vector<RunConfig>& runs, const Task& task, std::size_t worker = 0,
                                      ThreadCount threads = {});

/// One per process.
Engine& training_engine();

}  // namespace ffn
