#include "ffn/train/optimizer_torch.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "ffn/kernels/kernels.hpp"
#include "ffn/train/muon.hpp"

namespace ffn {

using torch::Tensor;

namespace {

// Numbers that vary over runs and steps. Each kind has its own columns; the updates below read them by these names.
enum AdamColumn { kStepSize, kRootScale, kKeep, kL2, kNumAdamColumns };
enum SgdColumn { kRate, kDecay, kNumSgdColumns };
enum LionColumn { kLionRate, kLionKeep, kNumLionColumns };
enum MuonColumn { kMuonRate = kNumAdamColumns, kMuonKeep, kNumMuonColumns };  // AdamW's come first

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
std::vector<double> row_of(const MuonConfig& c, std::int64_t t, double factor) {
  auto row = row_of(c.adamw(), t, factor);
  row.insert(row.end(), {c.lr * factor, 1 - c.lr * factor * c.weight_decay});
  return row;
}

// The same as base + slope · shared, where only `shared` changes over the steps and only the others over runs. Rounded differently in
// float64; for devices.
struct Affine {
  double base, slope;
};
std::vector<Affine> affine_of(const AdamWConfig& c, double rate) { return {{0, rate}, {0, 1}, {1, -rate * c.weight_decay}, {0, 0}}; }
std::vector<Affine> affine_of(const AdamConfig& c, double rate) { return {{0, rate}, {0, 1}, {1, 0}, {c.weight_decay, 0}}; }
std::vector<Affine> affine_of(const SgdConfig& c, double rate) { return {{0, rate}, {c.weight_decay, 0}}; }
std::vector<Affine> affine_of(const LionConfig& c, double rate) { return {{0, rate}, {1, -rate * c.weight_decay}}; }
std::vector<Affine> affine_of(const MuonConfig& c, double rate) {
  auto row = affine_of(c.adamw(), rate / c.lr * c.adam_lr);
  row.insert(row.end(), {{0, rate}, {1, -rate * c.weight_decay}});
  return row;
}
std::vector<double> shared_of(const AdamFields& c, std::int64_t t, double factor) {
  return {factor / bias_correction(c.beta1, t), 1 / std::sqrt(bias_correction(c.beta2, t)), factor, 0};
}
std::vector<double> shared_of(const SgdConfig&, std::int64_t, double factor) { return {factor, 0}; }
std::vector<double> shared_of(const LionConfig&, std::int64_t, double factor) { return {factor, factor}; }
std::vector<double> shared_of(const MuonConfig& c, std::int64_t t, double factor) {
  auto row = shared_of(c.adamw(), t, factor);
  row.insert(row.end(), {factor, factor});
  return row;
}

std::int64_t columns_of(const AdamFields&) { return kNumAdamColumns; }
std::int64_t columns_of(const SgdConfig&) { return kNumSgdColumns; }
std::int64_t columns_of(const LionConfig&) { return kNumLionColumns; }
std::int64_t columns_of(const MuonConfig&) { return kNumMuonColumns; }

std::vector<std::string> state_of(const AdamFields&) { return {"mean", "square"}; }
std::vector<std::string> state_of(const SgdConfig&) { return {"velocity"}; }
std::vector<std::string> state_of(const LionConfig&) { return {"mean"}; }
std::vector<std::string> state_of(const MuonConfig&) { return {"mean", "square"}; }

// A number as the kernels have it: rounded to float32 there, exact in float64.
double rounded(double x, const Tensor& like) { return like.scalar_type() == torch::kFloat32 ? static_cast<float>(x) : x; }

struct TensorUpdate {
  const Tensor &parameters, &gradients, &scale, &coefficients;
  const Tensor moving;  ///< (R, 1) or (R, P) bool
  const Tensor &decays, &rate_of_parameter;
  const std::vector<std::pair<std::string, Tensor>>& state;
  const std::vector<RowEntry>& matrices;
  std::int64_t num_columns;
  bool l2;  ///< whether a run has such a term

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
  std::array<Tensor, 3> after_adam(const AdamFields& c) const {
    const Tensor &mean = state[0].second, &square = state[1].second;
    const auto number = [&](double x) { return rounded(x, parameters); };
    const Tensor kept = parameters * where_decaying(kKeep, 1);
    const Tensor g = gradients * scale + where_decaying(kL2, 0) * parameters;
    const Tensor m = mean * number(c.beta1) + g * number(1 - c.beta1);
    const Tensor v = square * number(c.beta2) + (g * g) * number(1 - c.beta2);
    return {kept - column(kStepSize) * m / (v.sqrt() * column(kRootScale) + number(c.epsilon)), m, v};
  }
  void move_all(const std::array<Tensor, 3>& to) const {
    move(state[0].second, to[1]);
    move(state[1].second, to[2]);
    move(parameters, to[0]);
  }

  void operator()(const AdamFields& c) const {
    if (!modules::OwnKernels::wanted() || rate_of_parameter.defined() || moving.size(1) != 1) return move_all(after_adam(c));
    // In place, for runs that stand still with a gradient of zeros and coefficients that change nothing.
    const Tensor &mean = state[0].second, &square = state[1].second, none = torch::zeros({}, parameters.options()),
                 one = torch::ones({}, parameters.options());
    const Tensor moves = moving.to(parameters.scalar_type());
    const Tensor g = torch::where(moving, gradients * scale, none);
    if (l2) g.add_(parameters * where_decaying(kL2, 0));
    mean.lerp_(g, moves * (1 - c.beta1));
    square.lerp_(g * g, moves * (1 - c.beta2));
    const Tensor divisor = square.sqrt().mul_(column(kRootScale)).add_(c.epsilon);
    parameters.mul_(torch::where(decays.logical_and(moving), column(kKeep), one));
    parameters.sub_((mean * (column(kStepSize) * moves)).div_(divisor));
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

  void operator()(const MuonConfig& c) const {
    const auto next = after_adam(c.adamw());
    const double momentum = rounded(c.momentum, parameters), rest = rounded(1 - c.momentum, parameters);
    const Tensor keep = where_decaying(kMuonKeep, 1), rate = column(kMuonRate).expand_as(parameters);
    for (const auto& parameter : matrices) {
      const auto of = [&](const Tensor& rows) { return rows.narrow(1, parameter.offset, parameter.count); };
      const auto [count, d_in, d_out] = matrices_of(parameter);
      const Tensor g = of(gradients) * scale * rest, m = of(state[0].second) * momentum + g;
      const Tensor u = c.nesterov ? g + m * momentum : m;
      const Tensor o = orthogonalised(u.view({-1, d_in, d_out})).view_as(u);
      of(next[0]).copy_(of(parameters) * of(keep) - of(rate) * c.step_scale(d_in, d_out) * o);
      of(next[1]).copy_(m);
      of(next[2]).zero_();
    }
    move_all(next);
  }
};

}  // namespace

Tensor orthogonalised(const Tensor& x) {
  const auto [a, b, c] = kNewtonSchulz;
  Tensor now = x / (x.square().sum({1, 2}, /*keepdim=*/true).sqrt() + kNewtonSchulzEpsilon);
  const bool tall = x.size(1) > x.size(2);
  const Tensor identity = torch::eye(std::min(x.size(1), x.size(2)), x.options());
  for (int step = 0; step < kNewtonSchulzSteps; ++step) {
    const Tensor square = tall ? torch::bmm(now.transpose(1, 2), now) : torch::bmm(now, now.transpose(1, 2));
    const Tensor factor = torch::bmm(square * c + identity * b, square) + identity * a;
    now = tall ? torch::bmm(now, factor) : torch::bmm(factor, now);
  }
  return now;
}

TensorOptimizer::TensorOptimizer(const RowLayout& layout, const Tensor& rows, std::vector<OptimizerConfig> configs, const UpdateRule& rule)
    : configs_(std::move(configs)), num_rows_(rows.size(0)) {
  for (const auto& config : configs_) {
    const auto* adam = std::get_if<AdamConfig>(&config);
    l2_ = l2_ || (adam && adam->weight_decay > 0);
  }
  Tensor decays = torch::zeros({layout.width()}, torch::kBool), moves = torch::ones_like(decays),
         rate_of = torch::zeros({layout.width()}, torch::kInt64);
  groups_ = parameter_groups(layout, rule);
  for (const auto& group : groups_) {
    decays.narrow(0, group.offset, group.count).fill_(group.update.decays);
    moves.narrow(0, group.offset, group.count).fill_(group.update.rate != 0);
    const Factors factors{group.update.rate, group.update.decay};
    const auto found = std::find(rates_.begin(), rates_.end(), factors);
    rate_of.narrow(0, group.offset, group.count).fill_(found - rates_.begin());
    if (group.update.as_matrices) matrices_.insert(matrices_.end(), group.parameters.begin(), group.parameters.end());
    if (found == rates_.end()) rates_.push_back(factors);
  }
  decays_ = decays.to(rows.device());
  if (!moves.all().item<bool>()) moves_ = moves.to(rows.device());
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
    for (const auto& [rate, decay] : rates_) {
      const auto row = std::visit(
          [&, factor = rate_factor * rate, of_decay = decay](const auto& c) { return row_of(with_decay(c, of_decay), step_count, factor); },
          config);
      values.insert(values.end(), row.begin(), row.end());
    }
  }
  values.resize(static_cast<std::size_t>(num_rows_ * num_coefficients()), 0.0);
  return torch::tensor(values, torch::kFloat64).view({num_rows_, num_coefficients()});
}

// AdamW of one run: one kernel for all parameters that share rate and decay.
bool TensorOptimizer::fused_step(const Tensor& parameters, const Tensor& gradients, const Tensor& scale, const Tensor& coefficients,
                                 const Tensor& alive, const Tensor& step_number) {
  const auto* adamw = std::get_if<AdamWConfig>(&configs_[0]);
  if (!kHasFusedAdamW || !adamw || num_rows_ != 1 || !modules::OwnKernels::wanted() || parameters.scalar_type() != torch::kFloat32)
    return false;
  const Tensor step = (step_number + 1).to(torch::kFloat32), halted = alive.logical_not().to(torch::kFloat32).view({1});
  // The column has the rate divided by the correction of the first moment, which the kernel makes itself.
  const Tensor correction = 1.0 - torch::pow(adamw->beta1, step.to(torch::kFloat64));
  for (std::size_t rate = 0; rate < rates_.size(); ++rate) {
    const auto column = static_cast<std::int64_t>(rate) * kNumAdamColumns + kStepSize;
    const Tensor lr = (coefficients[0].narrow(0, column, 1) * correction).to(torch::kFloat32).squeeze(0);
    for (const bool decays : {true, false}) {
      std::array<std::vector<Tensor>, 4> lists;
      for (const auto& group : groups_) {
        if (group.update.rate == 0 || !(Factors{group.update.rate, group.update.decay} == rates_[rate]) || group.update.decays != decays)
          continue;
        const std::array<Tensor, 4> rows{parameters, gradients, state_[0].second, state_[1].second};
        for (std::size_t i = 0; i < rows.size(); ++i) lists[i].push_back(rows[i][0].narrow(0, group.offset, group.count));
      }
      if (lists[0].empty()) continue;
      fused_adamw(lists[0], lists[1], lists[2], lists[3],
                  {lr, step.squeeze(0), scale.reciprocal().view({1}), halted, adamw->beta1, adamw->beta2, adamw->epsilon,
                   decays ? adamw->weight_decay * rates_[rate].decay : 0.0});
    }
  }
  return true;
}

Tensor TensorOptimizer::shared_coefficients(std::int64_t step_count, double rate_factor) const {
  const auto row = std::visit([&](const auto& c) { return shared_of(c, step_count, rate_factor); }, configs_[0]);
  return torch::tensor(row, torch::kFloat64).repeat({static_cast<std::int64_t>(rates_.size())});
}

std::array<Tensor, 2> TensorOptimizer::bases_and_slopes() const {
  std::vector<double> bases, slopes;
  for (const auto& config : configs_) {
    for (const auto& [rate, decay] : rates_) {
      const auto affine = [factor = rate, of_decay = decay](const auto& c) { return affine_of(with_decay(c, of_decay), c.lr * factor); };
      for (const auto& value : std::visit(affine, config)) {
        bases.push_back(value.base);
        slopes.push_back(value.slope);
      }
    }
  }
  const auto rows = [&](std::vector<double>& values) {
    values.resize(static_cast<std::size_t>(num_rows_ * num_coefficients()), 0.0);
    return torch::tensor(values, torch::kFloat64).view({num_rows_, num_coefficients()});
  };
  return {rows(bases), rows(slopes)};
}

void TensorOptimizer::step(const Tensor& parameters, const Tensor& gradients, const Tensor& scale, const Tensor& coefficients,
                           const Tensor& alive, const Tensor& step_number) {
  if (step_number.defined() && fused_step(parameters, gradients, scale, coefficients, alive, step_number)) return;
  const auto num_columns = num_coefficients() / static_cast<std::int64_t>(rates_.size());
  const TensorUpdate update{parameters, gradients,          scale,  coefficients, moves_.defined() ? alive.logical_and(moves_) : alive,
                            decays_,    rate_of_parameter_, state_, matrices_,    num_columns,
                            l2_};
  std::visit(update, configs_[0]);
}

}  // namespace ffn
