// Lines about the workers, engines and data of a study.
#include <algorithm>
#include <set>

#include "ffn/base/cores.hpp"
#include "ffn/data/task.hpp"
#include "ffn/kernels/isa.hpp"
#include "ffn/report/format.hpp"
#include "ffn/store/log.hpp"
#include "ffn/train/memory.hpp"
#include "ffn/train/parameter_groups.hpp"
#include "train.hpp"

namespace ffn::app {

std::string few_workers_line(const CommonOptions& common, const Study& study) {
  const auto jobs = job_count(common.jobs, study), cores = usable_cores();
  const double least = least_bytes_of_worker(study), free = free_memory();
  if (common.jobs > 0 || least * static_cast<double>(cores) <= free) return "";
  return format_counted(jobs, "worker") + " for " + format_counted(cores, "core") + ": a run takes " + format_bytes(least) +
         " of memory at least, and " + format_bytes(free) + " are free (--jobs asks for more)";
}

std::string engine_line(const EngineShare& share) {
  return "engine: " + share.engine + ", " + (share.engine == share.device ? "" : share.device + ", ") + kernel_isa() + " (" + share.reason +
         ")" +
         (share.stack > 0 ? "; up to " + format_count(share.stack) + " runs as one stack; a run takes " + format_bytes(share.bytes) +
                                " of GPU memory at least, and " + format_bytes(share.host_bytes) + " on the host"
                          : "");
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

void log_data_and_optimizer(const std::vector<const RunConfig*>& configs) {
  std::set<std::string> said;
  for (const auto* config : configs) {
    for (const auto& text : {describe_data(config->task), division_text(*config)}) {
      if (!text.empty() && said.insert(text).second) log_info(text);
    }
  }
}

namespace {

std::vector<const RunConfig*> configs_of(const Study& study) {
  std::vector<const RunConfig*> configs;
  for (const auto& variant : study.variants) {
    if (!variant.config.command) configs.push_back(&variant.config);
  }
  return configs;
}

}  // namespace

void warn_of_few_inputs(const Study& study) { warn_of_few_inputs(configs_of(study)); }
void log_data_and_optimizer(const Study& study) { log_data_and_optimizer(configs_of(study)); }

}  // namespace ffn::app
