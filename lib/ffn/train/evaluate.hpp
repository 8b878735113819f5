// Validation of all runs of a cohort on their fixed sets.
#pragma once

#include "ffn/nn/network.hpp"
#include "ffn/tasks/task.hpp"

namespace ffn {

/// Per run: mean cross-entropy (nats) and accuracy over all scored positions of the set. No gradients, no dropout.
struct Validation {
  std::vector<double> loss, accuracy;
};
Validation validate(nn::Network& network, const Batch& set);

}  // namespace ffn
