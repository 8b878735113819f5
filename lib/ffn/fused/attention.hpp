// Multi-head self-attention by hand: the formulas of nn/attention.hpp with their backward pass.
#pragma once

#include <optional>

#include "ffn/config/model_config.hpp"
#include "ffn/fused/linear.hpp"

namespace ffn::fused {

class Attention {
 public:
  Attention(const Declare& declare, std::int64_t d_model, std::int64_t max_sequence_length, const AttentionConfig& config);
  /// x: (B·T, D), alive until backward → (B·T, D)
  const float* forward(Pass& pass, std::int64_t rows, const float* x);
  const float* backward(Pass& pass, const float* dy);

 private:
  /// Calls f(first element of the head's columns of sequence b, index of (b, head)).
  template <class F>
  void for_each_head(const F& f) const;
  void position_weights(Pass& pass);

  std::int64_t d_model_, heads_, head_width_, max_length_;
  bool causal_, by_position_;
  Place scores_;  ///< (H, T, T), by position
  std::optional<Linear> query_, key_;
  Linear value_, output_;

  // Of the pass at work:
  std::int64_t rows_ = 0, length_ = 0;
  const float *x_ = nullptr, *mixed_ = nullptr;
  float *q_ = nullptr, *k_ = nullptr, *v_ = nullptr;
  float* weights_ = nullptr;  ///< (B, H, T, T), or (H, T, T) by position
};

}  // namespace ffn::fused
