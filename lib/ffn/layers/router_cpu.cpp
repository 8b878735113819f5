#include "ffn/layers/router_cpu.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "ffn/kernels/kernels.hpp"

namespace ffn::fused {

namespace {

// Scores from a linear map and a squashing; the K experts of the largest; the balance loss.
class TopK : public Router {
 public:
  /// The bias (E), where there is one, is added to the scores to choose by, and to nothing else.
  TopK(const Declare& declare, std::int64_t d_model, const MoeConfig& config, Place bias = {})
      : num_experts_(config.num_experts),
        top_k_(config.top_k),
        bias_(bias),
        gate_(declare.in("gate"), d_model, config.num_experts, /*bias=*/false) {}

  Routing route(Pass& pass, std::int64_t rows, const float* x) override;
  float* backward(Pass& pass, const float* dweight, const AuxiliaryValues& auxiliary_weights) override;
  AuxiliaryValues auxiliary_losses() const override { return {totals_.balance_loss()}; }

 protected:
  /// (rows, E), in place.
  virtual void squash(std::int64_t rows, float* score) const = 0;
  /// The gradient by the squashed score → by what was squashed, in place.
  virtual void squash_backward(std::int64_t rows, const float* score, float* gradient) const = 0;

  std::int64_t num_experts_, top_k_;
  Place bias_;

 private:
  void choose(Pass& pass);
  void count(Pass& pass);
  void choice_backward(const float* dweight, float* dscore) const;

  Linear gate_;

  // Of the pass at work:
  std::int64_t rows_ = 0;
  const float* x_ = nullptr;
  float *score_ = nullptr, *weight_ = nullptr, *top_sum_ = nullptr;  ///< (N, E), (N, K), (N)
  std::int64_t *token_ = nullptr, *expert_ = nullptr;                ///< (N, K)
};

class SoftmaxTopK final : public TopK {
 public:
  using TopK::TopK;

 private:
  void squash(std::int64_t rows, float* score) const override { kernels().softmax(rows, num_experts_, 1.0f, /*seen=*/0, score); }
  void squash_backward(std::int64_t rows, const float* score, float* gradient) const override {
    kernels().softmax_backward(rows, num_experts_, 1.0f, score, gradient);
  }
};

Routing TopK::route(Pass& pass, std::int64_t rows, const float* x) {
  rows_ = rows;
  x_ = x;
  score_ = gate_.forward(pass, rows, x);
  squash(rows, score_);
  choose(pass);
  count(pass);
  return {rows * top_k_, token_, expert_, weight_, score_};
}

// The K largest, divided by their sum; one alone stays what it is, or its weight would be 1 whatever the router says.
void TopK::choose(Pass& pass) {
  const std::int64_t e_count = num_experts_, k_count = top_k_;
  weight_ = pass.arena.floats(rows_ * k_count);
  top_sum_ = pass.arena.floats(rows_);
  token_ = pass.arena.integers(rows_ * k_count);
  expert_ = pass.arena.integers(rows_ * k_count);
  float* left = pass.arena.floats(e_count);
  const float* bias = bias_.in(pass.parameters);
  for (std::int64_t n = 0; n < rows_; ++n) {
    const float* score = score_ + n * e_count;
    for (std::int64_t e = 0; e < e_count; ++e) left[e] = bias ? score[e] + bias[e] : score[e];
    float sum = 0;
    for (std::int64_t k = 0; k < k_count; ++k) {
      const auto best = std::max_element(left, left + e_count) - left;  // the first of equals
      token_[n * k_count + k] = n;
      expert_[n * k_count + k] = best;
      weight_[n * k_count + k] = score[best];
      sum += score[best];
      left[best] = -std::numeric_limits<float>::infinity();
    }
    if (k_count == 1) continue;
    top_sum_[n] = sum;
    for (std::int64_t k = 0; k < k_count; ++k) weight_[n * k_count + k] /= sum;
  }
}

void TopK::count(Pass& pass) {
  totals_.tokens = rows_;
  totals_.triples = rows_ * top_k_;
  totals_.assigned.assign(static_cast<std::size_t>(num_experts_), 0);
  for (std::int64_t i = 0; i < rows_ * top_k_; ++i) ++totals_.assigned[static_cast<std::size_t>(expert_[i])];
  float* sum = pass.arena.floats(num_experts_);
  kernels().column_sums(rows_, num_experts_, score_, sum);
  totals_.probability.assign(sum, sum + num_experts_);
}

float* TopK::backward(Pass& pass, const float* dweight, const AuxiliaryValues& auxiliary_weights) {
  float* dscore = pass.arena.floats(rows_ * num_experts_);
  // The balance loss sees every probability, with the load as a constant.
  const auto balance_weight = static_cast<float>(auxiliary_weights[0]);
  for (std::int64_t e = 0; e < num_experts_; ++e)
    dscore[e] = balance_weight * static_cast<float>(static_cast<double>(num_experts_) * totals_.load(static_cast<std::size_t>(e)) /
                                                    static_cast<double>(totals_.tokens));
  for (std::int64_t n = 1; n < rows_; ++n) std::copy_n(dscore, num_experts_, dscore + n * num_experts_);
  choice_backward(dweight, dscore);
  squash_backward(rows_, score_, dscore);
  gate_.weight_gradient(pass, rows_, x_, dscore);
  return gate_.input_gradient(pass, rows_, dscore);
}

// K > 1: weight = top/Σ top   so   dtop[k] += (dweight[k] - Σ weight·dweight)/Σ top
// K = 1: weight = top
void TopK::choice_backward(const float* dweight, float* dscore) const {
  for (std::int64_t n = 0; n < rows_; ++n) {
    const std::int64_t first = n * top_k_;
    if (top_k_ == 1) {
      dscore[n * num_experts_ + expert_[first]] += dweight[first];
      continue;
    }
    float weighted = 0;
    for (std::int64_t i = first; i < first + top_k_; ++i) weighted += weight_[i] * dweight[i];
    for (std::int64_t i = first; i < first + top_k_; ++i) dscore[n * num_experts_ + expert_[i]] += (dweight[i] - weighted) / top_sum_[n];
  }
}

// One overload per alternative of RouterConfig: a kind without one does not compile.
struct BuildRouter {
  const Declare& declare;
  std::int64_t d_model;
  const MoeConfig& config;

  std::unique_ptr<Router> operator()(const SoftmaxTopKConfig&) const { return std::make_unique<SoftmaxTopK>(declare, d_model, config); }
  // A router that exists in nn alone, which config/coverage.cpp keeps away from here.
  template <class Config>
  std::unique_ptr<Router> operator()(const Config&) const {
    throw std::logic_error(std::string("the router ") + Config::kKind +
                           " has no fused form: write one in layers/router_cpu.cpp, or say only_nn in config/coverage.cpp");
  }
};

}  // namespace

RoutingTotals& RoutingTotals::operator+=(const RoutingTotals& other) {
  tokens += other.tokens;
  triples += other.triples;
  for (std::size_t e = 0; e < assigned.size(); ++e) {
    assigned[e] += other.assigned[e];
    probability[e] += other.probability[e];
  }
  return *this;
}

double RoutingTotals::balance_loss() const {
  double sum = 0;
  for (std::size_t e = 0; e < assigned.size(); ++e) sum += load(e) * probability[e] / static_cast<double>(tokens);
  return sum * static_cast<double>(assigned.size());
}

std::unique_ptr<Router> make_router(const Declare& declare, std::int64_t d_model, const MoeConfig& config) {
  return std::visit(BuildRouter{declare, d_model, config}, config.router);
}

}  // namespace ffn::fused
