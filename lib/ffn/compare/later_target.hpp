// A target that is asked for when the runs have been trained: `compare --target 'val/loss<=0.01'`.
#pragma once

#include "ffn/compare/compare.hpp"
#include "ffn/config/train_config.hpp"

namespace ffn {

/// The target of "METRIC<=VALUE" or "METRIC>=VALUE". Throws UsageError.
TargetConfig read_target(const std::string& text);

/// Reads the curves of these runs and makes them runs of this target, as if they had been trained with it. Throws UsageError where a curve
/// does not say: it was not kept, lacks the metric, or ends at the hit of another target (train.target.stop).
void apply_target(const TargetConfig& target, const std::string& text, std::vector<FoundRun>& runs);

}  // namespace ffn
