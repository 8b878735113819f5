// Normalisation by hand: the formulas of layers/norm_torch.hpp with their backward pass.
#pragma once

#include "ffn/config/model_config.hpp"
#include "ffn/layers/declare.hpp"
#include "ffn/layers/pass.hpp"

namespace ffn::cpu {

class Norm {
 public:
  Norm(const Declare& declare, std::int64_t d_model, const NormConfig& config);
  float* forward(Pass& pass, std::int64_t rows, const float* x);
  float* backward(Pass& pass, const float* dy);

 private:
  std::int64_t d_model_;
  Place weight_, bias_;  ///< bias_ is nowhere for RMS
  float epsilon_;
  std::int64_t rows_ = 0;
  float *normalised_ = nullptr, *inverse_ = nullptr;
};

}  // namespace ffn::cpu
