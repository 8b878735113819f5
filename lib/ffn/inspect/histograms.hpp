// Histograms of a finished run, for TensorBoard: of its weights, and of what its hidden layers compute.
#pragma once

#include <string>

#include "ffn/report/export_runs.hpp"

namespace ffn::exports {

struct Histograms {
  std::string events;
  std::string note;  ///< why there are none of the activations; empty where there are
};

/// At the run's last step: weights/<name>, and for a few thousand tokens of what it was trained on pre_activation/<layer> (what φ gets)
/// and hidden/<layer> (what goes into the last matrix), a layer being block0, or in a mixture block0.expert0. Throws CheckpointError for
/// weights that are damaged.
Histograms histograms_of(const FoundRun& run, double wall_time);

}  // namespace ffn::exports
