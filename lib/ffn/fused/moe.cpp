#include "ffn/fused/moe.hpp"

#include <algorithm>

#include "ffn/kernels/kernels.hpp"

namespace ffn::fused {

MoE::MoE(const Declare& declare, std::int64_t d_model, const MoeConfig& config, std::uint32_t site)
    : d_model_(d_model),
      num_experts_(config.num_experts),
      top_k_(config.top_k),
      router_(declare.in("router").in("gate"), d_model, config.num_experts, /*bias=*/false),
      hidden_(declare.in("experts"), d_model, config, config.gated, site,
              [&](const Declare& at, std::int64_t d_in, std::int64_t d_out) {
                return GroupedLinear(at, config.num_experts, d_in, d_out, config.bias);
              }),
      down_(declare.in("experts").in("down"), config.num_experts, config.hidden_width(d_model), d_model, config.bias) {}

void MoE::route(Pass& pass, const float* x) {
  const std::int64_t e_count = num_experts_, k_count = top_k_;
  probability_ = router_.forward(pass, rows_, x);
  kernels().softmax(rows_, e_count, 1.0f, /*causal=*/false, probability_);
  weight_ = pass.arena.floats(rows_ * k_count);
  top_sum_ = pass.arena.floats(rows_);
  expert_ = pass.arena.integers(rows_ * k_count);
  float* left = pass.arena.floats(e_count);
  for (std::int64_t n = 0; n < rows_; ++n) {
    std::copy_n(probability_ + n * e_count, e_count, left);
    float sum = 0;
    for (std::int64_t k = 0; k < k_count; ++k) {
      const auto best = std::max_element(left, left + e_count) - left;  // the first of equals
      expert_[n * k_count + k] = best;
      weight_[n * k_count + k] = left[best];
      sum += left[best];
      left[best] = -1;
    }
    top_sum_[n] = sum;
    for (std::int64_t k = 0; k < k_count; ++k) weight_[n * k_count + k] /= sum;
  }
}

// A counting sort: stable and linear.
void MoE::sort_by_expert(Pass& pass) {
  const std::int64_t assignments = rows_ * top_k_;
  offsets_ = pass.arena.integers(num_experts_ + 1);
  std::int64_t* next = pass.arena.integers(num_experts_);
  place_ = pass.arena.integers(assignments);
  std::fill_n(offsets_, num_experts_ + 1, 0);
  for (std::int64_t i = 0; i < assignments; ++i) ++offsets_[expert_[i] + 1];
  for (std::int64_t e = 0; e < num_experts_; ++e) {
    offsets_[e + 1] += offsets_[e];
    next[e] = offsets_[e];
  }
  for (std::int64_t i = 0; i < assignments; ++i) place_[i] = next[expert_[i]]++;
}

const float* MoE::forward(Pass& pass, std::int64_t rows, const float* x) {
  rows_ = rows;
  x_ = x;
  route(pass, x);
  sort_by_expert(pass);

  // E · Σ load·mean probability
  float* mean = pass.arena.floats(num_experts_);
  kernels().column_sums(rows, num_experts_, probability_, mean);
  balance_loss_ = 0;
  for (std::int64_t e = 0; e < num_experts_; ++e) {
    const double load = static_cast<double>(offsets_[e + 1] - offsets_[e]) / static_cast<double>(rows * top_k_);
    balance_loss_ += load * static_cast<double>(mean[e]) / static_cast<double>(rows);
  }
  balance_loss_ *= static_cast<double>(num_experts_);

  float* sorted = pass.arena.floats(rows * top_k_ * d_model_);
  for (std::int64_t i = 0; i < rows * top_k_; ++i) std::copy_n(x + i / top_k_ * d_model_, d_model_, sorted + place_[i] * d_model_);
  h_ = hidden_.forward(pass, offsets_, rows * top_k_, sorted);
  result_ = down_.forward(pass, offsets_, h_);

  float* y = pass.arena.floats(rows * d_model_);
  std::fill_n(y, rows * d_model_, 0.0f);
  for (std::int64_t i = 0; i < rows * top_k_; ++i)
    kernels().axpy(d_model_, weight_[i], result_ + place_[i] * d_model_, y + i / top_k_ * d_model_);
  return y;
}

const float* MoE::backward(Pass& pass, const float* dy, float balance_weight) {
  const std::int64_t assignments = rows_ * top_k_;
  float* dresult = pass.arena.floats(assignments * d_model_);
  float* dprobability = pass.arena.floats(rows_ * num_experts_);
  // The balance loss sees every probability, with the load as a constant.
  for (std::int64_t e = 0; e < num_experts_; ++e) {
    const double load = static_cast<double>(offsets_[e + 1] - offsets_[e]) / static_cast<double>(assignments);
    dprobability[e] = balance_weight * static_cast<float>(static_cast<double>(num_experts_) * load / static_cast<double>(rows_));
  }
  for (std::int64_t n = 1; n < rows_; ++n) std::copy_n(dprobability, num_experts_, dprobability + n * num_experts_);

  float* dweight = pass.arena.floats(top_k_);
  for (std::int64_t n = 0; n < rows_; ++n) {
    const float* dy_n = dy + n * d_model_;
    float weighted = 0;  // Σ over the choices of weight·dweight
    for (std::int64_t k = 0; k < top_k_; ++k) {
      const std::int64_t i = n * top_k_ + k;
      float* out = dresult + place_[i] * d_model_;
      std::fill_n(out, d_model_, 0.0f);
      kernels().axpy(d_model_, weight_[i], dy_n, out);
      dweight[k] = kernels().dot(d_model_, dy_n, result_ + place_[i] * d_model_);
      weighted += weight_[i] * dweight[k];
    }
    // weight = top/Σ top
    for (std::int64_t k = 0; k < top_k_; ++k)
      dprobability[n * num_experts_ + expert_[n * top_k_ + k]] += (dweight[k] - weighted) / top_sum_[n];
  }

  down_.weight_gradient(pass, offsets_, h_, dresult);
  const float* dsorted = hidden_.backward(pass, offsets_, down_.input_gradient(pass, offsets_, dresult));
  kernels().softmax_backward(rows_, num_experts_, 1.0f, probability_, dprobability);
  router_.weight_gradient(pass, rows_, x_, dprobability);
  float* dx = router_.input_gradient(pass, rows_, dprobability);
  for (std::int64_t i = 0; i < assignments; ++i) {
    float* to = dx + i / top_k_ * d_model_;
    kernels().add(d_model_, dsorted + place_[i] * d_model_, to, to);
  }
  return dx;
}

}  // namespace ffn::fused
