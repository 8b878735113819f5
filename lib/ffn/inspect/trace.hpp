// One input step by step through the feed-forward layers: expand, activate, compress.
#pragma once

#include "ffn/inspect/inspection.hpp"

namespace ffn::inspect {

/// A matrix with a row per token, or in a mixture per token and expert.
struct TraceStep {
  std::string name;     ///< "z = x W₁ + b₁"
  std::string meaning;  ///< "expand"
  std::vector<std::string> rows;
  std::int64_t width = 0;
  std::vector<double> values;  ///< (rows, width)
};

struct TraceBlock {
  std::vector<std::string> routes;  ///< of a mixture: which experts a token goes to, a line each
  std::vector<TraceStep> steps;
  std::vector<TraceStep> attention;  ///< one per head: rows look at columns, which are the tokens
};

struct Trace {
  std::vector<std::string> tokens;
  std::vector<TraceBlock> blocks;
  std::vector<std::vector<ClassLogit>> outcomes;  ///< per token the most probable classes with their probabilities, none where logits are
                                                  ///< not finite; or the values of a vector
  std::vector<std::string> notes;
  std::vector<std::string> outcome_names(std::size_t token, const Inputs& inputs) const;
};

Trace trace(TrainedNetwork& trained, const Inputs& inputs);

}  // namespace ffn::inspect
