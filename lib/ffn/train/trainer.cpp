#include "ffn/train/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "ffn/config/metrics.hpp"
#include "ffn/core/error.hpp"
#include "ffn/core/random.hpp"
#include "ffn/fused/parameters.hpp"
#include "ffn/kernels/optimizer.hpp"
#include "ffn/train/cohort_config.hpp"

namespace ffn {

namespace {

const std::vector<RunConfig>& checked_cohort(const Cohort& cohort) {
  if (cohort.runs.empty()) throw std::invalid_argument("a cohort needs a run");
  const auto key = cohort_key(cohort.runs[0]);
  for (const auto& run : cohort.runs) {
    if (cohort_key(run) != key) throw std::invalid_argument("runs of a cohort may differ in seed, lr, weight_decay and dropout only");
  }
  return cohort.runs;
}

std::vector<DataSeeds> data_seeds(const std::vector<RunConfig>& runs) {
  std::vector<DataSeeds> seeds;
  for (const auto& run : runs) {
    const auto root = static_cast<std::uint64_t>(run.seed);
    seeds.push_back({sub_seed(root, "data"), sub_seed(root, "validation")});
  }
  return seeds;
}

std::vector<OptimizerConfig> optimizer_configs(const std::vector<RunConfig>& runs) {
  std::vector<OptimizerConfig> configs;
  for (const auto& run : runs) configs.push_back(run.train.optimizer);
  return configs;
}

}  // namespace

Trainer::Trainer(const Cohort& cohort, TrainObserver& observer)
    : runs_(checked_cohort(cohort)),
      observer_(observer),
      task_(make_task(runs_[0].task, data_seeds(runs_))),
      layout_(fused::network_parameters(runs_[0].model, task_->shape())),
      parameters_(static_cast<std::int64_t>(runs_.size()), layout_.width()),
      optimizer_(layout_, optimizer_configs(runs_)),
      step_(runs_[0], *task_, layout_),
      validation_(task_->validation(runs_[0].train.eval_examples)),
      states_(runs_.size()) {
  for (std::size_t r = 0; r < runs_.size(); ++r) {
    const auto seed = static_cast<std::uint64_t>(runs_[r].seed);
    layout_.initialise(sub_seed(seed, "init"), parameters_.row(static_cast<std::int64_t>(r)));
    states_[r].dropout_rate = dropout_rate(runs_[r].model.ffn);
    states_[r].dropout_seed = sub_seed(seed, "dropout");
  }
  if (!cohort.resume.empty()) restore(cohort.resume);
}

void Trainer::train() {
  const auto& t = runs_[0].train;
  for (std::int64_t step = start_; step < t.steps && any_live();) {
    // A checkpoint holds what was measured up to it, so a resumed run goes on with the step itself.
    if (step > start_ || start_ == 0) {
      if (step % t.eval_every == 0) evaluate(step);
      if (step > 0 && step % t.checkpoint_every == 0) checkpoint(step);
    }
    if (observer_.stop_requested()) {
      if (step > 0) checkpoint(step);  // before the first step there is nothing to keep
      for (std::size_t r = 0; r < runs_.size(); ++r) finish(static_cast<std::int64_t>(r), step, RunEnd::interrupted);
      return;
    }
    const std::int64_t end = step + steps_at_once(step);
    advance(step, end);
    step = end;
  }
  if (!any_live()) return;
  evaluate(t.steps);
  for (std::size_t r = 0; r < runs_.size(); ++r) {
    const auto& state = states_[r];
    const auto run = static_cast<std::int64_t>(r);
    const double size =
        sum_of_squares(static_cast<std::size_t>(layout_.width()), parameters_.row(run));  // a weight that no example uses shows here
    if (std::isfinite(state.val_loss) && std::isfinite(size)) finish(run, t.steps, RunEnd::done);
    else finish(run, t.steps, RunEnd::diverged, Divergence{t.steps, state.val_loss, optimizer_.learning_rate(run), state.grad_norm});
  }
}

// Up to the next evaluation or checkpoint, and for about as long as a person waits for Ctrl-C without noticing.
std::int64_t Trainer::steps_at_once(std::int64_t step) const {
  constexpr double kSeconds = 0.02;
  const auto& t = runs_[0].train;
  const auto until = [&](std::int64_t every) { return every - step % every; };
  const auto boundary = std::min({until(t.eval_every), until(t.checkpoint_every), t.steps - step});
  const double affordable = step_seconds_ > 0 ? kSeconds / step_seconds_ : 1;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min(affordable, static_cast<double>(boundary))));
}

void Trainer::advance(std::int64_t begin, std::int64_t end) {
  const auto seconds_since = [](Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); };
  const auto start = Clock::now();
  for (std::size_t r = 0; r < runs_.size(); ++r) {
    if (!states_[r].live) continue;
    run_start_ = Clock::now();
    advance_run(static_cast<std::int64_t>(r), begin, end);
    states_[r].seconds += seconds_since(*run_start_);
    run_start_.reset();
  }
  step_seconds_ = seconds_since(start) / static_cast<double>(end - begin);

  double sum = 0;
  std::int64_t live = 0;
  for (const auto& state : states_) {
    if (state.live) sum += state.last_loss, ++live;
  }
  observer_.stepped(end, live > 0 ? sum / static_cast<double>(live) : NAN);
}

void Trainer::advance_run(std::int64_t r, std::int64_t begin, std::int64_t end) {
  const auto& state = states_[static_cast<std::size_t>(r)];
  for (std::int64_t step = begin; step < end && state.live; ++step)
    update(r, step, step_.loss(r, step, parameters_.row(r), state.dropout_rate, state.dropout_seed));
}

void Trainer::update(std::int64_t r, std::int64_t step, const fused::Network::Loss& loss) {
  const auto& t = runs_[0].train;
  auto& state = states_[static_cast<std::size_t>(r)];
  const double norm = std::sqrt(sum_of_squares(static_cast<std::size_t>(layout_.width()), step_.gradient()));
  const double factor = schedule_factor(t.schedule, step, t.steps);
  if (!std::isfinite(loss.mean) || !std::isfinite(norm)) {
    finish(r, step, RunEnd::diverged, Divergence{step, loss.mean, optimizer_.learning_rate(r) * factor, norm});
    return;
  }
  state.last_loss = loss.mean;
  state.loss_sum += loss.mean;
  state.balance_sum += loss.balance;
  ++state.loss_count;
  state.grad_norm = norm;
  // 1e-6 as torch.nn.utils.clip_grad_norm_ has it.
  const double scale = t.clip_norm > 0 ? std::min(1.0, t.clip_norm / (norm + 1e-6)) : 1.0;
  optimizer_.step(r, step + 1, factor, scale, step_.gradient(), parameters_.row(r));
}

std::vector<std::pair<std::string, double>> Trainer::metrics_of(std::size_t r, double val_loss, double val_accuracy) const {
  const auto& state = states_[r];
  std::vector<std::pair<std::string, double>> metrics;
  metrics.reserve(metric_catalogue().size());
  const auto add = [&](const MetricRow& row, double value) {
    if (is_logged(row, runs_[0])) metrics.emplace_back(row.name, value);
  };
  if (state.loss_count > 0) {
    const auto n = static_cast<double>(state.loss_count);
    add(metric::kTrainLoss, state.loss_sum / n);
    add(metric::kTrainBalanceLoss, state.balance_sum / n);
    add(metric::kTrainGradNorm, state.grad_norm);
  }
  add(metric::kValLoss, val_loss);
  add(metric::kValAccuracy, val_accuracy);
  add(metric::kValBitsPerChar, val_loss / std::log(2.0));
  add(metric::kValPerplexity, std::exp(val_loss));
  return metrics;
}

void Trainer::evaluate(std::int64_t step) {
  for (std::size_t r = 0; r < runs_.size(); ++r) {
    auto& state = states_[r];
    if (!state.live) continue;
    const auto run = static_cast<std::int64_t>(r);
    const Score score = step_.evaluate(run, parameters_.row(run), validation_);
    state.val_loss = score.loss;
    const Evaluation evaluation{step, state.seconds, tokens_at(step), metrics_of(r, score.loss, score.accuracy)};
    state.loss_sum = state.balance_sum = 0;
    state.loss_count = 0;
    const auto& target = runs_[0].train.target;
    for (const auto& [name, value] : evaluation.metrics) {
      if (target && !state.hit && std::isfinite(score.loss) && name == target->metric && target->reached(value))
        state.hit = Hit{step, state.seconds, evaluation.tokens};
    }
    observer_.evaluated(r, evaluation);
  }
}

void Trainer::checkpoint(std::int64_t step) {
  for (std::size_t r = 0; r < runs_.size(); ++r) {
    const auto& state = states_[r];
    if (!state.live) continue;
    const auto run = static_cast<std::int64_t>(r);
    Checkpoint out{step, {}, {parameters_.data("parameters", run)}};
    for (const auto& [name, rows] : optimizer_.state()) out.tensors.push_back(rows.data("optimizer." + name, run));
    out.numbers = {{"train_seconds", state.seconds},
                   {"loss_sum", state.loss_sum},
                   {"balance_sum", state.balance_sum},
                   {"loss_count", static_cast<double>(state.loss_count)},
                   {"grad_norm", state.grad_norm}};
    if (state.hit) {
      out.numbers["hit_step"] = static_cast<double>(state.hit->step);
      out.numbers["hit_time_s"] = state.hit->time_s;
    }
    observer_.checkpointed(r, out);
  }
}

void Trainer::restore(const std::vector<std::optional<Checkpoint>>& checkpoints) {
  if (checkpoints.size() != runs_.size()) throw std::invalid_argument("one checkpoint per run");
  if (!checkpoints[0]) return;
  start_ = checkpoints[0]->step;
  std::map<std::string, Rows*> targets{{"parameters", &parameters_}};
  for (auto& [name, rows] : optimizer_.state()) targets["optimizer." + name] = &rows;
  for (std::size_t r = 0; r < runs_.size(); ++r) {
    if (!checkpoints[r] || checkpoints[r]->step != start_) throw std::invalid_argument("runs of a cohort resume at one step");
    const auto& saved = *checkpoints[r];
    const auto run = static_cast<std::int64_t>(r);
    std::vector<TensorData> expected;
    for (const auto& [name, rows] : targets) expected.push_back(rows->data(name, run));
    const auto differences = tensor_differences(expected, saved.tensors);
    if (!differences.empty())
      throw CheckpointError("the checkpoint does not fit the config: " + differences[0], "start with --fresh to train from the beginning");
    for (const auto& tensor : saved.tensors) std::memcpy(targets.at(tensor.name)->row(run), tensor.bytes.data(), tensor.bytes.size());
    auto& state = states_[r];
    const auto number = [&](const char* name) { return saved.numbers.at(name); };
    state.loss_sum = number("loss_sum");
    state.balance_sum = number("balance_sum");
    state.loss_count = static_cast<std::int64_t>(number("loss_count"));
    state.grad_norm = number("grad_norm");
    state.seconds = number("train_seconds");
    if (saved.numbers.count("hit_step")) {
      const auto step = static_cast<std::int64_t>(number("hit_step"));
      state.hit = Hit{step, number("hit_time_s"), tokens_at(step)};
    }
  }
}

void Trainer::finish(std::int64_t r, std::int64_t step, RunEnd end, std::optional<Divergence> divergence) {
  auto& state = states_[static_cast<std::size_t>(r)];
  if (!state.live) return;
  state.live = false;
  if (run_start_) {  // in the middle of its steps
    state.seconds += std::chrono::duration<double>(Clock::now() - *run_start_).count();
    run_start_ = Clock::now();
  }
  RunResult result{end, step, state.seconds, state.hit, divergence, {}, {}};
  if (end != RunEnd::interrupted) {
    result.weights = layout_.export_row(parameters_.row(r));
    result.metadata = task_->metadata();
  }
  observer_.finished(static_cast<std::size_t>(r), result);
}

bool Trainer::any_live() const {
  for (const auto& state : states_) {
    if (state.live) return true;
  }
  return false;
}

std::int64_t Trainer::tokens_at(std::int64_t step) const { return step * runs_[0].train.batch_size * task_->shape().sequence_length; }

}  // namespace ffn
