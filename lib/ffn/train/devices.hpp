// GPUs as far as planning needs them: how many, and how many runs one trains at once. Touches no GPU.
#pragma once

#include "ffn/config/run_config.hpp"

namespace ffn {

/// A GPU's properties, from its driver.
struct GpuInfo {
  std::string name;
  std::int64_t bytes = 0;
};

/// The GPUs that CUDA programs started from here see (CUDA_VISIBLE_DEVICES), asked of the driver's management library: CUDA
/// itself must not be touched before workers are forked. Empty where there is none.
const std::vector<GpuInfo>& visible_gpus();

/// As CUDA_VISIBLE_DEVICES names them, where it is set; otherwise by number.
std::vector<std::string> gpus_to_deal();
/// Leaves one of them, in turn, to the programs that this worker starts.
void take_gpu(std::size_t worker);

/// Memory of the GPU that "cuda" or "cuda:N" names, or a common size where there is none to ask.
std::int64_t gpu_bytes_of(const std::string& device);

/// How many runs of this shape a GPU with so much memory trains as one stack: as many as fill it with work, if they fit. It
/// depends on nothing else: kernels are chosen by a stack's shape, so a run must meet the same width whenever it goes on.
std::int64_t stack_width(const RunConfig& config, const TaskShape& task, std::int64_t gpu_bytes);

}  // namespace ffn
