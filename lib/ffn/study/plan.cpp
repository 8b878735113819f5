#include "ffn/study/plan.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "ffn/record/run_directory.hpp"

namespace ffn {

Plan make_plan(Study study, const std::filesystem::path& out) {
  Plan plan;
  plan.directory = out / study.name;
  for (const auto seed : study.seeds) {
    for (std::size_t v = 0; v < study.variants.size(); ++v) {
      PlannedRun run{v, study.variants[v].config, {}, {}};
      run.config.seed = seed;
      run.identity = run_identity(run.config);
      run.directory = study_run_path(out, study.name, study.variants[v].name, seed);
      plan.runs.push_back(std::move(run));
    }
  }
  plan.study = std::move(study);
  return plan;
}

namespace {

// Bookkeeping of a step costs about as much as 10 MFLOP of arithmetic (150 µs at 70 GFLOP/s); once a cohort does ten times
// that per step, more runs gain nothing and only hold back the other workers.
std::size_t size_that_pays(const RunConfig& config) {
  const auto shape = task_shape(config.task);
  const double tokens = static_cast<double>(config.train.batch_size * shape.sequence_length);
  const double flops = 3 * tokens * static_cast<double>(model_cost(config.model, shape).total.flops);
  constexpr double kEnough = 1e8, kMost = 64;
  // And no cohort should take longer than this: it is what a study that is stopped half-way can be out of balance by.
  constexpr double kSecondsAtMost = 5, kSecondsPerStep = 150e-6, kFlopsPerSecond = 2e10;
  const double seconds_per_step = kSecondsAtMost / static_cast<double>(config.train.steps);
  const double in_time = (seconds_per_step - kSecondsPerStep) * kFlopsPerSecond / std::max(1.0, flops);
  return static_cast<std::size_t>(std::clamp(std::min(kEnough / std::max(1.0, flops), in_time), 1.0, kMost));
}

}  // namespace

std::vector<PlannedCohort> make_cohorts(const Plan& plan, const std::vector<std::size_t>& pending, std::size_t jobs, std::size_t largest) {
  std::vector<std::string> order;  // of first appearance, which is seed-major
  std::map<std::string, std::vector<std::size_t>> groups;
  for (const auto index : pending) {
    const auto key = cohort_key(plan.runs[index].config);
    if (groups[key].empty()) order.push_back(key);
    groups[key].push_back(index);
  }
  std::vector<PlannedCohort> cohorts;
  for (const auto& key : order) {
    const auto& group = groups[key];
    std::size_t size = std::min(size_that_pays(plan.runs[group[0]].config), largest > 0 ? largest : group.size());
    // Fewer groups than workers: split them, as evenly as it goes.
    const std::size_t parts = order.size() < jobs ? (jobs + order.size() - 1) / order.size() : 1;
    size = std::max<std::size_t>(1, std::min(size, (group.size() + parts - 1) / parts));
    // A group is in seed order: quarters of it let every variant have its first seeds before any has its last.
    constexpr std::size_t kBlocks = 4;
    size = std::min(size, (group.size() + kBlocks - 1) / kBlocks);
    for (std::size_t begin = 0; begin < group.size(); begin += size) {
      cohorts.emplace_back(group.begin() + static_cast<std::ptrdiff_t>(begin),
                           group.begin() + static_cast<std::ptrdiff_t>(std::min(begin + size, group.size())));
    }
  }
  // By the first run of each: the groups' first seeds come before anyone's later ones.
  std::stable_sort(cohorts.begin(), cohorts.end(), [](const auto& a, const auto& b) { return a[0] < b[0]; });
  return cohorts;
}

}  // namespace ffn
