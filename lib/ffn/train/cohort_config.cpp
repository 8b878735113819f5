#include "ffn/train/cohort_config.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/base/random.hpp"

namespace ffn {

double dropout_rate(const FfnConfig& ffn) {
  const FfnSize* size = size_of(ffn);
  return size ? size->dropout : 0;
}

std::vector<OptimizerConfig> optimizer_configs(const std::vector<RunConfig>& runs) {
  std::vector<OptimizerConfig> configs;
  for (const auto& run : runs) configs.push_back(run.train.optimizer);
  return configs;
}

std::vector<DataSeeds> data_seeds(const std::vector<RunConfig>& runs) {
  std::vector<DataSeeds> seeds;
  for (const auto& run : runs) {
    const auto root = static_cast<std::uint64_t>(run.seed);
    seeds.push_back({sub_seed(root, "data"), sub_seed(root, "validation")});
  }
  return seeds;
}

double clip_scale(double clip_norm, double grad_norm) { return clip_norm > 0 ? std::min(1.0, clip_norm / (grad_norm + 1e-6)) : 1.0; }

bool is_finite(const StepReport& report) { return std::isfinite(report.loss) && std::isfinite(report.grad_norm); }

}  // namespace ffn
