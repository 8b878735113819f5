#include "ffn/train/trainer.hpp"

#include <cmath>
#include <cstring>

#include "ffn/core/error.hpp"
#include "ffn/core/random.hpp"
#include "ffn/math/optimizer.hpp"
#include "ffn/train/cohort_config.hpp"
#include "ffn/train/evaluate.hpp"

namespace ffn {

namespace {

const std::vector<RunConfig>& checked_cohort(const Cohort& cohort) {
  TORCH_CHECK(!cohort.runs.empty(), "a cohort needs a run");
  const auto key = cohort_key(cohort.runs[0]);
  for (const auto& run : cohort.runs)
    TORCH_CHECK(cohort_key(run) == key, "runs of a cohort may differ in seed, lr, weight_decay and dropout only");
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

nn::ForwardContext training_context(const std::vector<RunConfig>& runs) {
  nn::ForwardContext context;
  context.training = true;
  bool any = false;
  for (const auto& run : runs) {
    context.dropout_rates.push_back(dropout_rate(run.model.ffn));
    context.dropout_seeds.push_back(sub_seed(static_cast<std::uint64_t>(run.seed), "dropout"));
    any = any || context.dropout_rates.back() > 0;
  }
  if (!any) context.dropout_rates.clear();
  return context;
}

TensorData row_data(const std::string& name, const torch::Tensor& rows, std::int64_t r) {
  TensorData data{name, DType::f32, {rows.size(1)}, {}};
  data.bytes.assign(reinterpret_cast<const char*>(rows.data_ptr<float>() + r * rows.size(1)),
                    static_cast<size_t>(rows.size(1)) * sizeof(float));
  return data;
}

}  // namespace

Trainer::Trainer(const Cohort& cohort, TrainObserver& observer, Compute compute)
    : runs_(checked_cohort(cohort)),
      observer_(observer),
      task_(make_task(runs_[0].task, data_seeds(runs_))),
      network_(static_cast<std::int64_t>(runs_.size()), runs_[0].model, task_->shape()),
      row_(*network_),
      optimizer_(row_, optimizer_configs(runs_)),
      validation_(task_->validation(runs_[0].train.eval_examples)),
      context_(training_context(runs_)),
      states_(runs_.size()) {
  std::vector<std::uint64_t> seeds;
  for (const auto& run : runs_) seeds.push_back(sub_seed(static_cast<std::uint64_t>(run.seed), "init"));
  row_.initialise(seeds);
  if (compute == Compute::fused) fused_.emplace(runs_[0], *task_, row_);
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
      checkpoint(step);
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
    if (std::isfinite(state.val_loss)) finish(run, t.steps, RunEnd::done);
    else finish(run, t.steps, RunEnd::diverged, Divergence{t.steps, state.val_loss, optimizer_.learning_rate(run), state.grad_norm});
  }
}

// Up to the next evaluation or checkpoint, and for about as long as a person waits for Ctrl-C without noticing.
std::int64_t Trainer::steps_at_once(std::int64_t step) const {
  constexpr double kSeconds = 0.02;
  const auto& t = runs_[0].train;
  const auto until = [&](std::int64_t every) { return every - step % every; };
  const auto boundary = std::min({until(t.eval_every), until(t.checkpoint_every), t.steps - step});
  const double affordable = fused_ && step_seconds_ > 0 ? kSeconds / step_seconds_ : 1;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min(affordable, static_cast<double>(boundary))));
}

void Trainer::advance(std::int64_t begin, std::int64_t end) {
  const auto seconds_since = [](Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); };
  const auto start = Clock::now();
  if (fused_) {
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      if (!states_[r].live) continue;
      const auto run_start = Clock::now();
      advance_fused(static_cast<std::int64_t>(r), begin, end);
      states_[r].seconds += seconds_since(run_start);
    }
  } else {
    for (std::int64_t step = begin; step < end; ++step) libtorch_step(step);
    for (auto& state : states_) state.seconds += seconds_since(start) / static_cast<double>(runs_.size());
  }
  step_seconds_ = seconds_since(start) / static_cast<double>(end - begin);

  double sum = 0;
  std::int64_t live = 0;
  for (const auto& state : states_) {
    if (state.live) sum += state.last_loss, ++live;
  }
  observer_.stepped(end, live > 0 ? sum / static_cast<double>(live) : NAN);
}

void Trainer::advance_fused(std::int64_t r, std::int64_t begin, std::int64_t end) {
  const auto run = static_cast<std::size_t>(r);
  const double rate = context_.dropout_rates.empty() ? 0 : context_.dropout_rates[run];
  for (std::int64_t step = begin; step < end && states_[run].live; ++step) {
    const auto loss = fused_->loss(r, step, rate, context_.dropout_seeds[run]);
    update(r, step, loss.mean, loss.balance, fused_->gradient());
  }
}

void Trainer::libtorch_step(std::int64_t step) {
  const Batch batch = task_->train_batch(step, runs_[0].train.batch_size);
  context_.step = step;
  row_.gradients().zero_();
  const auto out = network_(batch.inputs, context_);
  const auto loss = nn::cross_entropy(out.logits, batch.labels);
  // Each run's mean, then the sum over runs: a run's gradient does not know how many neighbours it has.
  torch::Tensor objective = loss.mean;
  if (out.balance_loss.defined()) objective = objective + balance_weight(runs_[0].model.ffn) * out.balance_loss;
  objective.sum().backward();

  const torch::Tensor means = loss.mean.detach();
  for (std::size_t r = 0; r < runs_.size(); ++r) {
    if (!states_[r].live) continue;
    const auto run = static_cast<std::int64_t>(r);
    const double balance = out.balance_loss.defined() ? static_cast<double>(out.balance_loss.detach()[run].item<float>()) : 0;
    update(run, step, static_cast<double>(means.data_ptr<float>()[r]), balance, row_.gradients().data_ptr<float>() + run * row_.gradients().size(1));
  }
}

void Trainer::update(std::int64_t r, std::int64_t step, double loss, double balance, const float* gradient) {
  const auto& t = runs_[0].train;
  auto& state = states_[static_cast<std::size_t>(r)];
  const double norm = std::sqrt(sum_of_squares(static_cast<std::size_t>(row_.values().size(1)), gradient));
  const double factor = schedule_factor(t.schedule, step, t.steps);
  if (!std::isfinite(loss) || !std::isfinite(norm)) {
    finish(r, step, RunEnd::diverged, Divergence{step, loss, optimizer_.learning_rate(r) * factor, norm});
    return;
  }
  state.last_loss = loss;
  state.loss_sum += loss;
  state.balance_sum += balance;
  ++state.loss_count;
  state.grad_norm = norm;
  // 1e-6 as torch.nn.utils.clip_grad_norm_ has it.
  const double scale = t.clip_norm > 0 ? std::min(1.0, t.clip_norm / (norm + 1e-6)) : 1.0;
  optimizer_.step(r, step + 1, factor, scale, gradient);
}

std::vector<std::pair<std::string, double>> Trainer::metrics_of(std::size_t r, double val_loss, double val_accuracy) const {
  const auto& state = states_[r];
  std::vector<std::pair<std::string, double>> metrics;
  if (state.loss_count > 0) {
    const auto n = static_cast<double>(state.loss_count);
    metrics.emplace_back("train/loss", state.loss_sum / n);
    if (std::holds_alternative<MoeConfig>(runs_[0].model.ffn)) metrics.emplace_back("train/balance_loss", state.balance_sum / n);
    metrics.emplace_back("train/grad_norm", state.grad_norm);
  }
  metrics.emplace_back("val/loss", val_loss);
  metrics.emplace_back("val/accuracy", val_accuracy);
  if (std::holds_alternative<TextConfig>(runs_[0].task)) {
    metrics.emplace_back("val/bits_per_char", val_loss / std::log(2.0));
    metrics.emplace_back("val/perplexity", std::exp(val_loss));
  }
  return metrics;
}

void Trainer::evaluate(std::int64_t step) {
  const Validation result = fused_ ? fused_->validate(validation_) : validate(network_, validation_);
  for (std::size_t r = 0; r < runs_.size(); ++r) {
    auto& state = states_[r];
    if (!state.live) continue;
    state.val_loss = result.loss[r];
    const Evaluation evaluation{step, state.seconds, tokens_at(step), metrics_of(r, result.loss[r], result.accuracy[r])};
    state.loss_sum = state.balance_sum = 0;
    state.loss_count = 0;
    const auto& target = runs_[0].train.target;
    for (const auto& [name, value] : evaluation.metrics) {
      if (target && !state.hit && name == target->metric && target->reached(value)) state.hit = Hit{step, state.seconds, evaluation.tokens};
    }
    observer_.evaluated(r, evaluation);
  }
}

void Trainer::checkpoint(std::int64_t step) {
  for (std::size_t r = 0; r < runs_.size(); ++r) {
    const auto& state = states_[r];
    if (!state.live) continue;
    const auto run = static_cast<std::int64_t>(r);
    Checkpoint out{step, {}, {row_data("parameters", row_.values(), run)}};
    for (const auto& [name, rows] : optimizer_.state()) out.tensors.push_back(row_data("optimizer." + name, rows, run));
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
  TORCH_CHECK(checkpoints.size() == runs_.size(), "one checkpoint per run");
  if (!checkpoints[0]) return;
  start_ = checkpoints[0]->step;
  for (std::size_t r = 0; r < runs_.size(); ++r) {
    TORCH_CHECK(checkpoints[r] && checkpoints[r]->step == start_, "runs of a cohort resume at one step");
    const auto& saved = *checkpoints[r];
    const auto run = static_cast<std::int64_t>(r);
    auto targets = optimizer_.state();
    for (auto& [name, rows] : targets) name = "optimizer." + name;
    targets.emplace_back("parameters", row_.values());
    std::vector<TensorData> expected;
    for (const auto& [name, rows] : targets) expected.push_back(row_data(name, rows, run));
    const auto differences = tensor_differences(expected, saved.tensors);
    if (!differences.empty())
      throw CheckpointError("the checkpoint does not fit the config: " + differences[0], "start with --fresh to train from the beginning");
    for (const auto& tensor : saved.tensors) {
      for (auto& [name, rows] : targets) {
        if (name == tensor.name) std::memcpy(rows.data_ptr<float>() + run * rows.size(1), tensor.bytes.data(), tensor.bytes.size());
      }
    }
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
  RunResult result{end, step, state.seconds, state.hit, divergence, {}, {}};
  if (end != RunEnd::interrupted) {
    result.weights = row_.export_run(r);
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
