// How far a network's outputs move in the first steps, against its hidden width: the coordinate check of muP.
#pragma once

#include <vector>

#include "ffn/config/run_config.hpp"

namespace ffn {

struct WidthChange {
  std::int64_t d_ff;
  double change;  ///< mean |outputs after - outputs before| on the validation set
  double loss;    ///< validation loss after
};

/// Trains `config` for `steps` steps at each hidden width, from the same seed and on the same batches, by the cpu engine. Source: Yang et
/// al. 2021, arXiv:2203.03466, appendix D.1. Throws UsageError for a model that the cpu engine does not cover, and one without a hidden
/// width.
std::vector<WidthChange> coord_check(const RunConfig& config, const std::vector<std::int64_t>& widths, std::int64_t steps);

}  // namespace ffn
