#include "ffn/layers/router_cpu.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "ffn/config/parameters.hpp"
#include "ffn/kernels/activations.hpp"
#include "ffn/kernels/kernels.hpp"

namespace ffn::cpu {

namespace {

// Scores from a linear map and a squashing; the K experts of the largest; the losses.
class TopK final : public Router {
 public:
  TopK(const Declare& declare, std::int64_t d_model, const MoeConfig& config, const TopKFields& fields, const std::string& score)
      : config_(config),
        fields_(fields),
        activation_(score == "softmax" ? nullptr : &activation(score)),
        num_experts_(config.num_experts),
        top_k_(config.top_k),
        normalizes_(fields.weights == "normalized" && config.top_k > 1),
        losses_(ffn::auxiliary_losses(config)),
        bias_(declare(selection_bias_parameter(config, fields))),
        gate_(declare.in("gate"), d_model, config.num_experts, /*bias=*/false) {}

  Routing route(Pass& pass, std::int64_t rows, const float* x) override;
  float* backward(Pass& pass, const float* dweight, const AuxiliaryValues& auxiliary_weights) override;
  AuxiliaryValues auxiliary_losses() const override;
  void update_buffers(float* parameters) override;

 private:
  bool has(Auxiliary kind) const;
  float weight_of(Auxiliary kind, const AuxiliaryValues& weights) const;
  void squash(Pass& pass);
  void choose(Pass& pass);
  void drop(Pass& pass);
  void count(Pass& pass);
  void count_sequences(Pass& pass);
  void losses_of_probability(const AuxiliaryValues& weights, float* dprobability) const;
  void losses_of_weights(const AuxiliaryValues& weights, float* dweight) const;
  void choice_backward(const float* dweight, float* dscore) const;
  void squash_backward(const float* dprobability, float* dscore) const;
  void z_loss_backward(const AuxiliaryValues& weights, float* dlogits) const;

  MoeConfig config_;
  TopKFields fields_;
  const Activation* activation_;  ///< of the logits; nullptr: softmax
  std::int64_t num_experts_, top_k_;
  bool normalizes_;
  std::vector<AuxiliaryLoss> losses_;
  Place bias_;
  Linear gate_;

  // State of the current pass:
  std::int64_t rows_ = 0, length_ = 1;
  const float* x_ = nullptr;
  float *score_ = nullptr, *probability_ = nullptr, *score_sum_ = nullptr;  ///< (N, E), (N, E) of sum 1: the scores of softmax, (N)
  float* slope_ = nullptr;                                                  ///< of the activation: (N, E)
  float *log_sum_ = nullptr, *of_logits_ = nullptr;                         ///< with the z-loss: (N), (N, E) softmax of the logits
  float *weight_ = nullptr, *top_sum_ = nullptr;                            ///< (N, K), (N)
  float* sequence_load_ = nullptr;                                          ///< (sequences, E), with their balance loss
  std::int64_t *token_ = nullptr, *expert_ = nullptr;                       ///< (N, K)
};

bool TopK::has(Auxiliary kind) const {
  return std::any_of(losses_.begin(), losses_.end(), [&](const auto& loss) { return loss.kind == kind; });
}

float TopK::weight_of(Auxiliary kind, const AuxiliaryValues& weights) const {
  for (std::size_t i = 0; i < losses_.size(); ++i) {
    if (losses_[i].kind == kind) return static_cast<float>(weights[i]);
  }
  return 0;
}

AuxiliaryValues TopK::auxiliary_losses() const {
  AuxiliaryValues values = {};
  for (std::size_t i = 0; i < losses_.size(); ++i) values[i] = totals_.value(losses_[i].kind);
  return values;
}

Routing TopK::route(Pass& pass, std::int64_t rows, const float* x) {
  rows_ = rows;
  length_ = pass.sequence_length;
  x_ = x;
  score_ = gate_.forward(pass, rows, x);
  squash(pass);
  choose(pass);
  count(pass);
  if (config_.capacity_factor && pass.training) drop(pass);
  return {rows * top_k_, token_, expert_, weight_, probability_};
}

void TopK::squash(Pass& pass) {
  const std::int64_t e_count = num_experts_;
  if (has(Auxiliary::z)) {
    log_sum_ = pass.arena.floats(rows_);
    of_logits_ = pass.arena.floats(rows_ * e_count);
    std::copy_n(score_, rows_ * e_count, of_logits_);
    kernels().softmax(rows_, e_count, 1.0f, /*seen=*/0, of_logits_);
    for (std::int64_t n = 0; n < rows_; ++n) {  // log Σ exp z = z_best - log p_best
      const float* z = score_ + n * e_count;
      const auto best = std::max_element(z, z + e_count) - z;
      log_sum_[n] = z[best] - std::log(of_logits_[n * e_count + best]);
    }
  }
  if (!activation_) {
    kernels().softmax(rows_, e_count, 1.0f, /*seen=*/0, score_);
    probability_ = score_;
    return;
  }
  slope_ = pass.arena.floats(rows_ * e_count);
  std::copy_n(score_, rows_ * e_count, slope_);  // values_and_slopes() makes it the slope in place
  activation_->values_and_slopes(static_cast<std::size_t>(rows_ * e_count), slope_, score_, slope_);
  probability_ = pass.arena.floats(rows_ * e_count);
  score_sum_ = pass.arena.floats(rows_);
  for (std::int64_t n = 0; n < rows_; ++n) {
    const float* score = score_ + n * e_count;
    score_sum_[n] = std::accumulate(score, score + e_count, 0.0f);
    for (std::int64_t e = 0; e < e_count; ++e) probability_[n * e_count + e] = score[e] / score_sum_[n];
  }
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
    if (!normalizes_) continue;
    top_sum_[n] = sum;
    for (std::int64_t k = 0; k < k_count; ++k) weight_[n * k_count + k] /= sum;
  }
  if (fields_.scale == 1) return;
  for (std::int64_t i = 0; i < rows_ * k_count; ++i) weight_[i] *= static_cast<float>(fields_.scale);
}

// An expert serves all first choices before any second one, each in token order. What it cannot serve has no weight.
void TopK::drop(Pass& pass) {
  const std::int64_t most = config_.capacity(rows_);
  std::int64_t* served = pass.arena.integers(num_experts_);
  std::fill_n(served, num_experts_, 0);
  for (std::int64_t k = 0; k < top_k_; ++k) {
    for (std::int64_t n = 0; n < rows_; ++n) {
      const std::int64_t i = n * top_k_ + k;
      if (served[expert_[i]]++ < most) continue;
      weight_[i] = 0;
      ++totals_.dropped;
    }
  }
}

void TopK::count(Pass& pass) {
  const auto experts = static_cast<std::size_t>(num_experts_);
  totals_ = {};
  totals_.tokens = rows_;
  totals_.triples = rows_ * top_k_;
  totals_.sequences = rows_ / length_;
  totals_.assigned.assign(experts, 0);
  totals_.importance.assign(experts, 0);
  for (std::int64_t i = 0; i < rows_ * top_k_; ++i) {
    ++totals_.assigned[static_cast<std::size_t>(expert_[i])];
    totals_.importance[static_cast<std::size_t>(expert_[i])] += static_cast<double>(weight_[i]);
  }
  float* sum = pass.arena.floats(num_experts_);
  kernels().column_sums(rows_, num_experts_, probability_, sum);
  totals_.probability.assign(sum, sum + num_experts_);
  if (has(Auxiliary::z)) {
    for (std::int64_t n = 0; n < rows_; ++n) totals_.squared_log_sum += static_cast<double>(log_sum_[n]) * static_cast<double>(log_sum_[n]);
  }
  if (has(Auxiliary::sequence_balance)) count_sequences(pass);
}

// E·Σ fᵢPᵢ of each sequence.
void TopK::count_sequences(Pass& pass) {
  sequence_load_ = pass.arena.floats(totals_.sequences * num_experts_);
  float* mean = pass.arena.floats(num_experts_);
  for (std::int64_t s = 0; s < totals_.sequences; ++s) {
    float* load = sequence_load_ + s * num_experts_;
    std::fill_n(load, num_experts_, 0.0f);
    for (std::int64_t i = s * length_ * top_k_; i < (s + 1) * length_ * top_k_; ++i)
      load[expert_[i]] += 1 / static_cast<float>(length_ * top_k_);
    kernels().column_sums(length_, num_experts_, probability_ + s * length_ * num_experts_, mean);
    totals_.sequence_balance +=
        static_cast<double>(num_experts_) * static_cast<double>(kernels().dot(num_experts_, load, mean)) / static_cast<double>(length_);
  }
}

float* TopK::backward(Pass& pass, const float* dweight, const AuxiliaryValues& auxiliary_weights) {
  float* dprobability = pass.arena.floats(rows_ * num_experts_);
  losses_of_probability(auxiliary_weights, dprobability);
  float* dscore = dprobability;  // softmax: its scores are the probabilities
  if (activation_) {
    dscore = pass.arena.floats(rows_ * num_experts_);
    std::fill_n(dscore, rows_ * num_experts_, 0.0f);
  }
  if (has(Auxiliary::importance) || config_.capacity_factor || fields_.scale != 1) {
    float* whole = pass.arena.floats(rows_ * top_k_);
    std::copy_n(dweight, rows_ * top_k_, whole);
    losses_of_weights(auxiliary_weights, whole);
    dweight = whole;
  }
  choice_backward(dweight, dscore);
  squash_backward(dprobability, dscore);
  if (has(Auxiliary::z)) z_loss_backward(auxiliary_weights, dscore);
  gate_.weight_gradient(pass, rows_, x_, dscore);
  return gate_.input_gradient(pass, rows_, dscore);
}

// A balance loss sees every probability, with the load as a constant.
void TopK::losses_of_probability(const AuxiliaryValues& weights, float* dprobability) const {
  const float balance_weight = weight_of(Auxiliary::balance, weights), sequence_weight = weight_of(Auxiliary::sequence_balance, weights);
  for (std::int64_t e = 0; e < num_experts_; ++e)
    dprobability[e] = balance_weight * static_cast<float>(static_cast<double>(num_experts_) * totals_.load(static_cast<std::size_t>(e)) /
                                                          static_cast<double>(totals_.tokens));
  for (std::int64_t n = 1; n < rows_; ++n) std::copy_n(dprobability, num_experts_, dprobability + n * num_experts_);
  if (sequence_weight == 0) return;
  const float each = sequence_weight * static_cast<float>(num_experts_) / static_cast<float>(totals_.tokens);  // sequences · length
  for (std::int64_t n = 0; n < rows_; ++n)
    kernels().axpy(num_experts_, each, sequence_load_ + n / length_ * num_experts_, dprobability + n * num_experts_);
}

// By the unscaled weights. CV² = E·Σ I²/(Σ I)² - 1   so   dCV²/dI_e = 2E/(Σ I)² · (I_e - Σ I²/Σ I)
void TopK::losses_of_weights(const AuxiliaryValues& weights, float* dweight) const {
  const float importance_weight = weight_of(Auxiliary::importance, weights);
  double sum = 0, squares = 0;
  for (const double importance : totals_.importance) {
    sum += importance;
    squares += importance * importance;
  }
  for (std::int64_t i = 0; i < rows_ * top_k_; ++i) {
    const bool is_dropped = weight_[i] == 0 && config_.capacity_factor;
    if (is_dropped) dweight[i] = 0;
    if (importance_weight > 0)
      dweight[i] += importance_weight * static_cast<float>(2 * static_cast<double>(num_experts_) / (sum * sum) *
                                                           (totals_.importance[static_cast<std::size_t>(expert_[i])] - squares / sum));
    dweight[i] *= static_cast<float>(fields_.scale);
  }
}

// Normalized: weight = top/Σ top   so   dtop[k] += (dweight[k] - Σ weight·dweight)/Σ top
// Else: weight = top
void TopK::choice_backward(const float* dweight, float* dscore) const {
  for (std::int64_t n = 0; n < rows_; ++n) {
    const std::int64_t first = n * top_k_, row = n * num_experts_;
    if (!normalizes_) {
      for (std::int64_t i = first; i < first + top_k_; ++i) dscore[row + expert_[i]] += dweight[i];
      continue;
    }
    float weighted = 0;
    for (std::int64_t i = first; i < first + top_k_; ++i) weighted += score_[row + expert_[i]] / top_sum_[n] * dweight[i];
    for (std::int64_t i = first; i < first + top_k_; ++i) dscore[row + expert_[i]] += (dweight[i] - weighted) / top_sum_[n];
  }
}

// The gradient by the scores → by the logits, in place; of an activation with what comes by the probabilities s/Σs.
void TopK::squash_backward(const float* dprobability, float* dscore) const {
  const std::int64_t e_count = num_experts_;
  if (!activation_) return kernels().softmax_backward(rows_, e_count, 1.0f, score_, dscore);
  for (std::int64_t n = 0; n < rows_; ++n) {
    const float *p = probability_ + n * e_count, *dp = dprobability + n * e_count, *slope = slope_ + n * e_count;
    float* ds = dscore + n * e_count;
    const float weighted = kernels().dot(e_count, p, dp);
    for (std::int64_t e = 0; e < e_count; ++e) ds[e] = (ds[e] + (dp[e] - weighted) / score_sum_[n]) * slope[e];
  }
}

// d(log Σ exp z)²/dz = 2 · log Σ exp z · softmax(z)
void TopK::z_loss_backward(const AuxiliaryValues& weights, float* dlogits) const {
  const float each = 2 * weight_of(Auxiliary::z, weights) / static_cast<float>(totals_.tokens);
  for (std::int64_t n = 0; n < rows_; ++n)
    kernels().axpy(num_experts_, each * log_sum_[n], of_logits_ + n * num_experts_, dlogits + n * num_experts_);
}

void TopK::update_buffers(float* parameters) {
  float* bias = bias_.in(parameters);
  if (!bias) return;
  std::vector<float> step(static_cast<std::size_t>(num_experts_));
  for (std::size_t e = 0; e < step.size(); ++e) {
    const double lacking = 1 - totals_.load(e) * static_cast<double>(num_experts_);  // relative to an even share
    step[e] = std::abs(lacking) < kEvenLoad ? 0.0f : static_cast<float>(lacking > 0 ? fields_.bias_step : -fields_.bias_step);
  }
  const float mean = fields_.center_bias ? std::accumulate(step.begin(), step.end(), 0.0f) / static_cast<float>(num_experts_) : 0;
  for (std::size_t e = 0; e < step.size(); ++e) bias[e] += step[e] - mean;
}

// One overload per alternative of RouterConfig: a kind without one does not compile.
struct BuildRouter {
  const Declare& declare;
  std::int64_t d_model;
  const MoeConfig& config;

  template <class Config>
  std::unique_ptr<Router> operator()(const Config& c) const {
    if constexpr (std::is_base_of_v<TopKFields, Config>) return std::make_unique<TopK>(declare, d_model, config, c, Config::kScore);
    // One that exists in LibTorch alone, which config/coverage.cpp keeps away from here.
    throw std::logic_error(std::string("the router ") + Config::kKind +
                           " has no CPU form: write one in layers/router_cpu.cpp, or say only_torch in config/coverage.cpp");
  }
};

}  // namespace

RoutingTotals& RoutingTotals::operator+=(const RoutingTotals& other) {
  tokens += other.tokens;
  triples += other.triples;
  sequences += other.sequences;
  dropped += other.dropped;
  squared_log_sum += other.squared_log_sum;
  sequence_balance += other.sequence_balance;
  for (std::size_t e = 0; e < assigned.size(); ++e) {
    assigned[e] += other.assigned[e];
    probability[e] += other.probability[e];
    importance[e] += other.importance[e];
  }
  return *this;
}

double RoutingTotals::value(Auxiliary kind) const {
  const auto experts = static_cast<double>(assigned.size());
  double sum = 0, squares = 0;
  switch (kind) {
    case Auxiliary::balance:
      for (std::size_t e = 0; e < assigned.size(); ++e) sum += load(e) * probability[e] / static_cast<double>(tokens);
      return sum * experts;
    case Auxiliary::z:
      return squared_log_sum / static_cast<double>(tokens);
    case Auxiliary::importance:
      for (const double one : importance) {
        sum += one;
        squares += one * one;
      }
      return experts * squares / (sum * sum) - 1;
    case Auxiliary::sequence_balance:
      return sequence_balance / static_cast<double>(sequences);
    case Auxiliary::dropped:
      return static_cast<double>(dropped) / static_cast<double>(triples);
    case Auxiliary::load:  // of noisy_top_k, which has no CPU form
    case Auxiliary::slots_used:
    case Auxiliary::usage_entropy:
      break;  // of memories
  }
  throw std::logic_error("an auxiliary loss without a value");
}

std::unique_ptr<Router> make_router(const Declare& declare, std::int64_t d_model, const MoeConfig& config) {
  return std::visit(BuildRouter{declare, d_model, config}, config.router);
}

}  // namespace ffn::cpu
