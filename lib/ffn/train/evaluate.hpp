// Validation of all runs of a cohort on their fixed sets.
#pragma once

#include "ffn/nn/network.hpp"
#include "ffn/tasks/task.hpp"

namespace ffn {

/// Per run: mean cross-entropy (nats) and accuracy over all scored positions of the set. No gradients, no dropout.
struct Validation {
  std::vector<double> loss, accuracy;
};

/// Examples of a sequence length that are evaluated at once: bounds memory, and must not depend on the number of runs.
std::int64_t evaluation_chunk(std::int64_t sequence_length);

Validation validate(nn::Network& network, const Batch& set);

}  // namespace ffn
