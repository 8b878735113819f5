#include "ffn/train/optimizer.hpp"

#include "ffn/math/optimizer.hpp"

namespace ffn {

namespace {

bool decays_all(const OptimizerConfig& config) {
  return std::visit([](const auto& c) { return c.decay == "all"; }, config);
}

// Where one segment of one run's row and its state begin.
struct Place {
  std::size_t n;
  const float* grad;
  float* param;
  float* state[2];
};

struct Update {
  const Place& at;
  bool decays;
  std::int64_t step_count;
  double rate_factor, grad_scale;

  void operator()(const AdamWConfig& c) const { adam(c, c.weight_decay, /*decoupled=*/true); }
  void operator()(const AdamConfig& c) const { adam(c, c.weight_decay, /*decoupled=*/false); }
  void operator()(const SgdConfig& c) const {
    const SgdStep s{c.lr * rate_factor, c.momentum, decays ? c.weight_decay : 0, c.nesterov, grad_scale};
    sgd_step(at.n, s, at.grad, at.param, at.state[0]);
  }
  void adam(const AdamFields& c, double weight_decay, bool decoupled) const {
    const AdamStep s{c.lr * rate_factor, c.beta1, c.beta2, c.epsilon, decays ? weight_decay : 0, decoupled, grad_scale, step_count};
    adam_step(at.n, s, at.grad, at.param, at.state[0], at.state[1]);
  }
};

}  // namespace

RowOptimizer::RowOptimizer(const nn::ParameterRow& row, std::vector<OptimizerConfig> configs) : row_(row), configs_(std::move(configs)) {
  const bool all = decays_all(configs_.at(0));
  for (const auto& entry : row.entries()) {
    const bool decays = all || entry.is_matrix();
    // Neighbours of one kind become one segment; the padding between them has zero gradient and stays zero.
    if (!segments_.empty() && segments_.back().decays == decays)
      segments_.back().count = entry.offset + entry.count - segments_.back().offset;
    else segments_.push_back({entry.offset, entry.count, decays});
  }
  const bool sgd = std::holds_alternative<SgdConfig>(configs_[0]);
  for (const char* name : sgd ? std::vector<const char*>{"velocity"} : std::vector<const char*>{"mean", "square"}) {
    state_.emplace_back(name, torch::zeros_like(row.values()));
  }
}

void RowOptimizer::step(std::int64_t r, std::int64_t step_count, double rate_factor, double grad_scale) {
  const auto start = r * row_.values().size(1);
  for (const auto& segment : segments_) {
    const auto at = start + segment.offset;
    Place place{static_cast<std::size_t>(segment.count), row_.gradients().data_ptr<float>() + at, row_.values().data_ptr<float>() + at, {}};
    for (std::size_t i = 0; i < state_.size(); ++i) place.state[i] = state_[i].second.data_ptr<float>() + at;
    std::visit(Update{place, segment.decays, step_count, rate_factor, grad_scale}, configs_[static_cast<std::size_t>(r)]);
  }
}

double RowOptimizer::learning_rate(std::int64_t r) const {
  return std::visit([](const auto& c) { return c.lr; }, configs_[static_cast<std::size_t>(r)]);
}

}  // namespace ffn
