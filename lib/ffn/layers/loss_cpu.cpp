#include "ffn/layers/loss_cpu.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace ffn::cpu {

namespace {

// One overload per alternative of Loss that the cpu engine has: one without does not compile.
struct Compute {
  std::int64_t rows, width;
  const float* outputs;
  const Targets& targets;
  std::int64_t mean_over;
  float* doutputs;
  Arena& arena;

  template <class LossOfTorch>
  LossSums operator()(const LossOfTorch&) const {
    static_assert(!LossOfTorch::kCpu, "write the loss here, or say kCpu = false in config/loss.hpp");
    throw std::logic_error("config/coverage.cpp leaves this loss to LibTorch");
  }

  // loss = −ln p_label + ε (o_label − mean o)   so   do = p − e_label + ε (e_label − 1/width)
  LossSums operator()(const CrossEntropy& loss) const {
    auto sums = kernels().cross_entropy(rows, width, outputs, targets.labels, mean_over, doutputs, arena.floats(rows * (width + 3)));
    if (loss.smoothing == 0) return sums;
    const double scale = loss.smoothing / static_cast<double>(mean_over > 0 ? mean_over : sums.scored);
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t label = targets.labels[i];
      if (label < 0) continue;
      const float* row = outputs + i * width;
      const double mean = std::accumulate(row, row + width, 0.0) / static_cast<double>(width);
      sums.loss += loss.smoothing * (static_cast<double>(row[label]) - mean);
      if (!doutputs) continue;
      float* gradient = doutputs + i * width;
      for (std::int64_t j = 0; j < width; ++j) gradient[j] -= static_cast<float>(scale / static_cast<double>(width));
      gradient[label] += static_cast<float>(scale);
    }
    return sums;
  }

  // loss = Σ h(d)/width, d = o − t   so   do = h'(d)/width; `slope` is h'(d)/factor
  template <class H, class Slope>
  LossSums of_vectors(const H& h, float factor, const Slope& slope) const {
    LossSums sums;
    sums.scored = rows;
    const float scale = factor / static_cast<float>((mean_over > 0 ? mean_over : rows) * width);
    for (std::int64_t i = 0; i < rows * width; ++i) {
      const float difference = outputs[i] - targets.values[i];
      sums.loss += h(static_cast<double>(difference));
      if (doutputs) doutputs[i] = scale * slope(difference);
    }
    sums.loss /= static_cast<double>(width);
    return sums;
  }

  LossSums operator()(const MeanSquaredError&) const {
    return of_vectors([](double d) { return d * d; }, 2.0f, [](float d) { return d; });
  }

  LossSums operator()(const Huber&) const {
    const auto h = [](double d) { return std::abs(d) <= 1 ? 0.5 * std::abs(d) * std::abs(d) : std::abs(d) - 0.5; };
    return of_vectors(h, 1.0f, [](float d) { return std::clamp(d, -1.0f, 1.0f); });
  }

  // loss = Σ over j ≠ label of max(0, 1 + o_j − o_label)   so   do_j = 1 where that is above 0, do_label = −Σ of them
  LossSums operator()(const Hinge&) const {
    LossSums sums;
    sums.scored = count_scored(rows, targets);
    const float scale = 1.0f / static_cast<float>(mean_over > 0 ? mean_over : sums.scored);
    if (doutputs) std::fill_n(doutputs, rows * width, 0.0f);
    for (std::int64_t i = 0; i < rows; ++i) {
      const float* row = outputs + i * width;
      const std::int64_t label = targets.labels[i];
      if (label < 0) continue;
      sums.correct += std::max_element(row, row + width) - row == label;
      for (std::int64_t j = 0; j < width; ++j) {
        const float margin = 1.0f + row[j] - row[label];
        if (j == label || margin <= 0.0f) continue;  // not so for NaN, which has to show
        sums.loss += static_cast<double>(margin);
        if (!doutputs) continue;
        doutputs[i * width + j] += scale;
        doutputs[i * width + label] -= scale;
      }
    }
    return sums;
  }
};

}  // namespace

std::int64_t count_scored(std::int64_t rows, const Targets& targets) {
  return targets.labels ? std::count_if(targets.labels, targets.labels + rows, [](std::int64_t label) { return label >= 0; }) : rows;
}

LossSums compute_loss(const Loss& loss, std::int64_t rows, std::int64_t width, const float* outputs, const Targets& targets,
                      std::int64_t mean_over, float* doutputs, Arena& arena) {
  return std::visit(Compute{rows, width, outputs, targets, mean_over, doutputs, arena}, loss);
}

}  // namespace ffn::cpu
