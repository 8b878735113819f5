#include "ffn/train/trainer.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "ffn/base/error.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/hash.hpp"
#include "ffn/base/random.hpp"
#include "ffn/base/safetensors.hpp"
#include "ffn/config/accounting.hpp"
#include "ffn/config/metrics.hpp"
#include "ffn/config/parameters.hpp"
#include "ffn/data/starts.hpp"
#include "ffn/train/cohort_config.hpp"
#include "ffn/train/meets_target.hpp"

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

TensorData row_data(const std::string& name, const std::vector<float>& row) {
  const std::string bytes(reinterpret_cast<const char*>(row.data()), row.size() * sizeof(float));
  return {name, DType::f32, {static_cast<std::int64_t>(row.size())}, bytes};
}

constexpr const char* kBest = "best";  // the row of weights in a checkpoint

// The name in a checkpoint.
std::string sum_of(const AuxiliaryLoss& loss) { return std::string("sum of ") + loss.logged_as->name; }

}  // namespace

Trainer::Trainer(const Cohort& cohort, TrainObserver& observer, const MakeLearner& make_learner, std::string computed_by)
    : runs_(checked_cohort(cohort)),
      observer_(observer),
      task_(make_task(runs_[0].task, data_seeds(runs_))),
      learner_(make_learner(runs_, *task_)),
      computed_by_(std::move(computed_by)),
      auxiliary_(auxiliary_losses(runs_[0].model)),
      evaluator_(*task_, runs_[0].train.most_eval_examples(), model_cost(runs_[0].model, task_->shape()).ffns.parameters),
      states_(runs_.size()),
      live_(runs_.size(), 1) {
  observer_.prepared(task_->shape(), task_->data_hash());
  if (is_logged(metric::kFfnZeroFraction, runs_[0]) || is_logged(metric::kMoeLoadEntropy, runs_[0]))
    layers_ = std::make_unique<LayerMeter>(runs_[0].model, task_->shape(), task_->validation(runs_[0].train.most_eval_examples()));
  if (cohort.resume.empty() || !cohort.resume[0]) initialise();
  else restore(cohort.resume);
  for (auto& state : states_) {
    auto& by = state.computed_by;
    if (by.empty() || by.back() != computed_by_) by.push_back(computed_by_);
  }
}

void Trainer::initialise() {
  const auto& layout = learner_->layout();
  std::vector<float> row(static_cast<std::size_t>(layout.width()));
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    ffn::initialise(runs_[run].model, layout, sub_seed(static_cast<std::uint64_t>(runs_[run].seed), "init"), row.data());
    if (!runs_[run].model.init_from.empty()) take_weights(run, row);
    learner_->write_state(run, 0, row.data());
  }
}

void Trainer::take_weights(std::size_t run, std::vector<float>& row) {
  const ModelConfig& model = runs_[run].model;
  const std::string path = model.initial_weights(runs_[run].seed),
                    bytes = read_file(path, "file of weights", ExitCode::data, std::uintmax_t{1} << 36);
  if (!model.init_hash.empty() && sha256_hex(bytes) != model.init_hash)
    throw DataError(path + " holds other weights than when the run's config was made",
                    "remove model.init_hash from the config to start from these");
  const auto weights = parse_safetensors(bytes, path);
  try {
    learner_->layout().import_row(row.data(), weights.tensors);
  } catch (const CheckpointError& error) {
    throw CheckpointError(path + ": " + error.what(), "model.init_from starts from a run of the same task and model");
  }
  if (const auto other = other_names(weights.metadata, task_->metadata(run)); !other.empty())
    throw CheckpointError(path + ": the weights are of other data: " + other,
                          "model.init_from starts from a run of the same columns in the same order, classes and characters");
  if (!std::all_of(row.begin(), row.end(), [](float x) { return std::isfinite(x); }))
    throw CheckpointError(path + ": the weights are not finite: their training diverged, or they were changed",
                          "start from a run that ended well: `ffn-train runs` lists them");
}

void Trainer::train() {
  const auto& t = runs_[0].train;
  for (std::int64_t step = start_; step < t.steps && any_live();) {
    // A checkpoint holds what was measured up to it, so a resumed run goes on with the step itself.
    if (step > start_ || start_ == 0 || !start_evaluated_) {
      if (step % t.eval_every == 0 && !evaluate(step)) return interrupt(step, false);
      if (!any_live()) return;  // all have stopped at their hit
      if (step > 0 && step % t.checkpoint_every == 0) checkpoint(step);
    }
    if (observer_.stop_requested()) return interrupt(step, true);
    const std::int64_t end = step + steps_at_once(step);
    advance(step, end);
    step = end;
  }
  if (!any_live()) return;
  keep_states();
  if (!evaluate(t.steps)) return interrupt(t.steps, false);
  for (std::size_t run = 0; run < runs_.size(); ++run) finish_trained(run, t.steps);
}

void Trainer::interrupt(std::int64_t step, bool evaluated) {
  if (step > 0) checkpoint(step, evaluated);  // before the first step there is nothing to keep
  for (std::size_t run = 0; run < runs_.size(); ++run) finish(run, step, RunEnd::interrupted);
}

void Trainer::finish_trained(std::size_t run, std::int64_t step) {
  if (!live_[run]) return;
  const auto& state = states_[run];
  // A weight that no example uses shows here.
  const auto parameters = state_row(run, 0);
  const bool finite = std::all_of(parameters.begin(), parameters.end(), [](float x) { return std::isfinite(x); });
  if (finite && std::isfinite(state.val_loss)) finish(run, step, RunEnd::done);
  else finish(run, step, RunEnd::diverged, Divergence{step, state.val_loss, learning_rate(run), state.grad_norm});
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
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  learner_->advance(begin, end, live_, steps_);
  step_seconds_ = std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(end - begin);

  double sum = 0;
  std::int64_t live = 0;
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    if (!live_[run]) continue;
    states_[run].seconds += steps_[run].seconds;
    for (std::size_t i = 0; i < steps_[run].reports.size() && live_[run]; ++i)
      add_report(run, begin + static_cast<std::int64_t>(i), steps_[run].reports[i]);
    if (!live_[run]) continue;
    sum += states_[run].last_loss;
    ++live;
  }
  observer_.stepped(end, live > 0 ? sum / static_cast<double>(live) : NAN);
}

void Trainer::add_report(std::size_t run, std::int64_t step, const StepReport& report) {
  const auto& t = runs_[0].train;
  auto& state = states_[run];
  if (!is_finite(report)) {
    const double factor = schedule_factor(t.schedule, step, t.steps);
    finish(run, step, RunEnd::diverged, Divergence{step, report.loss, learning_rate(run) * factor, report.grad_norm});
    return;
  }
  state.last_loss = report.loss;
  state.loss_sum += report.loss;
  for (std::size_t i = 0; i < report.auxiliary.size(); ++i) state.auxiliary_sums[i] += report.auxiliary[i];
  ++state.loss_count;
  state.grad_norm = report.grad_norm;
}

std::vector<std::pair<std::string, double>> Trainer::metrics_of(std::size_t run, const LossSums& sums) const {
  const auto& state = states_[run];
  std::vector<std::pair<std::string, double>> metrics;
  metrics.reserve(metric_catalogue().size());
  const auto add = [&](const MetricRow& row, double value) {
    if (is_logged(row, runs_[0])) metrics.emplace_back(row.name, value);
  };
  if (state.loss_count > 0) {
    const auto n = static_cast<double>(state.loss_count);
    add(metric::kTrainLoss, state.loss_sum / n);
    for (std::size_t i = 0; i < auxiliary_.size(); ++i) add(*auxiliary_[i].logged_as, state.auxiliary_sums[i] / n);
    add(metric::kTrainGradNorm, state.grad_norm);
  }
  for (const auto& [row, value] : evaluator_.metrics(run, sums)) add(*row, value);
  if (layers_) add_layers(run, metrics);
  return metrics;
}

// The means over the blocks, and where it is asked for each block's own behind its number: "ffn/dead_units.0".
void Trainer::add_layers(std::size_t run, std::vector<std::pair<std::string, double>>& metrics) const {
  const auto blocks = layers_->measure(run, state_row(run, 0).data());
  const auto add = [&](const LayerValues& values, const std::string& behind) {
    const std::pair<const MetricRow&, double> measured[] = {{metric::kFfnZeroFraction, values.zero_fraction},
                                                            {metric::kFfnNearZeroFraction, values.near_zero_fraction},
                                                            {metric::kFfnDeadUnits, values.dead_units},
                                                            {metric::kFfnEffectiveRank, values.effective_rank},
                                                            {metric::kMoeMaxViolation, values.max_violation},
                                                            {metric::kMoeLoadEntropy, values.load_entropy},
                                                            {metric::kMoeTokenEntropy, values.token_entropy},
                                                            {metric::kMoeDeadExperts, values.dead_experts},
                                                            {metric::kMoePurity, values.purity}};
    for (const auto& [row, value] : measured) {
      if (is_logged(row, runs_[0])) metrics.emplace_back(row.name + behind, value);
    }
  };
  add(mean_of(blocks), "");
  for (std::size_t b = 0; b < blocks.size() && runs_[run].log.layers; ++b) {
    if (blocks[b].has_layer) add(blocks[b], "." + std::to_string(b));
  }
}

// False if the observer ended it, and nothing has changed.
bool Trainer::evaluate(std::int64_t step) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kUnnoticed{20};
  auto asked = Clock::now();
  const auto go_on = [&](double share) {
    if (Clock::now() - asked < kUnnoticed) return true;
    asked = Clock::now();
    return observer_.evaluating(step, share);
  };
  if (!learner_->evaluate(live_, sums_, go_on)) return false;
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    if (!live_[run]) continue;
    auto& state = states_[run];
    const LossSums& sums = sums_[run];
    state.val_loss = evaluator_.loss(sums);
    const Evaluation evaluation{step, state.seconds, tokens_at(step), metrics_of(run, sums)};
    state.loss_sum = 0;
    state.auxiliary_sums = {};
    state.loss_count = 0;
    const auto& target = runs_[0].train.target;
    const bool meets = target && meets_target(*target, evaluation);
    if (meets && !state.hit) state.hit = Hit{step, state.seconds, evaluation.tokens};
    state.times_met = meets ? state.times_met + 1 : 0;
    if (runs_[run].keep == "best") take_best(run, evaluation);
    observer_.evaluated(run, evaluation);
    if (target && target->stop && state.times_met > target->patience) finish_trained(run, step);
  }
  return true;
}

// Ties keep the first.
void Trainer::take_best(std::size_t run, const Evaluation& evaluation) {
  const MetricRow& by = runs_[run].best_by();
  const auto measured =
      std::find_if(evaluation.metrics.begin(), evaluation.metrics.end(), [&](const auto& metric) { return metric.first == by.name; });
  const double value = measured == evaluation.metrics.end() ? NAN : measured->second;
  auto& best = states_[run].best;
  const bool is_better = !best || std::isnan(best->value) || (by.higher_is_better ? value > best->value : value < best->value);
  if (is_better) best = Best{value, evaluation.step, state_row(run, 0)};
}

void Trainer::checkpoint(std::int64_t step, bool evaluated) {
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    if (live_[run]) checkpoint_run(run, step, evaluated);
  }
}

// From before the last evaluation: a longer run has none at this step, unless it is due.
void Trainer::keep_states() {
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    if (live_[run] && runs_[run].keep == "state") checkpoint_run(run, runs_[run].train.steps, /*evaluated=*/false);
  }
}

void Trainer::checkpoint_run(std::size_t run, std::int64_t step, bool evaluated) {
  const auto names = learner_->state_names();
  const auto& state = states_[run];
  Checkpoint out;
  out.step = step;
  out.computed_by = state.computed_by;
  for (std::size_t row = 0; row < names.size(); ++row) out.tensors.push_back(row_data(names[row], state_row(run, row)));
  out.numbers = {{"train_seconds", state.seconds},
                 {"loss_sum", state.loss_sum},
                 {"loss_count", static_cast<double>(state.loss_count)},
                 {"grad_norm", state.grad_norm}};
  for (std::size_t i = 0; i < auxiliary_.size(); ++i) out.numbers[sum_of(auxiliary_[i])] = state.auxiliary_sums[i];
  if (!evaluated) out.numbers[kEvaluationPending] = 1;
  if (state.best) {
    out.tensors.push_back(row_data(kBest, state.best->row));
    out.numbers["best_value"] = state.best->value;
    out.numbers["best_step"] = static_cast<double>(state.best->step);
  }
  if (state.hit) {
    out.numbers["hit_step"] = static_cast<double>(state.hit->step);
    out.numbers["hit_time_s"] = state.hit->time_s;
    out.numbers["times_met"] = static_cast<double>(state.times_met);
  }
  observer_.checkpointed(run, out);
}

void Trainer::restore(const std::vector<std::optional<Checkpoint>>& checkpoints) {
  if (checkpoints.size() != runs_.size()) throw std::invalid_argument("one checkpoint per run");
  start_ = checkpoints[0]->step;
  start_evaluated_ = checkpoints[0]->is_evaluated();
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    const auto& saved = checkpoints[run];
    if (!saved || saved->step != start_ || saved->is_evaluated() != start_evaluated_)
      throw std::invalid_argument("runs of a cohort resume at one step, all before or all after its evaluation");
    restore_run(run, *saved);
  }
}

// Takes it out of the checkpoint. What earlier training did not keep cannot be had.
void Trainer::restore_best(std::size_t run, Checkpoint& saved) {
  const auto found =
      std::find_if(saved.tensors.begin(), saved.tensors.end(), [](const TensorData& tensor) { return tensor.name == kBest; });
  const bool is_there = found != saved.tensors.end(), is_kept = runs_[run].keep == "best";
  if (is_kept && !is_there)
    throw CheckpointError("the run was begun without keep=best, so its best weights so far are not known",
                          "leave keep=best out, or start with --fresh to train from the beginning");
  if (is_kept) {
    Best best{saved.numbers.at("best_value"), static_cast<std::int64_t>(saved.numbers.at("best_step")), {}};
    best.row.resize(found->bytes.size() / sizeof(float));
    std::memcpy(best.row.data(), found->bytes.data(), found->bytes.size());
    states_[run].best = std::move(best);
  }
  if (is_there) saved.tensors.erase(found);
}

void Trainer::restore_run(std::size_t run, Checkpoint saved) {
  restore_best(run, saved);
  const auto names = learner_->state_names();
  std::vector<TensorData> expected;
  for (std::size_t row = 0; row < names.size(); ++row) expected.push_back(row_data(names[row], state_row(run, row)));
  const auto differences = tensor_differences(expected, saved.tensors);
  if (!differences.empty())
    throw CheckpointError("the checkpoint does not fit the config: " + differences[0], "start with --fresh to train from the beginning");
  std::vector<float> values(static_cast<std::size_t>(learner_->layout().width()));
  for (const auto& tensor : saved.tensors) {
    const auto row = std::find(names.begin(), names.end(), tensor.name) - names.begin();
    std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
    learner_->write_state(run, static_cast<std::size_t>(row), values.data());
  }
  auto& state = states_[run];
  const auto number = [&](const char* name) { return saved.numbers.at(name); };
  state.loss_sum = number("loss_sum");
  for (std::size_t i = 0; i < auxiliary_.size(); ++i) state.auxiliary_sums[i] = number(sum_of(auxiliary_[i]).c_str());
  state.loss_count = static_cast<std::int64_t>(number("loss_count"));
  state.grad_norm = number("grad_norm");
  state.seconds = number("train_seconds");
  state.computed_by = saved.computed_by;
  if (saved.numbers.count("hit_step")) {
    const auto step = static_cast<std::int64_t>(number("hit_step"));
    state.hit = Hit{step, number("hit_time_s"), tokens_at(step)};
    if (saved.numbers.count("times_met")) state.times_met = static_cast<std::int64_t>(number("times_met"));
  }
}

void Trainer::finish(std::size_t run, std::int64_t step, RunEnd end, std::optional<Divergence> divergence) {
  if (!live_[run]) return;
  const auto& state = states_[run];
  live_[run] = 0;
  RunResult result;
  result.end = end;
  result.steps = step;
  result.train_seconds = state.seconds;
  result.hit = state.hit;
  result.divergence = divergence;
  result.computed_by = state.computed_by;
  if (end != RunEnd::interrupted) {
    result.weights = learner_->layout().export_row(state_row(run, 0).data());
    result.metadata = task_->metadata(run);
    if (state.best) result.best = BestWeights{state.best->step, learner_->layout().export_row(state.best->row.data())};
  }
  observer_.finished(run, result);
}

std::vector<float> Trainer::state_row(std::size_t run, std::size_t row) const {
  std::vector<float> values(static_cast<std::size_t>(learner_->layout().width()));
  learner_->read_state(run, row, values.data());
  return values;
}

double Trainer::learning_rate(std::size_t run) const {
  return std::visit([](const auto& c) { return c.lr; }, runs_[run].train.optimizer);
}

bool Trainer::any_live() const {
  return std::any_of(live_.begin(), live_.end(), [](char live) { return live != 0; });
}

std::int64_t Trainer::tokens_at(std::int64_t step) const { return step * runs_[0].train.batch_size * task_->shape().sequence_length; }

}  // namespace ffn
