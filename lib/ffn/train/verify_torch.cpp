#include "ffn/train/verify_torch.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "ffn/base/nan_max.hpp"
#include "ffn/base/random.hpp"
#include "ffn/config/coverage.hpp"
#include "ffn/config/parameters.hpp"
#include "ffn/train/cpu_learner.hpp"

namespace ffn {

namespace {

constexpr double kRounding = std::numeric_limits<float>::epsilon() / 2;  // of one operation, relative
// Roundings of a product's inputs, with 24, 11 and 8 bits.
double rounding_of(const RunConfig& config, const TorchOptions* device) {
  if (config.compute.precision == "bfloat16") return 0x1p-8;
  return config.compute.precision == "tf32" && device && device->device.is_cuda() ? 0x1p-11 : kRounding;
}
constexpr int kStarts = 3;          // of LibTorch in float32
constexpr std::int64_t kSeeds = 8;  // that are tried for a first step without near ties

using Row = std::vector<double>;

/// The result of a learner.
struct Outcome {
  Row gradient;  ///< of the first step
  Row weights;   ///< after the last
  double loss = 0;
  double seconds_per_step = 0;
};

std::vector<float> start_of(const RunConfig& config, const RowLayout& layout) {
  std::vector<float> row(static_cast<std::size_t>(layout.width()));
  initialise(config.model, layout, sub_seed(static_cast<std::uint64_t>(config.seed), "init"), row.data());
  return row;
}

// Every value moved to a neighbouring float, or by a coarser rounding, or left, by lot.
std::vector<float> nudged(std::vector<float> row, std::uint64_t lot, double rounding) {
  RandomStream random(lot, name_hash("verify"));
  for (float& value : row) {
    const auto turn = random.below(3);
    if (rounding > kRounding) value *= static_cast<float>(1 + (static_cast<double>(turn) - 1) * rounding);
    else if (turn > 0) value = std::nextafter(value, turn == 1 ? INFINITY : -INFINITY);
  }
  return row;
}

Row as_row(const torch::Tensor& rows) {
  const torch::Tensor row = rows[0].to(torch::kCPU, torch::kFloat64).contiguous();
  return {row.data_ptr<double>(), row.data_ptr<double>() + row.numel()};
}

/// One learner, step by step, against the clock.
class Side {
 public:
  Side(Learner& learner, const std::vector<float>& start, const VerifyRequest& request) : learner_(learner), request_(request) {
    learner_.write_state(0, 0, start.data());
  }

  /// Up to but not with `end`.
  void advance(std::int64_t end) {
    for (; step_ < end && !stopped(); ++step_) {
      const auto begin = std::chrono::steady_clock::now();
      learner_.advance(step_, step_ + 1, live_, steps_);
      if (step_ == 0) continue;  // it takes the memory
      seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      ++timed_;
    }
  }

  double loss() {
    std::vector<LossSums> sums;
    learner_.evaluate(live_, sums);
    return sums[0].loss / static_cast<double>(sums[0].scored);
  }
  double seconds_per_step() const { return seconds_ / static_cast<double>(std::max<std::int64_t>(1, timed_)); }
  std::int64_t step() const { return step_; }

 private:
  bool stopped() const { return request_.stop && request_.stop(); }

  Learner& learner_;
  const VerifyRequest& request_;
  const LiveRuns live_{1};
  std::vector<RunSteps> steps_;
  std::int64_t step_ = 0, timed_ = 0;
  double seconds_ = 0;
};

TorchOptions in(torch::Dtype dtype) {
  TorchOptions options;
  options.dtype = dtype;
  return options;
}

/// LibTorch's side, whose routers are watched.
class TorchSide {
 public:
  TorchSide(const RunConfig& config, const Task& task, const VerifyRequest& request, torch::Dtype dtype, int lot = 0)
      : learner_({config}, task, in(dtype)), side_(learner_, start(config, lot), request) {
    out_.gradient = as_row(learner_.gradients_at(0));
    learner_.watch_routers(&margins_);
  }
  TorchSide(const TorchSide&) = delete;
  TorchSide& operator=(const TorchSide&) = delete;

  void advance(std::int64_t end) {
    margins_.clear();
    before_ = learner_.parameters().clone();
    side_.advance(end);
  }
  /// Puts back the weights before the last advance().
  void take_back() {
    const torch::NoGradGuard no_grad;
    learner_.parameters().copy_(before_);
  }
  /// Weights and loss as they are, the routers' margins on the validation set.
  void finish() {
    margins_.clear();
    out_.weights = as_row(learner_.parameters());
    out_.loss = side_.loss();
    out_.seconds_per_step = side_.seconds_per_step();
  }

  const Outcome& outcome() const { return out_; }
  const RowLayout& layout() const { return learner_.layout(); }
  /// The number of the next step.
  Row next_gradient() { return as_row(learner_.gradients_at(side_.step())); }
  /// The last advance()'s change of the weights.
  Row moved() const { return as_row(learner_.parameters() - before_); }
  std::int64_t step() const { return side_.step(); }
  /// Over all routers and tokens since the last advance() or finish().
  Row margins() const {
    Row all;
    for (const auto& margins : margins_) {
      const Row row = as_row(margins);
      all.insert(all.end(), row.begin(), row.end());
    }
    return all;
  }

 private:
  std::vector<float> start(const RunConfig& config, int lot) const {
    auto row = start_of(config, learner_.layout());
    return lot > 0 ? nudged(std::move(row), static_cast<std::uint64_t>(lot), rounding_of(config, nullptr)) : row;
  }

  TorchLearner learner_;
  Side side_;
  Outcome out_;
  std::vector<torch::Tensor> margins_;
  torch::Tensor before_;
};

using TorchSides = std::vector<std::unique_ptr<TorchSide>>;

// How many choices of experts no float32 can be held to: between the last expert that a token goes to and the next one lies
// less than kVerifyLimit times what LibTorch's own float32 is off, as with every difference here, and at least so many roundings.
// From there on the engines may train different models, and both be right. An exact tie has a rule (layers/router_torch.hpp).
// Asked of LibTorch alone: what the cpu engine chose is not to excuse itself.
std::int64_t near_ties(const TorchSide& judge, const TorchSides& rounded) {
  const Row exact = judge.margins();
  double error = kRounding;
  for (const auto& side : rounded) {
    const Row other = side->margins();
    for (std::size_t i = 0; i < exact.size(); ++i) error = nan_max(error, std::abs(other[i] - exact[i]));
  }
  return std::count_if(exact.begin(), exact.end(), [&](double margin) { return margin > 0 && margin <= kVerifyLimit * error; });
}

Outcome cpu_outcome(const RunConfig& config, const Task& task, const VerifyRequest& request, std::int64_t steps) {
  CpuLearner learner({config}, task);
  const auto width = static_cast<std::size_t>(learner.layout().width());
  Side side(learner, start_of(config, learner.layout()), request);
  Outcome out;
  learner.loss(0, 0);
  out.gradient.assign(learner.gradient(), learner.gradient() + width);
  side.advance(steps);
  std::vector<float> row(width);
  learner.read_state(0, 0, row.data());
  out.weights.assign(row.begin(), row.end());
  out.loss = side.loss();
  side.advance(request.steps);  // for the clock
  out.seconds_per_step = side.seconds_per_step();
  return out;
}

Outcome device_outcome(const RunConfig& config, const Task& task, const VerifyRequest& request, std::int64_t steps,
                       const TorchOptions& device) {
  TorchLearner learner({config}, task, device);
  Side side(learner, start_of(config, learner.layout()), request);
  Outcome out;
  out.gradient = as_row(learner.gradients_at(0));
  side.advance(steps);
  out.weights = as_row(learner.parameters());
  out.loss = side.loss();
  side.advance(request.steps);  // for the clock
  out.seconds_per_step = side.seconds_per_step();
  return out;
}

// The largest difference of two rows in one parameter's place, and the largest value; NaN shows.
double difference(const Row& a, const Row& b, const RowEntry& entry) {
  double worst = 0;
  for (auto i = static_cast<std::size_t>(entry.offset); i < static_cast<std::size_t>(entry.offset + entry.count); ++i)
    worst = nan_max(worst, std::abs(a[i] - b[i]));
  return worst;
}
double largest(const Row& row, const RowEntry& entry) { return difference(row, Row(row.size(), 0.0), entry); }

/// The judge's gradients over the steps.
struct Gradients {
  Row largest;   ///< by magnitude, of each parameter
  Row smallest;  ///< by magnitude, of each element, zeros aside: infinite where there is nothing else

  explicit Gradients(const RowLayout& layout)
      : largest(layout.entries().size(), 0.0), smallest(static_cast<std::size_t>(layout.width()), INFINITY) {}

  void add(const Row& gradient, const RowLayout& layout) {
    for (std::size_t i = 0; i < largest.size(); ++i) largest[i] = nan_max(largest[i], ffn::largest(gradient, layout.entries()[i]));
    for (std::size_t i = 0; i < smallest.size(); ++i) {
      if (gradient[i] != 0) smallest[i] = std::min(smallest[i], std::abs(gradient[i]));
    }
  }
};

// The element that is off by most units, with its difference and its unit. `unit_of` takes an element's index; NaN shows.
template <class UnitOf>
void take_worst_weight(const Row& tried, const Row& judge, const RowEntry& entry, const UnitOf& unit_of, VerifiedParameter& p) {
  const auto in_units = [](double off, double unit) { return off == 0 ? 0 : off / unit; };
  for (auto i = static_cast<std::size_t>(entry.offset); i < static_cast<std::size_t>(entry.offset + entry.count); ++i) {
    const double off = std::abs(tried[i] - judge[i]), unit = unit_of(i);
    if (in_units(off, unit) <= in_units(p.weight, p.weight_unit)) continue;
    p.weight = off;
    p.weight_unit = unit;
    if (std::isnan(off)) return;
  }
}

// One seed's.
VerifyResult compare(const RunConfig& config, const VerifyRequest& request, const TorchOptions* device) {
  VerifyResult out;
  out.seed = config.seed;
  const auto seed = static_cast<std::uint64_t>(config.seed);
  const auto task = make_task(config.task, {{sub_seed(seed, "data"), sub_seed(seed, "validation")}});
  TorchSide exact(config, *task, request, torch::kFloat64);
  TorchSides rounded;
  for (int lot = 0; lot < kStarts; ++lot) rounded.push_back(std::make_unique<TorchSide>(config, *task, request, torch::kFloat32, lot));
  const RowLayout& layout = exact.layout();
  Row path(layout.entries().size(), 0.0);  // each parameter's: the steps' largest moves added up
  Gradients gradients(layout);
  const auto each = [&](const auto& f) {
    f(exact);
    for (const auto& side : rounded) f(*side);
  };

  while (out.steps < request.steps) {
    const Row gradient = exact.next_gradient();
    each([&](TorchSide& side) { side.advance(out.steps + 1); });
    if (exact.step() <= out.steps) return out;  // stopped
    out.near_ties = near_ties(exact, rounded);
    if (out.near_ties > 0) {
      each([](TorchSide& side) { side.take_back(); });
      break;
    }
    ++out.steps;
    gradients.add(gradient, layout);
    const Row moved = exact.moved();
    for (std::size_t i = 0; i < path.size(); ++i) path[i] += largest(moved, layout.entries()[i]);
  }
  if (out.steps == 0) return out;
  each([](TorchSide& side) { side.finish(); });
  out.validation_near_ties = near_ties(exact, rounded);

  const Outcome& judge = exact.outcome();
  const Outcome tried =
      device ? device_outcome(config, *task, request, out.steps, *device) : cpu_outcome(config, *task, request, out.steps);
  out.seconds = tried.seconds_per_step;
  out.libtorch_seconds = rounded[0]->outcome().seconds_per_step;
  out.diverges = !std::isfinite(judge.loss) || !std::isfinite(rounded[0]->outcome().loss);
  out.loss = std::abs(tried.loss - judge.loss);
  out.loss_unit = rounding_of(config, device) * std::abs(judge.loss);
  for (const auto& other : rounded) out.loss_unit = std::max(out.loss_unit, std::abs(other->outcome().loss - judge.loss));
  // Added up one after the other, as many terms as the batch has tokens leave about √N roundings of the sum.
  const auto tokens = static_cast<double>(config.train.batch_size * task->shape().sequence_length);
  const double one = rounding_of(config, device), rounding = one * std::sqrt(tokens);
  for (std::size_t i = 0; i < path.size(); ++i) {
    const RowEntry& entry = layout.entries()[i];
    VerifiedParameter p;
    p.name = entry.name;
    p.gradient = difference(tried.gradient, judge.gradient, entry);
    // If a sum cancels, as in a layer that starts at 0, later steps say how large its terms are.
    p.gradient_unit = rounding * gradients.largest[i];
    p.weight_unit = one * largest(judge.weights, entry);
    for (const auto& side : rounded) {
      const Outcome& other = side->outcome();
      p.gradient_unit = nan_max(p.gradient_unit, difference(other.gradient, judge.gradient, entry));
      p.weight_unit = nan_max(p.weight_unit, difference(other.weights, judge.weights, entry));
    }
    // A step hands on what its gradient may be off, and most optimizers make large steps of small gradients, too; over the steps that
    // adds up, even where they go back and forth.
    const auto unit_of = [&, all = p.weight_unit](std::size_t at) {
      return nan_max(all, path[i] * std::clamp(p.gradient_unit / gradients.smallest[at], rounding, 1.0));
    };
    take_worst_weight(tried.weights, judge.weights, entry, unit_of, p);
    out.parameters.push_back(p);
  }
  return out;
}

}  // namespace

VerifyResult verify_engines(const RunConfig& config, const VerifyRequest& request, const TorchOptions* device) {
  VerifyResult out;
  if (!device) out.not_covered = not_covered(config);
  if (!out.not_covered.empty()) return out;
  RunConfig next = config;
  auto& train = next.train;
  while (true) {
    next.seed = config.seed;
    for (std::int64_t passed_over = 0; passed_over < kSeeds; ++passed_over, ++next.seed) {
      out = compare(next, request, device);
      out.seeds_passed_over = passed_over;
      out.batch_size = train.batch_size;
      if (out.steps > 0 || out.near_ties == 0) return out;  // the latter: stopped
    }
    // So many choices that one of them is near a tie whatever the seed: fewer.
    if (train.batch_size == train.accumulate) break;
    train.batch_size = std::max<std::int64_t>(1, train.batch_size / train.accumulate / 4) * train.accumulate;
  }
  return out;
}

}  // namespace ffn
