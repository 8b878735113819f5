// The encodings of layers/position_torch.hpp as tables, made once.
#pragma once

#include <cstdint>
#include <vector>

namespace ffn::cpu {

/// (T, D)
std::vector<float> sinusoids(std::int64_t length, std::int64_t d_model);

class Rotary {
 public:
  Rotary(std::int64_t max_length, std::int64_t head_width, double base, bool in_pairs);
  /// Turns the heads of x (B·T, H·d) in place, or turns them `back`: what a gradient needs.
  void turn(std::int64_t rows, std::int64_t sequence_length, std::int64_t heads, float* x, bool back = false) const;

 private:
  std::int64_t half_;
  bool in_pairs_;
  std::vector<float> cos_, sin_;  ///< (T, d/2)
};

}  // namespace ffn::cpu
