#include "ffn/layers/moe_cpu.hpp"

#include <algorithm>
#include <utility>

#include "ffn/formula/named_formulas.hpp"
#include "ffn/kernels/kernels.hpp"

namespace ffn::cpu {

MoE::MoE(const Declare& declare, std::int64_t d_model, const MoeConfig& config, std::uint32_t site)
    : d_model_(d_model),
      num_experts_(config.num_experts),
      top_k_(config.top_k),
      router_(make_router(declare.in("router"), d_model, config)),
      experts_(declare.in("experts"), graph_of(*layer_formula(config), d_model, config), site, config.num_experts) {
  if (config.shared_experts == 0) return;
  const FfnSize size = config.shared_size(d_model);
  shared_.emplace(declare.in("shared"), graph_of(built_in_formula(config.gated, size.bias), d_model, size), shared_site(site));
}

// A counting sort: stable and linear.
void MoE::sort_by_expert(Pass& pass) {
  offsets_ = pass.arena.integers(num_experts_ + 1);
  std::int64_t* next = pass.arena.integers(num_experts_);
  place_ = pass.arena.integers(routing_.count);
  std::fill_n(offsets_, num_experts_ + 1, 0);
  for (std::int64_t i = 0; i < routing_.count; ++i) ++offsets_[routing_.expert[i] + 1];
  for (std::int64_t e = 0; e < num_experts_; ++e) {
    offsets_[e + 1] += offsets_[e];
    next[e] = offsets_[e];
  }
  for (std::int64_t i = 0; i < routing_.count; ++i) place_[i] = next[routing_.expert[i]]++;
}

const float* MoE::forward(Pass& pass, std::int64_t rows, const float* x) {
  rows_ = rows;
  routing_ = router_->route(pass, rows, x);
  sort_by_expert(pass);
  if (pass.watcher) pass.watcher->see_routing({rows, num_experts_, top_k_, routing_.score, routing_.weight, routing_.expert, place_});

  const std::int64_t count = routing_.count;
  float* sorted = pass.arena.floats(count * d_model_);
  for (std::int64_t i = 0; i < count; ++i) std::copy_n(x + routing_.token[i] * d_model_, d_model_, sorted + place_[i] * d_model_);
  result_ = experts_.forward(pass, offsets_, sorted);

  float* y = pass.arena.floats(rows * d_model_);
  std::fill_n(y, rows * d_model_, 0.0f);
  for (std::int64_t i = 0; i < count; ++i)
    kernels().axpy(d_model_, routing_.weight[i], result_ + place_[i] * d_model_, y + routing_.token[i] * d_model_);
  if (shared_) {
    Watcher* watcher = std::exchange(pass.watcher, nullptr);  // it is shown what the router chose among
    kernels().add(rows * d_model_, shared_->forward(pass, rows, x), y, y);
    pass.watcher = watcher;
  }
  return y;
}

const float* MoE::backward(Pass& pass, const float* dy, const AuxiliaryValues& auxiliary_weights) {
  const std::int64_t count = routing_.count;
  float* dresult = pass.arena.floats(count * d_model_);
  float* dweight = pass.arena.floats(count);
  for (std::int64_t i = 0; i < count; ++i) {
    const float* dy_n = dy + routing_.token[i] * d_model_;
    float* out = dresult + place_[i] * d_model_;
    std::fill_n(out, d_model_, 0.0f);
    kernels().axpy(d_model_, routing_.weight[i], dy_n, out);
    dweight[i] = kernels().dot(d_model_, dy_n, result_ + place_[i] * d_model_);
  }

  const float* dsorted = experts_.backward(pass, dresult, auxiliary_weights);
  float* dx = router_->backward(pass, dweight, auxiliary_weights);
  for (std::int64_t i = 0; i < count; ++i) {
    float* to = dx + routing_.token[i] * d_model_;
    kernels().add(d_model_, dsorted + place_[i] * d_model_, to, to);
  }
  if (shared_) kernels().add(rows_ * d_model_, shared_->backward(pass, dy, auxiliary_weights), dx, dx);
  return dx;
}

}  // namespace ffn::cpu
