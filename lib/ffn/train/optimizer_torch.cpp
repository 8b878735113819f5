#include "ffn/train/optimizer_torch.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/kernels/optimizer.hpp"

namespace ffn {

using torch::Tensor;

namespace {

// What varies over runs and steps. Each kind has its own columns; the updates below read them by these names.
enum AdamColumn { kStepSize, kRootScale, kKeep, kL2, kNumAdamColumns };
enum SgdColumn { kRate, kDecay, kNumSgdColumns };
enum LionColumn { kLionRate, kLionKeep, kNumLionColumns };

std::vector<double> adam_row(const AdamFields& c, double rate, std::int64_t t) {
  return {rate / bias_correction(c.beta1, t), 1 / std::sqrt(bias_correction(c.beta2, t)), 1, 0};
}

std::vector<double> row_of(const AdamWConfig& c, std::int64_t t, double factor) {
  auto row = adam_row(c, c.lr * factor, t);
  row[kKeep] = 1 - c.lr * factor * c.weight_decay;
  return row;
}
std::vector<double> row_of(const AdamConfig& c, std::int64_t t, double factor) {
  auto row = adam_row(c, c.lr * factor, t);
  row[kL2] = c.weight_decay;
  return row;
}
std::vector<double> row_of(const SgdConfig& c, std::int64_t, double factor) { return {c.lr * factor, c.weight_decay}; }

std::vector<double> row_of(const LionConfig& c, std::int64_t, double factor) { return {c.lr * factor, 1 - c.lr * factor * c.weight_decay}; }

std::int64_t columns_of(const AdamFields&) { return kNumAdamColumns; }
std::int64_t columns_of(const SgdConfig&) { return kNumSgdColumns; }
std::int64_t columns_of(const LionConfig&) { return kNumLionColumns; }

std::vector<std::string> state_of(const AdamFields&) { return {"mean", "square"}; }
std::vector<std::string> state_of(const SgdConfig&) { return {"velocity"}; }
std::vector<std::string> state_of(const LionConfig&) { return {"mean"}; }

// A number as the kernels have it: rounded to float32 there, exact in float64.
double rounded(double x, const Tensor& like) { return like.scalar_type() == torch::kFloat32 ? static_cast<float>(x) : x; }

struct TensorUpdate {
  const Tensor &parameters, &gradients, &scale, &coefficients;
  const Tensor moving;  ///< (R, 1) or (R, P) bool
  const Tensor &decays, &rate_of_parameter;
  const std::vector<std::pair<std::string, Tensor>>& state;
  std::int64_t num_columns;

  // (R, 1), or (R, P) where parameters have different rates.
  Tensor column(int index) const {
    if (!rate_of_parameter.defined()) return coefficients.narrow(1, index, 1);
    return coefficients.view({coefficients.size(0), -1, num_columns}).select(2, index).index_select(1, rate_of_parameter);
  }
  // The column where the parameter decays, `otherwise` elsewhere; (R, P).
  Tensor where_decaying(int index, double otherwise) const {
    return torch::where(decays, column(index), torch::full({}, otherwise, parameters.options()));
  }
  void move(const Tensor& to, const Tensor& value) const { to.copy_(torch::where(moving, value, to)); }

  // No operation multiplies and adds at once: whether that is rounded once or twice would depend on an element's place.
  void operator()(const AdamFields& c) const {
    const Tensor &mean = state[0].second, &square = state[1].second;
    const auto number = [&](double x) { return rounded(x, parameters); };
    const Tensor kept = parameters * where_decaying(kKeep, 1);
    const Tensor g = gradients * scale + where_decaying(kL2, 0) * parameters;
    const Tensor m = mean * number(c.beta1) + g * number(1 - c.beta1);
    const Tensor v = square * number(c.beta2) + (g * g) * number(1 - c.beta2);
    const Tensor moved = kept - column(kStepSize) * m / (v.sqrt() * column(kRootScale) + number(c.epsilon));
    move(mean, m);
    move(square, v);
    move(parameters, moved);
  }

  void operator()(const SgdConfig& c) const {
    const Tensor& velocity = state[0].second;
    const double momentum = rounded(c.momentum, parameters);
    const Tensor g = gradients * scale + where_decaying(kDecay, 0) * parameters;
    const Tensor v = velocity * momentum + g;  // velocity starts at 0, so the first one is g
    const Tensor moved = parameters - column(kRate) * (c.nesterov ? g + v * momentum : v);
    move(velocity, v);
    move(parameters, moved);
  }

  void operator()(const LionConfig& c) const {
    const Tensor& mean = state[0].second;
    const auto number = [&](double x) { return rounded(x, parameters); };
    const Tensor g = gradients * scale;
    const Tensor u = mean * number(c.beta1) + g * number(1 - c.beta1);
    const Tensor m = mean * number(c.beta2) + g * number(1 - c.beta2);
    const Tensor moved = parameters * where_decaying(kLionKeep, 1) - column(kLionRate) * torch::sign(u);
    move(mean, m);
    move(parameters, moved);
  }
};

}  // namespace

TensorOptimizer::TensorOptimizer(const RowLayout& layout, const Tensor& rows, std::vector<OptimizerConfig> configs, const UpdateRule& rule)
    : configs_(std::move(configs)), num_rows_(rows.size(0)) {
  Tensor decays = torch::zeros({layout.width()}, torch::kBool), moves = torch::ones_like(decays),
         rate_of = torch::zeros({layout.width()}, torch::kInt64);
  for (const auto& group : parameter_groups(layout, rule)) {
    decays.narrow(0, group.offset, group.count).fill_(group.update.decays);
    moves.narrow(0, group.offset, group.count).fill_(group.update.rate != 0);
    const auto found = std::find(rates_.begin(), rates_.end(), group.update.rate);
    rate_of.narrow(0, group.offset, group.count).fill_(found - rates_.begin());
    if (found == rates_.end()) rates_.push_back(group.update.rate);
  }
  decays_ = decays.to(rows.device());
  if (std::count(rates_.begin(), rates_.end(), 0.0) > 0) moves_ = moves.to(rows.device());
  if (rates_.size() > 1) rate_of_parameter_ = rate_of.to(rows.device());
  for (auto& name : std::visit([](const auto& c) { return state_of(c); }, configs_[0]))
    state_.emplace_back(std::move(name), torch::zeros_like(rows));
}

std::int64_t TensorOptimizer::num_coefficients() const {
  return static_cast<std::int64_t>(rates_.size()) * std::visit([](const auto& c) { return columns_of(c); }, configs_[0]);
}

Tensor TensorOptimizer::coefficients(std::int64_t step_count, double rate_factor) const {
  std::vector<double> values;
  for (const auto& config : configs_) {
    for (const double rate : rates_) {
      const auto row = std::visit([&](const auto& c) { return row_of(c, step_count, rate_factor * rate); }, config);
      values.insert(values.end(), row.begin(), row.end());
    }
  }
  values.resize(static_cast<std::size_t>(num_rows_ * num_coefficients()), 0.0);
  return torch::tensor(values, torch::kFloat64).view({num_rows_, num_coefficients()});
}

void TensorOptimizer::step(const Tensor& parameters, const Tensor& gradients, const Tensor& scale, const Tensor& coefficients,
                           const Tensor& alive) {
  const auto num_columns = num_coefficients() / static_cast<std::int64_t>(rates_.size());
  const TensorUpdate update{parameters, gradients,          scale,  coefficients, moves_.defined() ? alive.logical_and(moves_) : alive,
                            decays_,    rate_of_parameter_, state_, num_columns};
  std::visit(update, configs_[0]);
}

}  // namespace ffn
