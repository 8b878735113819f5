#include "ffn/train/optimizer.hpp"

#include <cmath>

#include "ffn/kernels/optimizer.hpp"

namespace ffn {

namespace {

bool decays_all(const OptimizerConfig& config) {
  return std::visit([](const auto& c) { return c.decay == "all"; }, config);
}

// The decayed and the undecayed form of one update.
template <class Step>
struct BothSteps {
  Step decaying, plain;
};

BothSteps<AdamStep> adam_steps(const AdamFields& c, double weight_decay, bool decoupled, std::int64_t t, double rate_factor,
                               double grad_scale) {
  const double lr = c.lr * rate_factor;
  AdamStep s{};
  s.beta1 = static_cast<float>(c.beta1), s.one_minus_beta1 = static_cast<float>(1 - c.beta1);
  s.beta2 = static_cast<float>(c.beta2), s.one_minus_beta2 = static_cast<float>(1 - c.beta2);
  s.epsilon = static_cast<float>(c.epsilon);
  s.step_size = static_cast<float>(lr / bias_correction(c.beta1, t));
  s.root_scale = static_cast<float>(1 / std::sqrt(bias_correction(c.beta2, t)));
  s.grad_scale = static_cast<float>(grad_scale);
  s.keep = 1;
  BothSteps<AdamStep> both{s, s};
  if (decoupled) both.decaying.keep = static_cast<float>(1 - lr * weight_decay);
  else both.decaying.l2 = static_cast<float>(weight_decay);
  return both;
}

BothSteps<SgdStep> sgd_steps(const SgdConfig& c, double rate_factor, double grad_scale) {
  const SgdStep s{c.lr * rate_factor, c.momentum, 0, c.nesterov, grad_scale};
  BothSteps<SgdStep> both{s, s};
  both.decaying.weight_decay = c.weight_decay;
  return both;
}

}  // namespace

RowOptimizer::RowOptimizer(const RowLayout& layout, std::vector<OptimizerConfig> configs) : configs_(std::move(configs)) {
  const bool all = decays_all(configs_.at(0));
  for (const auto& entry : layout.entries()) {
    const bool decays = all || entry.decays;
    // Neighbours of one kind become one segment; the padding between them has zero gradient and stays zero.
    if (!segments_.empty() && segments_.back().decays == decays)
      segments_.back().count = entry.offset + entry.count - segments_.back().offset;
    else segments_.push_back({entry.offset, entry.count, decays});
  }
  const bool sgd = std::holds_alternative<SgdConfig>(configs_[0]);
  for (const char* name : sgd ? std::vector<const char*>{"velocity"} : std::vector<const char*>{"mean", "square"})
    state_.emplace_back(name, Rows(static_cast<std::int64_t>(configs_.size()), layout.width()));
}

void RowOptimizer::step(std::int64_t r, std::int64_t step_count, double rate_factor, double grad_scale, const float* gradient,
                        float* parameters) {
  const auto& config = configs_[static_cast<std::size_t>(r)];
  float* first = state_[0].second.row(r);
  const auto size = [](const Segment& segment) { return static_cast<std::size_t>(segment.count); };
  if (const auto* sgd = std::get_if<SgdConfig>(&config)) {
    const auto steps = sgd_steps(*sgd, rate_factor, grad_scale);
    for (const auto& s : segments_)
      sgd_step(size(s), s.decays ? steps.decaying : steps.plain, gradient + s.offset, parameters + s.offset, first + s.offset);
    return;
  }
  const auto* adamw = std::get_if<AdamWConfig>(&config);
  const auto& adam = adamw ? static_cast<const AdamFields&>(*adamw) : std::get<AdamConfig>(config);
  const double weight_decay = adamw ? adamw->weight_decay : std::get<AdamConfig>(config).weight_decay;
  const auto steps = adam_steps(adam, weight_decay, adamw != nullptr, step_count, rate_factor, grad_scale);
  float* second = state_[1].second.row(r);
  for (const auto& s : segments_) {
    adam_step(size(s), s.decays ? steps.decaying : steps.plain, gradient + s.offset, parameters + s.offset, first + s.offset,
              second + s.offset);
  }
}

double RowOptimizer::learning_rate(std::int64_t r) const {
  return std::visit([](const auto& c) { return c.lr; }, configs_[static_cast<std::size_t>(r)]);
}

}  // namespace ffn
