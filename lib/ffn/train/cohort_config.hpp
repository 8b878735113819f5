// Training settings from the configs of a cohort's runs.
#pragma once

#include "ffn/config/run_config.hpp"
#include "ffn/data/task.hpp"
#include "ffn/train/learner.hpp"

namespace ffn {

/// Share of the hidden layer that dropout zeroes; 0 without an FFN.
double dropout_rate(const FfnConfig& ffn);

/// One per run.
std::vector<OptimizerConfig> optimizer_configs(const std::vector<RunConfig>& runs);
/// Likewise: which examples it trains on and is validated on.
std::vector<DataSeeds> data_seeds(const std::vector<RunConfig>& runs);

/// The factor that brings a gradient of this norm to at most clip_norm; 1 if clip_norm is 0 (no clipping).
/// 1e-6 is added to the norm, as torch.nn.utils.clip_grad_norm_ does.
double clip_scale(double clip_norm, double grad_norm);

/// Loss and gradient norm: what has to be finite for a run to go on.
bool is_finite(const StepReport& report);

}  // namespace ffn
