// Multi-head self-attention on the run axis: it moves information between positions, the FFN works on what arrived.
#pragma once

#include "ffn/config/model_config.hpp"
#include "ffn/layers/linear_torch.hpp"
#include "ffn/layers/norm_torch.hpp"

namespace ffn::modules {

/// Content: softmax(q·k/√d_head) v per head, heads concatenated and projected; Vaswani et al. 2017, eq. 1 and §3.2.2,
/// arXiv:1706.03762. Its weights depend on the input, so the layer is not linear.
/// Position: the weights are the softmax of a learned T×T matrix per head ("random synthesizer", Tay et al. 2021,
/// arXiv:2005.00743). They do not depend on the input, so the layer is linear.
/// qk_norm: RMSNorm of q and k over the width of a head, with a gain that all heads share, before they are turned (Henry et al. 2020,
/// arXiv:2010.04245, with an L2 norm and one gain; this form is that of Gemma 3 and Qwen3). The gain is needed: without it no score
/// exceeds √d_head, and the narrow heads of small models could not attend to one position alone.
/// x: (R, B·T, D) → (R, B·T, D). Causal: a position sees itself and earlier ones.
/// Parameters: query, key, value, output (R, D, D) and query_norm, key_norm (R, D/H), or value, output and scores (R, H, T, T).
class AttentionImpl final : public RunModule {
 public:
  /// rotary: turn q and k by their positions, see layers/position_torch.hpp
  AttentionImpl(std::int64_t num_runs, std::int64_t d_model, std::int64_t sequence_length, const AttentionConfig& config,
                bool rotary = false);
  /// sequence_length may be shorter than the one given at construction (sampling does that).
  Tensor forward(const Tensor& x, std::int64_t sequence_length);

 private:
  Tensor masked_softmax(const Tensor& given) const;  // (…, T, T) → (…, T, T)
  Tensor by_content(const Tensor& x, std::int64_t t);
  Tensor by_position(const Tensor& x, std::int64_t t);

  std::int64_t heads_, head_width_;
  bool causal_, rotary_, in_pairs_;
  double rotary_base_;
  Tensor scores_;  ///< (R, H, T, T), undefined for content
  Norm query_norm_{nullptr}, key_norm_{nullptr};
  Linear query_{nullptr}, key_{nullptr}, value_{nullptr}, output_{nullptr};
};
TORCH_MODULE(Attention);

}  // namespace ffn::modules
