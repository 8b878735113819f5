#include "ffn/train/optimizer.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace ffn {

namespace {

// The inputs of one update, beside its config.
struct Moment {
  std::int64_t step_count;
  double rate_factor, grad_scale;
};

// The decayed and the undecayed form of one update.
template <class Step>
struct BothSteps {
  Step decaying, plain;
};

AdamStep undecayed(const AdamFields& c, const Moment& now) {
  AdamStep s{};
  s.beta1 = static_cast<float>(c.beta1);
  s.one_minus_beta1 = static_cast<float>(1 - c.beta1);
  s.beta2 = static_cast<float>(c.beta2);
  s.one_minus_beta2 = static_cast<float>(1 - c.beta2);
  s.epsilon = static_cast<float>(c.epsilon);
  s.step_size = static_cast<float>(c.lr * now.rate_factor / bias_correction(c.beta1, now.step_count));
  s.root_scale = static_cast<float>(1 / std::sqrt(bias_correction(c.beta2, now.step_count)));
  s.grad_scale = static_cast<float>(now.grad_scale);
  s.keep = 1;
  return s;
}

// One overload of each of the following per optimizer: one that lacks them does not compile.

BothSteps<AdamStep> steps_of(const AdamWConfig& c, const Moment& now) {
  const AdamStep s = undecayed(c, now);
  BothSteps<AdamStep> both{s, s};
  both.decaying.keep = static_cast<float>(1 - c.lr * now.rate_factor * c.weight_decay);
  return both;
}

BothSteps<AdamStep> steps_of(const AdamConfig& c, const Moment& now) {
  const AdamStep s = undecayed(c, now);
  BothSteps<AdamStep> both{s, s};
  both.decaying.l2 = static_cast<float>(c.weight_decay);
  return both;
}

BothSteps<SgdStep> steps_of(const SgdConfig& c, const Moment& now) {
  const SgdStep s{c.lr * now.rate_factor, c.momentum, 0, c.nesterov, now.grad_scale};
  BothSteps<SgdStep> both{s, s};
  both.decaying.weight_decay = c.weight_decay;
  return both;
}

BothSteps<LionStep> steps_of(const LionConfig& c, const Moment& now) {
  const double rate = c.lr * now.rate_factor;
  const LionStep s{static_cast<float>(rate),          static_cast<float>(c.beta1),     static_cast<float>(1 - c.beta1),
                   static_cast<float>(c.beta2),       static_cast<float>(1 - c.beta2), 1,
                   static_cast<float>(now.grad_scale)};
  BothSteps<LionStep> both{s, s};
  both.decaying.keep = static_cast<float>(1 - rate * c.weight_decay);
  return both;
}

BothSteps<MuonStep> steps_of(const MuonConfig& c, const Moment& now) {
  const auto adam = steps_of(c.adamw(), now);
  const double rate = c.lr * now.rate_factor;
  const MuonStep s{&c, adam.plain, rate, 1, static_cast<float>(now.grad_scale)};
  BothSteps<MuonStep> both{s, s};
  both.decaying.adam = adam.decaying;
  both.decaying.keep = static_cast<float>(1 - rate * c.weight_decay);
  return both;
}

std::vector<const char*> state_names(const AdamFields&) { return {"mean", "square"}; }
std::vector<const char*> state_names(const SgdConfig&) { return {"velocity"}; }
std::vector<const char*> state_names(const LionConfig&) { return {"mean"}; }
std::vector<const char*> state_names(const MuonConfig&) { return {"mean", "square"}; }  // the matrices' squares stay 0

}  // namespace

RowOptimizer::RowOptimizer(const RowLayout& layout, std::vector<OptimizerConfig> configs, const UpdateRule& rule)
    : configs_(std::move(configs)), width_(layout.width()), groups_(parameter_groups(layout, rule)) {
  for (const char* name : std::visit([](const auto& c) { return state_names(c); }, configs_[0]))
    state_.emplace_back(name, Rows(static_cast<std::int64_t>(configs_.size()), layout.width()));
}

void RowOptimizer::step(std::int64_t r, std::int64_t step_count, double rate_factor, double grad_scale, const float* gradient,
                        float* parameters, std::int64_t begin, std::int64_t end) {
  const auto update = [&](const auto& config) {
    double rate = 1, decay = 1;
    auto scaled = config;  // a step may point to it
    auto steps = steps_of(scaled, {step_count, rate_factor, grad_scale});
    for (const auto& group : groups_) {
      const std::int64_t first = std::max(begin, group.offset), last = std::min(end, group.offset + group.count);
      if (first >= last || group.update.rate == 0) continue;
      if (group.update.rate != rate || group.update.decay != decay) {
        rate = group.update.rate;
        decay = group.update.decay;
        scaled = with_decay(config, decay);
        steps = steps_of(scaled, {step_count, rate_factor * rate, grad_scale});
      }
      const auto& step = group.update.decays ? steps.decaying : steps.plain;
      if constexpr (std::is_same_v<std::decay_t<decltype(config)>, MuonConfig>) {
        if (group.update.as_matrices) {
          take_matrices(step, r, group, begin, end, gradient, parameters);
          continue;
        }
      }
      take(step, r, first, last - first, gradient + first, parameters + first);
    }
  };
  std::visit(update, configs_[static_cast<std::size_t>(r)]);
}

void RowOptimizer::take(const AdamStep& step, std::int64_t r, std::int64_t offset, std::int64_t count, const float* gradient,
                        float* parameters) {
  float *mean = state_[0].second.row(r) + offset, *square = state_[1].second.row(r) + offset;
  kernels().adam_step(static_cast<std::size_t>(count), step, gradient, parameters, mean, square);
}

void RowOptimizer::take(const SgdStep& step, std::int64_t r, std::int64_t offset, std::int64_t count, const float* gradient,
                        float* parameters) {
  kernels().sgd_step(static_cast<std::size_t>(count), step, gradient, parameters, state_[0].second.row(r) + offset);
}

void RowOptimizer::take(const LionStep& step, std::int64_t r, std::int64_t offset, std::int64_t count, const float* gradient,
                        float* parameters) {
  kernels().lion_step(static_cast<std::size_t>(count), step, gradient, parameters, state_[0].second.row(r) + offset);
}

void RowOptimizer::take(const MuonStep& step, std::int64_t r, std::int64_t offset, std::int64_t count, const float* gradient,
                        float* parameters) {
  take(step.adam, r, offset, count, gradient, parameters);
}

void RowOptimizer::take_matrices(const MuonStep& step, std::int64_t r, const ParameterGroup& group, std::int64_t begin, std::int64_t end,
                                 const float* gradient, float* parameters) {
  float* mean = state_[0].second.row(r);
  for (const auto& parameter : group.parameters) {
    const auto [count, rows, columns] = matrices_of(parameter);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at = parameter.offset + i * rows * columns;
      if (at >= begin && at < end) muon_step(rows, columns, step, gradient + at, parameters + at, mean + at);
    }
  }
}

}  // namespace ffn
