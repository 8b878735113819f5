#include "ffn/torch/verify.hpp"

#include <chrono>
#include <cmath>
#include <limits>

#include "ffn/config/coverage.hpp"
#include "ffn/core/larger.hpp"
#include "ffn/core/random.hpp"
#include "ffn/fused/network.hpp"
#include "ffn/torch/learner.hpp"
#include "ffn/train/fused_learner.hpp"

namespace ffn {

namespace {

constexpr double kRounding = std::numeric_limits<float>::epsilon() / 2;  // of one operation, relative
constexpr int kStarts = 3;                                               // of LibTorch in float32

using Row = std::vector<double>;

/// What a learner came to.
struct Outcome {
  Row gradient;  ///< of the first step
  Row weights;   ///< after the last
  double loss = 0;
  double seconds_per_step = 0;
};

std::vector<float> start_of(const RunConfig& config, const RowLayout& layout) {
  std::vector<float> row(static_cast<std::size_t>(layout.width()));
  layout.initialise(sub_seed(static_cast<std::uint64_t>(config.seed), "init"), row.data());
  return row;
}

// Every value moved to a neighbouring float or left, by lot.
std::vector<float> nudged(std::vector<float> row, std::uint64_t lot) {
  RandomStream random(lot, name_hash("verify"));
  for (float& value : row) {
    const auto turn = random.below(3);
    if (turn > 0) value = std::nextafter(value, turn == 1 ? INFINITY : -INFINITY);
  }
  return row;
}

Row as_row(const torch::Tensor& rows) {
  const torch::Tensor row = rows[0].to(torch::kCPU, torch::kFloat64).contiguous();
  return {row.data_ptr<double>(), row.data_ptr<double>() + row.numel()};
}

class Side {
 public:
  Side(const RunConfig& config, const VerifyRequest& request) : config_(config), request_(request) {}

  /// `gradient` is asked for that of step 0, `weights` for those at the end.
  template <class Gradient, class Weights>
  Outcome run(Learner& learner, const std::vector<float>& start, const Gradient& gradient, const Weights& weights) const {
    learner.write_state(0, 0, start.data());
    Outcome out;
    out.gradient = gradient();
    const LiveRuns live{1};
    std::vector<RunSteps> steps;
    std::vector<Score> scores;
    learner.advance(0, 1, live, steps);
    const auto begin = std::chrono::steady_clock::now();
    for (std::int64_t step = 1; step < request_.steps; ++step) {
      if (request_.stop && request_.stop()) break;
      learner.advance(step, step + 1, live, steps);
    }
    out.seconds_per_step = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() /
                           static_cast<double>(std::max<std::int64_t>(1, request_.steps - 1));
    out.weights = weights();
    learner.evaluate(live, scores);
    out.loss = scores[0].loss;
    return out;
  }

  Outcome fused(const Task& task) const {
    FusedLearner learner({config_}, task);
    const auto width = static_cast<std::size_t>(learner.layout().width());
    const auto gradient = [&] {
      learner.loss(0, 0);
      return Row(learner.gradient(), learner.gradient() + width);
    };
    const auto weights = [&] {
      std::vector<float> row(width);
      learner.read_state(0, 0, row.data());
      return Row(row.begin(), row.end());
    };
    return run(learner, start_of(config_, learner.layout()), gradient, weights);
  }

  Outcome libtorch(const Task& task, torch::Dtype dtype, int lot = 0) const {
    TorchOptions options;
    options.dtype = dtype;
    TorchLearner learner({config_}, task, options);
    auto start = start_of(config_, learner.layout());
    if (lot > 0) start = nudged(std::move(start), static_cast<std::uint64_t>(lot));
    return run(
        learner, start, [&] { return as_row(learner.gradients_at(0)); }, [&] { return as_row(learner.parameters()); });
  }

 private:
  const RunConfig& config_;
  const VerifyRequest& request_;
};

// The largest difference of two rows in one parameter's place, and the largest value; NaN shows.
double difference(const Row& a, const Row& b, const RowEntry& entry) {
  double worst = 0;
  for (auto i = static_cast<std::size_t>(entry.offset); i < static_cast<std::size_t>(entry.offset + entry.count); ++i)
    worst = larger(worst, std::abs(a[i] - b[i]));
  return worst;
}
double largest(const Row& row, const RowEntry& entry) { return difference(row, Row(row.size(), 0.0), entry); }

}  // namespace

VerifyResult verify_engines(const RunConfig& config, const VerifyRequest& request) {
  VerifyResult out;
  out.not_covered = not_covered(config.model);
  if (!out.not_covered.empty()) return out;
  const auto seed = static_cast<std::uint64_t>(config.seed);
  const auto task = make_task(config.task, {{sub_seed(seed, "data"), sub_seed(seed, "validation")}});
  const Side side(config, request);
  const Outcome judge = side.libtorch(*task, torch::kFloat64), fused = side.fused(*task);
  std::vector<Outcome> rounded;
  for (int lot = 0; lot < kStarts; ++lot) rounded.push_back(side.libtorch(*task, torch::kFloat32, lot));

  out.steps = request.steps;
  out.fused_seconds = fused.seconds_per_step;
  out.libtorch_seconds = rounded[0].seconds_per_step;
  out.diverges = !std::isfinite(judge.loss) || !std::isfinite(rounded[0].loss);
  out.loss = std::abs(fused.loss - judge.loss);
  out.loss_unit = kRounding * std::abs(judge.loss);
  for (const auto& other : rounded) out.loss_unit = std::max(out.loss_unit, std::abs(other.loss - judge.loss));
  const auto layout = fused::Network(config.model, task->shape()).layout();
  // Added up one after the other, as many terms as the batch has tokens leave about √N roundings of the sum.
  const auto tokens = static_cast<double>(config.train.batch_size * task->shape().sequence_length);
  const double rounding = kRounding * std::sqrt(tokens);
  for (const auto& entry : layout.entries()) {
    VerifiedParameter p;
    p.name = entry.name;
    p.gradient = difference(fused.gradient, judge.gradient, entry);
    p.gradient_unit = rounding * largest(judge.gradient, entry);
    p.weight = difference(fused.weights, judge.weights, entry);
    p.weight_unit = kRounding * largest(judge.weights, entry);
    for (const auto& other : rounded) {
      p.gradient_unit = larger(p.gradient_unit, difference(other.gradient, judge.gradient, entry));
      p.weight_unit = larger(p.weight_unit, difference(other.weights, judge.weights, entry));
    }
    out.parameters.push_back(p);
  }
  return out;
}

}  // namespace ffn
