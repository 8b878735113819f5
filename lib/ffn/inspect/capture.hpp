// Records the values that the layers of a network compute for some inputs.
#pragma once

#include "ffn/inspect/inputs.hpp"
#include "ffn/layers/watch.hpp"

namespace ffn::inspect {

/// A hidden layer, or one expert's, for the tokens that it saw.
struct HiddenRows {
  std::int64_t width = 0;                               ///< F
  std::vector<std::int64_t> token;                      ///< (rows) which one a row belongs to, ascending
  std::vector<float> pre_activation, gate, up, hidden;  ///< (rows, F); see HiddenLayer

  std::int64_t rows() const { return static_cast<std::int64_t>(token.size()); }
  bool gated() const { return !gate.empty(); }
  /// A neuron fires where this is above 0: its pre-activation, or its value where the layer makes it of several.
  const std::vector<float>& fires_by() const { return pre_activation.empty() ? hidden : pre_activation; }
};

/// The routing decisions of a mixture.
struct RoutedRows {
  std::int64_t num_experts = 0, top_k = 0;
  std::vector<float> probability, weight;  ///< (N, E), (N, K)
  std::vector<std::int64_t> expert;        ///< (N, K)
};

struct AttentionRows {
  std::int64_t heads = 0, length = 0;
  std::vector<double> mean, entropy;  ///< (H, T, T) over the examples; (H) in nats, over examples and positions
};

struct BlockValues {
  std::vector<HiddenRows> hidden;    ///< one; in a mixture one per expert; none where a layer shows none
  RoutedRows routed;                 ///< no experts without a mixture
  AttentionRows attention;           ///< no heads without attention
  std::vector<float> input, output;  ///< (N, D), of the feed-forward layer, where they are wanted
};

/// The network has to be the config's. `with_ends`: keep what goes into the feed-forward layers and comes out.
std::vector<BlockValues> capture(const ModelConfig& model, cpu::Network& network, const float* parameters, const Inputs& inputs,
                                 bool with_ends = false);

}  // namespace ffn::inspect
