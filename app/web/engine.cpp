// The playground's side of the cpu engine: one run, which the page's script trains in steps (experiments/playground/page.html). Compiled
// by scripts/build-web alone. Functions that return text return JSON, valid until the next call; {"error": …} says why nothing was done.
#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "ffn/base/random.hpp"
#include "ffn/config/accounting.hpp"
#include "ffn/config/coverage.hpp"
#include "ffn/config/metrics.hpp"
#include "ffn/config/parameters.hpp"
#include "ffn/train/cohort_config.hpp"
#include "ffn/train/cpu_learner.hpp"
#include "ffn/train/evaluator.hpp"

namespace {

using namespace ffn;

// Keeps the hidden layer (rows, F) of a forward pass.
struct ShownUnits final : cpu::Watcher {
  std::int64_t width = 0;
  std::vector<float> values;
  void enter_block(std::int64_t) override {}
  void see_routing(const cpu::RoutedTokens&) override {}
  void see(cpu::Value what, std::int64_t rows, std::int64_t columns, const float* of_layer) override {
    if (what != cpu::Value::hidden) return;
    width = columns;
    values.assign(of_layer, of_layer + rows * columns);
  }
};

// As Trainer does, without its loop: the page decides when to go on.
class Run {
 public:
  explicit Run(const RunConfig& config)
      : task_(make_task(config.task, data_seeds({config}))),
        learner_({config}, *task_),
        evaluator_(*task_, config.train.most_eval_examples(), model_cost(config.model, task_->shape()).ffns.parameters),
        network_(config.model, task_->shape(), config.loss()),
        most_steps_(config.train.steps),
        validation_(task_->validation(config.train.most_eval_examples())) {
    row_.resize(static_cast<std::size_t>(learner_.layout().width()));
    initialise(config.model, learner_.layout(), sub_seed(static_cast<std::uint64_t>(config.seed), "init"), row_.data());
    learner_.write_state(0, 0, row_.data());
  }

  Json advance(std::int64_t steps) {
    double loss = 0;
    const std::int64_t end = std::min(step_ + steps, most_steps_);
    if (end > step_) {
      learner_.advance(step_, end, {1}, steps_);
      for (const auto& report : steps_[0].reports) loss += report.loss / static_cast<double>(steps_[0].reports.size());
      diverged_ = diverged_ || !is_finite(steps_[0].reports.back());
      step_ = end;
    }
    learner_.read_state(0, 0, row_.data());
    learner_.evaluate({1}, sums_);
    Json out{{"step", step_}, {"parameters", learner_.layout().num_parameters()}, {"diverged", diverged_}, {"train/loss", loss}};
    for (const auto& [metric, value] : evaluator_.metrics(0, sums_[0])) out[metric->name] = value;
    return out;
  }

  // side × side points of the square [-half, half]²: the probability of class 1, then each hidden unit's value, map after map.
  std::int64_t map(std::int64_t side, float half) {
    const std::int64_t points = side * side;
    std::vector<float> at;
    for (std::int64_t i = 0; i < points; ++i) {
      for (const auto place : {i % side, side - 1 - i / side})
        at.push_back(half * (2 * static_cast<float>(place) + 1 - static_cast<float>(side)) / static_cast<float>(side));
    }
    ShownUnits hidden;
    const float* logits = network_.logits(row_.data(), {points, 1, nullptr, at.data()}, &hidden);
    maps_.resize(static_cast<std::size_t>((1 + hidden.width) * points));
    for (std::int64_t i = 0; i < points; ++i) {
      maps_[static_cast<std::size_t>(i)] = 1 / (1 + std::exp(logits[2 * i] - logits[2 * i + 1]));
      for (std::int64_t u = 0; u < hidden.width; ++u)
        maps_[static_cast<std::size_t>((1 + u) * points + i)] = hidden.values[static_cast<std::size_t>(i * hidden.width + u)];
    }
    return hidden.width;
  }
  const float* maps() const { return maps_.data(); }

  // The examples that it is validated on: x, y, class.
  Json examples() const {
    Json out = Json::array();
    for (std::size_t i = 0; i < validation_.labels.size(); ++i)
      out.push_back({validation_.vectors[2 * i], validation_.vectors[2 * i + 1], validation_.labels[i]});
    return out;
  }

 private:
  std::unique_ptr<Task> task_;
  CpuLearner learner_;
  Evaluator evaluator_;
  cpu::Network network_;
  std::int64_t most_steps_, step_ = 0;
  ExampleSet validation_;
  bool diverged_ = false;
  std::vector<float> row_, maps_;
  std::vector<RunSteps> steps_;
  std::vector<LossSums> sums_;
};

std::unique_ptr<Run> run;

template <class F>
const char* answer(const F& f) {
  static std::string text;
  try {
    text = dump_json(f());
  } catch (const ConfigError& error) {
    std::string problems;
    for (const auto& problem : error.problems()) problems += (problems.empty() ? "" : "\n") + problem.pointer + ": " + problem.message;
    text = dump_json({{"error", problems}});
  } catch (const std::exception& error) {
    text = dump_json({{"error", reason_of(error)}});
  }
  return text.c_str();
}

}  // namespace

extern "C" {
/// Starts a run from its config (JSON). Answers with its examples.
const char* reset(const char* config) {
  return answer([&] {
    const RunConfig read = read_run_config(parse_document(config, "page", ""), "page");
    if (const std::string lacks = not_covered(read); !lacks.empty()) throw UsageError("the page cannot train " + lacks);
    run = std::make_unique<Run>(read);
    return Json{{"examples", run->examples()}};
  });
}
/// Takes steps, 0 or more, and evaluates.
const char* advance(int steps) {
  return answer([&] { return run->advance(steps); });
}
/// Draws the maps; how many hidden units have one.
int draw(int side, float half) { return static_cast<int>(run->map(side, half)); }
const float* maps() { return run->maps(); }
}
