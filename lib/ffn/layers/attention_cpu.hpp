// Multi-head self-attention by hand: the formulas of layers/attention_torch.hpp with their backward pass.
#pragma once

#include <optional>

#include "ffn/config/model_config.hpp"
#include "ffn/layers/linear_cpu.hpp"
#include "ffn/layers/matrix.hpp"
#include "ffn/layers/norm_cpu.hpp"
#include "ffn/layers/position_cpu.hpp"

namespace ffn::cpu {

class Attention {
 public:
  Attention(const Declare& declare, std::int64_t d_model, std::int64_t max_sequence_length, const AttentionConfig& config, bool rotary);
  /// x: (B·T, D), alive until backward → (B·T, D)
  const float* forward(Pass& pass, std::int64_t rows, const float* x);
  const float* backward(Pass& pass, const float* dy);

 private:
  /// A head in one sequence.
  struct Head {
    std::int64_t first;    ///< element of its columns in the sequence's rows of a (B·T, D) matrix
    std::int64_t weights;  ///< index of its weights: that of (b, h), or of h by position
  };
  template <class F>
  void for_each_head(const F& f) const;
  /// Its (T, D/H) of a (B·T, D) matrix.
  Matrix part(float* x, const Head& head) const { return {x + head.first, length_, head_width_, d_model_}; }
  /// Its (T, T).
  Matrix square(float* x, const Head& head) const { return {x + head.weights * length_ * length_, length_, length_}; }

  /// Rows of a head's weights, and how many columns the last of them sees.
  struct Strip {
    std::int64_t first, count, seen;
  };
  static constexpr std::int64_t kStrip = 64, kKeptStrip = 32;
  template <class F>
  void for_each_strip(const F& f) const;
  /// A strip's weights, row by row; the only strip has the head's (T, T).
  float* kept_weights(const Head& head, const Strip& strip) const { return weights_ + (head.weights * length_ + strip.first) * length_; }

  void weights_by_position(Pass& pass);
  void weigh(const Head& head, const Strip& strip, const Matrix& weight);
  void mix(Pass& pass);
  const float* backward_by_position(Pass& pass, float* dmixed);
  const float* backward_by_content(Pass& pass, float* dmixed);

  std::int64_t d_model_, heads_, head_width_, max_length_;
  float scale_;
  bool causal_, by_position_;
  Place scores_;  ///< (H, T, T), by position
  std::optional<Linear> query_, key_;
  std::optional<Norm> query_norm_, key_norm_;  ///< over a head's width
  Linear value_, output_;
  std::optional<Rotary> rotary_;

  // State of the current pass:
  std::int64_t rows_ = 0, length_ = 0, height_ = 0;
  const float* x_ = nullptr;
  float *q_ = nullptr, *k_ = nullptr, *v_ = nullptr, *mixed_ = nullptr;  ///< (B·T, D)
  float* weights_ = nullptr;  ///< room for (B, H, T, T), or (H, T, T) by position; null where they are not kept
};

}  // namespace ffn::cpu
