#include "ffn/layers/position_torch.hpp"

namespace ffn::nn {

namespace {

// t · base^(−2i/width) for positions t and pairs i: (T, ⌈width/2⌉) float64
Tensor position_angles(std::int64_t length, std::int64_t width, double base, const torch::Device& device) {
  const auto options = torch::TensorOptions(torch::kFloat64).device(device);
  const Tensor exponent = torch::arange((width + 1) / 2, options) * (-2.0 / static_cast<double>(width));
  return torch::arange(length, options).unsqueeze(1) * torch::pow(base, exponent);
}

}  // namespace

Tensor sinusoids(std::int64_t length, std::int64_t d_model, const Tensor& like) {
  const Tensor angle = position_angles(length, d_model, 10000, like.device());
  return torch::stack({angle.sin(), angle.cos()}, -1).flatten(1).narrow(1, 0, d_model).to(like.scalar_type());
}

}  // namespace ffn::nn
