#include "ffn/data/regression.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/base/random.hpp"

namespace ffn {

double RegressionTask::value(double x) const {
  constexpr double kPi = 3.141592653589793;
  return config_.function == "sin" ? std::sin(2 * kPi * x) : std::abs(x);
}

void RegressionTask::write_batch(std::size_t run, std::int64_t step, std::int64_t batch_size, const BatchPlace& to) const {
  RandomStream random(seeds(run).train, static_cast<std::uint64_t>(step));
  for (std::int64_t i = 0; i < batch_size; ++i) to.vectors[i] = static_cast<float>(random.uniform(-1, 1));
  for (std::int64_t i = 0; i < batch_size; ++i) {
    const double noise = config_.noise > 0 ? config_.noise * random.normal() : 0;
    to.values[i] = static_cast<float>(value(static_cast<double>(to.vectors[i])) + noise);
  }
}

ExampleSet RegressionTask::validation(std::int64_t max_examples) const {
  constexpr std::int64_t kMostPoints = 4096;
  ExampleSet set = empty_set(std::min(max_examples, kMostPoints), /*shared=*/true);
  for (std::int64_t i = 0; i < set.count; ++i) {
    const double x = set.count > 1 ? 2 * static_cast<double>(i) / static_cast<double>(set.count - 1) - 1 : 0;
    set.vectors[static_cast<std::size_t>(i)] = static_cast<float>(x);
    set.values[static_cast<std::size_t>(i)] = static_cast<float>(value(static_cast<double>(static_cast<float>(x))));
  }
  return set;
}

}  // namespace ffn
