// Compiled formulas of a `sequence` task.
#pragma once

#include "ffn/base/random.hpp"
#include "ffn/config/function_task.hpp"

namespace ffn {

struct SequenceTaskSpec {
  static constexpr std::int64_t kDraws = 1 << 24;  ///< whole numbers below, of which `tokens` makes tokens
  std::int64_t alphabet = 0, length = 0;
  std::optional<TaskFormula> tokens, label, scored;  ///< no `tokens`: drawn evenly; no `scored`: all positions are
  std::int64_t classes = 0;

  /// f of the formulas: a number for each token of the alphabet, which all sequences of a run share.
  std::vector<double> draw_fixed(std::uint64_t seed) const;
  /// Tokens (examples, T). Throws DataError where their formula is undefined.
  void draw_tokens(RandomStream& random, const std::vector<double>& fixed, std::int64_t examples, std::int64_t* tokens_out) const;
  /// Tokens (examples, T) → labels (examples, T), -1 where a position is not scored.
  void write_labels(const std::int64_t* tokens_in, const std::vector<double>& fixed, std::int64_t examples, std::int64_t* labels) const;
};

FunctionProblem check_sequence(const SequenceConfig& config);
/// The spec of a config that was checked.
SequenceTaskSpec sequence_task(const SequenceConfig& config);

}  // namespace ffn
