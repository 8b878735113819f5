#include "ffn/study/needs.hpp"

#include <algorithm>

#include "ffn/base/cores.hpp"
#include "ffn/data/task.hpp"
#include "ffn/train/devices.hpp"
#include "ffn/train/engine.hpp"
#include "ffn/train/memory.hpp"

namespace ffn {

double least_bytes_of_worker(const Study& study) {
  double bytes = 0;
  for (const auto& variant : study.variants) {
    if (!variant.config.command && variant.config.compute.on_cpu())
      bytes = std::max(bytes, least_memory(variant.config, task_shape(variant.config.task)).total());
  }
  return bytes;
}

std::size_t job_count(int asked, const Study& study) {
  if (asked > 0) return static_cast<std::size_t>(asked);
  if (study.variants[0].config.command) return std::max<std::size_t>(1, gpus_to_deal().size());  // each may take all cores
  const auto on = [&](const char* device) {
    return std::all_of(study.variants.begin(), study.variants.end(),
                       [&](const Variant& v) { return v.config.compute.device.rfind(device, 0) == 0; });
  };
  if (on("cuda:")) return 1;
  if (on("cuda")) return std::max<std::size_t>(1, visible_gpus().size());
  return affordable_workers(usable_cores(), least_bytes_of_worker(study), free_memory());
}

std::vector<EngineShare> engine_shares(const Study& study) {
  std::vector<EngineShare> shares;
  for (const auto& variant : study.variants) {
    if (variant.config.command) continue;
    const auto choice = choose_engine(variant.config);
    const auto& device = variant.config.compute.device;
    auto share = std::find_if(shares.begin(), shares.end(), [&](const EngineShare& s) {
      return s.engine == choice.name() && s.device == device && s.reason == choice.reason;
    });
    if (share == shares.end()) share = shares.insert(share, {choice.name(), device, choice.reason, 0, 0, 0, 0});
    share->runs += study.seeds.size();
    if (variant.config.compute.on_cpu()) continue;
    const auto shape = task_shape(variant.config.task);
    share->stack = std::max(share->stack, stack_width(variant.config, shape, gpu_bytes_of(device)));
    share->bytes = std::max(share->bytes, least_memory(variant.config, shape).total());
    share->host_bytes = std::max(share->host_bytes, least_host_memory(variant.config, shape));
  }
  return shares;
}

double disk_bytes(const RunConfig& config, const Cost& cost) {
  constexpr double kDirectoryAndRecord = 8192, kEvaluation = 260;
  if (config.keep == "summary" || config.command) return kDirectoryAndRecord;
  const double evaluations = static_cast<double>(config.train.steps) / static_cast<double>(config.train.eval_every) + 1;
  const double rows_of_state =
      config.keep == "best"                                                                                                     ? 1
      : config.keep != "state"                                                                                                  ? 0
      : std::holds_alternative<SgdConfig>(config.train.optimizer) || std::holds_alternative<LionConfig>(config.train.optimizer) ? 2
                                                                                                                                : 3;
  return 4.0 * (1 + rows_of_state) * static_cast<double>(cost.parameters) + kEvaluation * evaluations + kDirectoryAndRecord;
}

const FfnSize* matched_size(const Variant& variant) {
  const FfnSize* size = size_of(variant.config.model.ffn);
  return size && size->matched_width ? size : nullptr;
}

std::optional<double> mismatch_of(const Variant& variant) {
  if (variant.config.model.written) return variant.config.model.mismatch;
  const FfnSize* size = matched_size(variant);
  return size ? std::optional(size->mismatch) : std::nullopt;
}

}  // namespace ffn
