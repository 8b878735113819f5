#include "ffn/train/coord_check.hpp"

#include <cmath>

#include "ffn/base/error.hpp"
#include "ffn/base/random.hpp"
#include "ffn/config/coverage.hpp"
#include "ffn/config/loss.hpp"
#include "ffn/config/parameters.hpp"
#include "ffn/train/cohort_config.hpp"
#include "ffn/train/cpu_learner.hpp"
#include "ffn/train/examples.hpp"

namespace ffn {

namespace {

WidthChange change_of(const RunConfig& config, std::int64_t d_ff, std::int64_t steps) {
  const auto task = make_task(config.task, data_seeds({config}));
  const auto shape = task->shape();
  CpuLearner learner({config}, *task);
  std::vector<float> row(static_cast<std::size_t>(learner.layout().width()));
  initialise(config.model, learner.layout(), sub_seed(static_cast<std::uint64_t>(config.seed), "init"), row.data());
  learner.write_state(0, 0, row.data());
  const auto set = task->validation(config.train.most_eval_examples());
  cpu::Network network(config.model, shape, config.loss());
  const auto outputs = [&] {
    const float* from = network.logits(row.data(), examples_of(set, shape, 0));
    return std::vector<float>(from, from + set.count * shape.sequence_length * shape.num_classes);
  };
  const auto before = outputs();
  std::vector<RunSteps> reports;
  learner.advance(0, steps, {1}, reports);
  learner.read_state(0, 0, row.data());
  const auto after = outputs();
  double sum = 0;
  for (std::size_t i = 0; i < after.size(); ++i) sum += std::abs(static_cast<double>(after[i]) - static_cast<double>(before[i]));
  std::vector<LossSums> losses;
  learner.evaluate({1}, losses);
  return {d_ff, sum / static_cast<double>(after.size()), losses[0].loss / static_cast<double>(losses[0].scored)};
}

}  // namespace

std::vector<WidthChange> coord_check(const RunConfig& config, const std::vector<std::int64_t>& widths, std::int64_t steps) {
  if (const auto lacks = not_covered(config); !lacks.empty())
    throw UsageError("coord-check trains by the cpu engine, which does not cover " + lacks);
  RunConfig wide = config;
  wide.train.steps = std::max(wide.train.steps, steps);
  FfnSize* size = size_of(wide.model.ffn);
  if (!size) throw UsageError("this model has no hidden width", "choose another model.ffn.kind");
  size->expansion.reset();
  size->matched_width.reset();
  std::vector<WidthChange> out;
  for (const auto width : widths) {
    size->d_ff = width;
    out.push_back(change_of(wide, width, steps));
  }
  return out;
}

}  // namespace ffn
