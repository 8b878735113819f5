// What a study takes: workers, engines, disk.
#include <algorithm>

#include "ffn/base/cores.hpp"
#include "ffn/data/task.hpp"
#include "ffn/kernels/isa.hpp"
#include "ffn/report/format.hpp"
#include "ffn/store/log.hpp"
#include "ffn/train/devices.hpp"
#include "ffn/train/engine.hpp"
#include "ffn/train/memory.hpp"
#include "train.hpp"

namespace ffn::app {

namespace {

// What the runs of a study that train on the CPU take at least, one of them at a time.
double least_of_worker(const Study& study) {
  double bytes = 0;
  for (const auto& variant : study.variants) {
    if (variant.config.compute.on_cpu()) bytes = std::max(bytes, least_memory(variant.config, task_shape(variant.config.task)).total());
  }
  return bytes;
}

}  // namespace

std::size_t job_count(const CommonOptions& common, const Study& study) {
  if (common.jobs > 0) return static_cast<std::size_t>(common.jobs);
  const auto on = [&](const char* device) {
    return std::all_of(study.variants.begin(), study.variants.end(),
                       [&](const Variant& v) { return v.config.compute.device.rfind(device, 0) == 0; });
  };
  if (on("cuda:")) return 1;
  if (on("cuda")) return std::max<std::size_t>(1, visible_gpus().size());
  return workers_that_fit(usable_cores(), least_of_worker(study), free_memory());
}

std::string few_workers_line(const CommonOptions& common, const Study& study) {
  const auto jobs = job_count(common, study), cores = usable_cores();
  const double least = least_of_worker(study), free = free_memory();
  if (common.jobs > 0 || least * static_cast<double>(cores) <= free) return "";
  return format_counted(jobs, "worker") + " for " + format_counted(cores, "core") + ": a run takes " + format_bytes(least) +
         " of memory at least, and " + format_bytes(free) + " are free (--jobs asks for more)";
}

std::vector<EngineShare> engine_shares(const Study& study) {
  std::vector<EngineShare> shares;
  for (const auto& variant : study.variants) {
    const auto choice = choose_engine(variant.config);
    const auto& device = variant.config.compute.device;
    auto share = std::find_if(shares.begin(), shares.end(), [&](const EngineShare& s) {
      return s.engine == choice.name() && s.device == device && s.reason == choice.reason;
    });
    if (share == shares.end()) share = shares.insert(share, {choice.name(), device, choice.reason, 0, 0});
    share->runs += study.seeds.size();
    if (!variant.config.compute.on_cpu())
      share->stack = std::max(share->stack, stack_width(variant.config, task_shape(variant.config.task), gpu_bytes_of(device)));
  }
  return shares;
}

std::string engine_line(const EngineShare& share) {
  return "engine: " + share.engine + ", " + share.device + ", " + kernel_isa() + " (" + share.reason + ")" +
         (share.stack > 0 ? "; up to " + format_count(share.stack) + " runs as one stack" : "");
}

double disk_bytes(const RunConfig& config, const Cost& cost) {
  const double evaluations = static_cast<double>(config.train.steps) / static_cast<double>(config.train.eval_every) + 1;
  return 4.0 * static_cast<double>(cost.parameters) + 260.0 * evaluations + 6000.0;
}

void warn_of_few_inputs(const std::vector<const RunConfig*>& configs) {
  for (const auto* config : configs) {
    const auto* moe = std::get_if<MoeConfig>(&config->model.ffn);
    const auto inputs = distinct_inputs(config->task);
    if (!moe || !inputs || moe->num_experts <= *inputs) continue;
    return log_warning("the task has " + format_count(*inputs) + " distinct inputs for " + format_count(moe->num_experts) +
                       " experts: moe/max_violation, moe/load_entropy and train/balance_loss measure the task, not the router; "
                       "choose more task.bits, a task.jitter, or fewer experts");
  }
}

void warn_of_few_inputs(const Study& study) {
  std::vector<const RunConfig*> configs;
  for (const auto& variant : study.variants) configs.push_back(&variant.config);
  warn_of_few_inputs(configs);
}

const FfnSize* matched_size(const Variant& variant) {
  const FfnSize* size = size_of(variant.config.model.ffn);
  return size && size->matched_width ? size : nullptr;
}

}  // namespace ffn::app
