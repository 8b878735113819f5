#include "ffn/train/devices.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "ffn/config/accounting.hpp"

namespace ffn {

namespace {

// The few functions of NVML (the driver's libnvidia-ml.so.1) that are needed; signatures from its API reference.
class Nvml {
 public:
#ifdef FFN_WITHOUT_TORCH  // nothing here runs on a GPU, and a static program opens no library
  Nvml() : library_(nullptr) {}
#else
  Nvml() : library_(::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {}
#endif
  ~Nvml() {
    if (library_) ::dlclose(library_);
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::vector<GpuInfo> gpus() const {
    using Device = void*;
    struct Memory {
      unsigned long long total, free, used;
    };
    const auto init = find<int (*)()>("nvmlInit_v2");
    const auto shutdown = find<int (*)()>("nvmlShutdown");
    const auto count = find<int (*)(unsigned*)>("nvmlDeviceGetCount_v2");
    const auto handle = find<int (*)(unsigned, Device*)>("nvmlDeviceGetHandleByIndex_v2");
    const auto name = find<int (*)(Device, char*, unsigned)>("nvmlDeviceGetName");
    const auto memory = find<int (*)(Device, Memory*)>("nvmlDeviceGetMemoryInfo");
    std::vector<GpuInfo> out;
    if (!init || !shutdown || !count || !handle || !name || !memory || init() != 0) return out;
    unsigned n = 0;
    if (count(&n) != 0) n = 0;
    for (unsigned i = 0; i < n; ++i) {
      Device device = nullptr;
      char text[96] = {};
      Memory bytes = {};
      if (handle(i, &device) == 0 && name(device, text, sizeof text) == 0 && memory(device, &bytes) == 0)
        out.push_back({text, static_cast<std::int64_t>(bytes.total)});
    }
    shutdown();
    return out;
  }

 private:
  template <class F>
  F find(const char* symbol) const {
    return library_ ? reinterpret_cast<F>(::dlsym(library_, symbol)) : nullptr;
  }
  void* library_;
};

// CUDA_VISIBLE_DEVICES as a list of numbers picks and orders; a list of identifiers is only counted. (CUDA numbers the fastest
// first and NVML by bus; that differs only where GPUs do.)
std::vector<GpuInfo> picked(const std::vector<GpuInfo>& all) {
  const char* list = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!list) return all;
  std::vector<GpuInfo> out;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    char* end = nullptr;
    const long number = std::strtol(word.c_str(), &end, 10);
    const bool is_number = end != word.c_str() && *end == '\0';
    if (is_number && (number < 0 || number >= static_cast<long>(all.size()))) break;  // CUDA stops reading there, too
    if (!all.empty()) out.push_back(is_number ? all[static_cast<std::size_t>(number)] : all[0]);
  }
  return out;
}

}  // namespace

const std::vector<GpuInfo>& visible_gpus() {
  static const std::vector<GpuInfo> gpus = picked(Nvml().gpus());
  return gpus;
}

std::vector<std::string> gpus_to_deal() {
  std::vector<std::string> out;
  if (const char* list = std::getenv("CUDA_VISIBLE_DEVICES")) {
    std::istringstream words(list);
    for (std::string word; std::getline(words, word, ',');) out.push_back(word);
  } else {
    for (std::size_t i = 0; i < visible_gpus().size(); ++i) out.push_back(std::to_string(i));
  }
  return out;
}

void take_gpu(std::size_t worker) {
  const auto gpus = gpus_to_deal();
  if (!gpus.empty()) ::setenv("CUDA_VISIBLE_DEVICES", gpus[worker % gpus.size()].c_str(), 1);
}

std::int64_t gpu_bytes_of(const std::string& device) {
  constexpr std::int64_t kCommon = std::int64_t{16} << 30;
  const auto& gpus = visible_gpus();
  const std::size_t index = device.size() > 5 ? static_cast<std::size_t>(std::atoi(device.c_str() + 5)) : 0;
  return index < gpus.size() ? gpus[index].bytes : kCommon;
}

std::int64_t stack_width(const RunConfig& config, const TaskShape& task, std::int64_t gpu_bytes) {
  const auto cost = model_cost(config.model, task).total;
  const auto tokens = static_cast<double>(config.train.batch_size * task.sequence_length);
  const double flops = std::max(1.0, 3 * tokens * static_cast<double>(cost.flops));  // of one run's step
  // Work that keeps a large GPU busy for about as long as launching a step's kernels takes.
  constexpr double kFlopsPerStep = 2e9, kMost = 4096;

  // A run's row, gradient, two moments and what the update makes on its way; values and gradients of every layer, generously.
  const auto d = static_cast<double>(config.model.d_model), t = static_cast<double>(task.sequence_length);
  const double heads = config.model.attention ? static_cast<double>(config.model.attention->heads) : 0;
  // A mixture of little work has every expert compute every token.
  const auto* mixture = std::get_if<MoeConfig>(&config.model.ffn);
  const double experts = mixture ? static_cast<double>(mixture->num_experts) : 0;
  const double all = mixture ? experts / static_cast<double>(mixture->top_k) : 1;
  const double per_token =
      static_cast<double>(config.model.blocks) * ((16 + 3 * experts) * d + all * static_cast<double>(cost.flops) / d + 6 * heads * t) +
      6 * static_cast<double>(task.num_classes + task.input_width);
  const double bytes = 4 * (10 * static_cast<double>(cost.parameters) + 2 * tokens * per_token);
  const double width = std::min({kFlopsPerStep / flops, 0.8 * static_cast<double>(gpu_bytes) / bytes, kMost});
  return std::int64_t{1} << static_cast<int>(std::floor(std::log2(std::max(1.0, width))));
}

}  // namespace ffn
