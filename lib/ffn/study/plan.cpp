#include "ffn/study/plan.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "ffn/data/run_identity.hpp"
#include "ffn/data/starts.hpp"
#include "ffn/data/task.hpp"
#include "ffn/store/run_directory.hpp"
#include "ffn/train/devices.hpp"

namespace ffn {

std::vector<std::string> Plan::identities() const {
  std::vector<std::string> out;
  for (const auto& run : runs) out.push_back(run.identity);
  return out;
}

Plan make_plan(Study study, const std::filesystem::path& directory) {
  Plan plan;
  plan.directory = directory;
  std::vector<std::string> data;
  std::vector<std::vector<std::string>> identities;  // of each variant whose runs differ in their seeds alone
  for (const auto& variant : study.variants) {
    data.push_back(data_hash_now(variant.config));
    const bool by_seed = variant.of_seed.empty() && !variant.config.model.starts_per_seed();
    identities.push_back(by_seed ? run_identities(variant.config, data.back(), study.seeds) : std::vector<std::string>());
  }
  std::vector<RunPlace> places;
  Starts starts;
  for (std::size_t s = 0; s < study.seeds.size(); ++s) {
    for (std::size_t v = 0; v < study.variants.size(); ++v) {
      const auto& variant = study.variants[v];
      PlannedRun run{v, variant.of_seed.empty() ? variant.config : variant.of_seed.at(s), "", {}};
      run.config.seed = study.seeds[s];
      const std::string own = variant.of_seed.empty() ? data[v] : data_hash_now(run.config);  // what was tuned may be a file
      starts.take(run.config, own);
      run.identity = identities[v].empty() ? run_identity(run.config, own) : std::move(identities[v][s]);
      places.push_back({variant.name, run.config.seed, run.identity});
      plan.runs.push_back(std::move(run));
    }
  }
  auto directories = run_places(directory, places);
  auto beside = runs_beside(directories);
  for (std::size_t i = 0; i < directories.size(); ++i) {
    plan.runs[i].directory = std::move(directories[i]);
    plan.runs[i].beside = std::move(beside[i]);
  }
  plan.study = std::move(study);
  return plan;
}

namespace {

// Runs do not wait for each other in a cohort, so its size is no matter of speed, but of files that are flushed together, of
// what a crashed worker loses, and of balance: what a study that is stopped half-way can be out of balance by.
std::size_t size_that_pays(const RunConfig& config) {
  if (config.command) return 1;
  const auto shape = task_shape(config.task);
  const auto& device = config.compute.device;
  if (!config.compute.on_cpu()) return static_cast<std::size_t>(stack_width(config, shape, gpu_bytes_of(device)));
  const auto tokens = static_cast<double>(config.train.batch_size * shape.sequence_length);
  const double flops = 3 * tokens * static_cast<double>(model_cost(config.model, shape).total.flops);
  // The least time of a step, and the rate of a slow core.
  constexpr double kSecondsPerStep = 1e-6, kFlopsPerSecond = 3e10;
  constexpr double kSecondsAtMost = 2, kMost = 64;
  const double seconds = static_cast<double>(config.train.steps) * (kSecondsPerStep + flops / kFlopsPerSecond);
  return static_cast<std::size_t>(std::clamp(kSecondsAtMost / seconds, 1.0, kMost));
}

}  // namespace

std::vector<PlannedCohort> make_cohorts(const Plan& plan, const std::vector<std::size_t>& pending, std::size_t jobs, std::size_t largest) {
  std::vector<std::string> order;  // of first appearance, which is seed-major
  std::map<std::string, std::vector<std::size_t>> groups;
  std::map<std::size_t, std::string> key_of;  // a variant: its runs differ in their seeds alone, unless each was tuned for itself
  for (const auto index : pending) {
    const auto& run = plan.runs[index];
    auto& key = key_of[run.variant];
    if (key.empty() || !plan.study.variants[run.variant].of_seed.empty()) key = cohort_key(run.config);
    auto& group = groups[key];
    if (group.empty()) order.push_back(key);
    group.push_back(index);
  }
  std::vector<PlannedCohort> cohorts;
  for (const auto& key : order) {
    const auto& group = groups[key];
    std::size_t size = std::min(size_that_pays(plan.runs[group[0]].config), largest > 0 ? largest : group.size());
    // Fewer groups than workers: split them, as evenly as it goes.
    const std::size_t parts = order.size() < jobs ? (jobs + order.size() - 1) / order.size() : 1;
    size = std::max<std::size_t>(1, std::min(size, (group.size() + parts - 1) / parts));
    // A group is in seed order: quarters of it let every variant have its first seeds before any has its last.
    // Not on a GPU, whose runs wait for each other: there, what is not in the stack does not train.
    constexpr std::size_t kBlocks = 4;
    if (plan.runs[group[0]].config.compute.on_cpu()) size = std::min(size, (group.size() + kBlocks - 1) / kBlocks);
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
