// Values that layers compute during a forward pass, shown to a watcher. Training has none.
#pragma once

#include <cstdint>

namespace ffn::cpu {

/// A value within a block. The rows of a hidden layer are tokens (N), or in a mixture (token, choice) pairs (N·K) sorted by expert.
enum class Value {
  ffn_input,       ///< (N, D), behind a norm that stands before the layer
  pre_activation,  ///< x W + b (rows, F), of the gate in a gated layer; see HiddenLayer
  gate,            ///< φ of it (rows, F), in gated layers alone
  up,              ///< what the gate multiplies (rows, F), likewise
  hidden,          ///< what the map back reads (rows, F)
  ffn_output,      ///< (N, D), before the residual
  attention        ///< weights (B·H·T, T), or (H·T, T) where they go by position
};

/// Routing of N tokens by a mixture.
struct RoutedTokens {
  std::int64_t num_tokens, num_experts, top_k;
  const float* probability;    ///< (N, E), of the router
  const float* weight;         ///< (N, K)
  const std::int64_t* expert;  ///< (N, K)
  const std::int64_t* place;   ///< (N, K) row of the pair in the hidden layer
};

/// Pointers are valid during the call.
class Watcher {
 public:
  virtual ~Watcher() = default;
  /// Values that follow belong to this block.
  virtual void enter_block(std::int64_t block) = 0;
  virtual void see(Value what, std::int64_t rows, std::int64_t width, const float* values) = 0;
  /// Before the hidden layer of the experts.
  virtual void see_routing(const RoutedTokens& routed) = 0;
};

}  // namespace ffn::cpu
