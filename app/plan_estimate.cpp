#include "plan_estimate.hpp"

#include <algorithm>

#include "ffn/base/cores.hpp"
#include "ffn/data/task.hpp"
#include "ffn/store/run_directory.hpp"
#include "ffn/study/estimate.hpp"
#include "ffn/study/needs.hpp"
#include "ffn/study/train_cohort.hpp"
#include "ffn/train/engine.hpp"
#include "ffn/train/memory.hpp"
#include "train.hpp"

namespace ffn::app {

PlanEstimate counted(const Plan& plan, std::size_t jobs) {
  PlanEstimate out;
  for (const auto& variant : plan.study.variants) {
    if (variant.config.command) {
      out.lines.push_back({&variant, {}});
      out.lines.back().bytes = disk_bytes(variant.config, {});
      continue;
    }
    const auto& train = variant.config.train;
    const auto shape = task_shape(variant.config.task);
    PlanLine line{&variant, model_cost(variant.config.model, shape)};
    const auto tokens = train.batch_size * shape.sequence_length;
    line.bytes = disk_bytes(variant.config, line.cost.total);
    line.flops = 3.0 * static_cast<double>(line.cost.total.flops * tokens) * static_cast<double>(train.steps);
    out.lines.push_back(line);
  }
  const auto found = progress_of(plan.runs);
  std::vector<std::size_t> pending;
  for (std::size_t i = 0; i < plan.runs.size(); ++i) {
    const auto& run = plan.runs[i];
    auto& line = out.lines[run.variant];
    ++line.runs;
    out.bytes += line.bytes;
    if (found[i] == Progress::finished) {
      ++line.finished;
      continue;
    }
    pending.push_back(i);
    double left = 1;
    if (auto shorter = find_shorter_run(RunDirectory(run.directory), run.config, run.identity, run.beside)) {
      if (shorter->obstacle.empty()) left -= static_cast<double>(shorter->step) / static_cast<double>(run.config.train.steps);
      out.shorter_runs.push_back(std::move(*shorter));
    }
    out.flops += left * line.flops;
    out.left += left;
  }
  if (!pending.empty()) out.left /= static_cast<double>(pending.size());
  auto cohorts = make_cohorts(plan, pending, jobs);
  out.runs = plan.runs.size();
  out.pending = pending.size();
  out.cohorts = cohorts.size();
  out.jobs = jobs;
  out.workers = std::max<std::size_t>(1, std::min(jobs, cohorts.size()));
  out.planned = std::move(cohorts);
  return out;
}

void measure(const Plan& plan, PlanEstimate& out) {
  for (const auto& cohort : out.planned) require_memory(plan.runs[cohort[0]].config);
  const auto use = estimate_use(plan, out.planned, out.jobs, usable_cores(), training_engine(), [](const RunConfig& config) {
    const auto least = least_memory(config, task_shape(config.task));
    return least.weights - sizeof(float) * least.parameters;  // all but a gradient of its own
  });
  out.seconds = use.seconds * out.left;
  out.evaluation_seconds = *out.seconds * use.evaluation_share;
  out.peak_bytes = use.peak_bytes;
}

void add_tuning(const Plan& plan, bool probe, PlanEstimate& out) {
  PlanEstimate tuning = counted(plan, out.jobs);
  if (probe) measure(plan, tuning);
  out.tuning_runs = tuning.runs;
  out.tuning_pending = tuning.pending;
  out.workers = std::max(out.workers, tuning.workers);
  out.bytes += tuning.bytes;
  out.flops += tuning.flops;
  if (out.seconds && tuning.seconds) *out.seconds += *tuning.seconds;
  out.evaluation_seconds += tuning.evaluation_seconds;
  out.peak_bytes = std::max(out.peak_bytes, tuning.peak_bytes);
}

}  // namespace ffn::app
