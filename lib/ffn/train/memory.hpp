// Whether a machine can hold what a config needs, before anything is allocated or written.
#pragma once

#include <cstddef>

#include "ffn/config/run_config.hpp"

namespace ffn {

/// Bytes that training one run takes at least, whatever the engine.
struct LeastMemory {
  double parameters = 0;  ///< how many
  double weights = 0;     ///< with their gradient and the optimizer's state
  double step = 0;        ///< inputs, outputs and hidden layers of one batch
  double validation = 0;  ///< its inputs and labels
  double total() const { return weights + step + validation; }
};
LeastMemory least_memory(const RunConfig& config, const TaskShape& shape);

/// Bytes that the host takes at least for a run that trains on a GPU: its weights and optimizer state pass through it, to start and to be
/// kept.
double least_host_memory(const RunConfig& config, const TaskShape& shape);

/// Bytes that this process may use: memory and swap, or a lower limit (ulimit -v, a container's).
double usable_memory();

/// Bytes that all processes can still take without swapping, or a container's lower limit.
double free_memory();

/// How many workers the memory allows: one at least, `cores` at most, and no more than fit into `free` with `least` bytes each.
std::size_t affordable_workers(std::size_t cores, double least, double free);

}  // namespace ffn
