#include "ffn/layers/position_torch.hpp"

namespace ffn::modules {

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

Rotary::Rotary(std::int64_t length, std::int64_t head_width, double base, bool in_pairs, const Tensor& like) : in_pairs_(in_pairs) {
  const Tensor angle = position_angles(length, head_width, base, like.device());
  cos_ = angle.cos().to(like.scalar_type());
  sin_ = angle.sin().to(like.scalar_type());
}

Tensor Rotary::operator()(const Tensor& x) const {
  const std::int64_t axis = in_pairs_ ? -1 : -2;  // of the two numbers of a pair
  auto shape = x.sizes().vec();
  shape.back() /= 2;
  shape.insert(shape.end() + (in_pairs_ ? 0 : -1), 2);
  const Tensor pairs = x.reshape(shape), a = pairs.select(axis, 0), b = pairs.select(axis, 1);
  return torch::stack({a * cos_ - b * sin_, a * sin_ + b * cos_}, axis).reshape(x.sizes());
}

}  // namespace ffn::modules
