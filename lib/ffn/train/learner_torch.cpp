#include "ffn/train/learner_torch.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "ffn/base/random.hpp"
#include "ffn/layers/loss_torch.hpp"
#include "ffn/train/cohort_config.hpp"

namespace ffn {

using torch::Tensor;

namespace {

constexpr std::int64_t kStepsAtOnce = 64;       // whose batches go to the device together
constexpr std::int64_t kBytesAtOnce = 1 << 26;  // and what they may take there

// The runs' own settings for dropout on the learner's device; idle rows drop nothing.
nn::ForwardContext context_of(const std::vector<RunConfig>& runs, std::int64_t width, const TorchOptions& options) {
  std::vector<double> rates(static_cast<std::size_t>(width), 0.0);
  std::vector<std::uint64_t> seeds(rates.size(), 0);
  for (std::size_t r = 0; r < runs.size(); ++r) {
    rates[r] = dropout_rate(runs[r].model.ffn);
    seeds[r] = sub_seed(static_cast<std::uint64_t>(runs[r].seed), "dropout");
  }
  auto context = nn::training_context(rates, seeds, 0);
  context.host_free = options.host_free;
  context.step_number = context.step_number.to(options.device);
  context.seeds = context.seeds.to(options.device);
  if (context.rates.defined()) context.rates = context.rates.to(options.device);
  return context;
}

TorchOptions completed(TorchOptions options, std::size_t num_runs) {
  options.host_free = options.host_free || options.device.is_cuda();
  options.stack_width = std::max(options.stack_width, static_cast<std::int64_t>(num_runs));
  return options;
}

}  // namespace

TorchLearner::TorchLearner(const std::vector<RunConfig>& runs, const Task& task, const TorchOptions& options)
    : task_(task),
      shape_(task.shape()),
      train_(runs.at(0).train),
      num_runs_(runs.size()),
      run_loss_(runs[0].loss()),
      auxiliary_losses_(auxiliary_losses(runs[0].model)),
      options_(completed(options, runs.size())),
      network_(options_.stack_width, runs[0].model, shape_),
      row_(*network_, torch::TensorOptions().dtype(options_.dtype).device(options_.device)),
      optimizer_(row_.layout(), row_.values(), optimizer_configs(runs), update_rule(runs[0])),
      context_(context_of(runs, options_.stack_width, options_)),
      validation_count_(0),
      stream_(options_.device) {
  const auto width = options_.stack_width, tokens = train_.batch_size * shape_.sequence_length;
  const auto numbers = torch::TensorOptions().dtype(options_.dtype).device(options_.device);
  const auto ids = numbers.dtype(torch::kInt64), doubles = numbers.dtype(torch::kFloat64);
  if (shape_.tokens) batch_.inputs = torch::zeros({width, train_.batch_size, shape_.sequence_length}, ids);
  else batch_.inputs = torch::zeros({width, train_.batch_size, shape_.input_width}, numbers);
  if (shape_.target == Target::classes) batch_.targets = torch::zeros({width, tokens}, ids);
  else batch_.targets = torch::zeros({width, tokens, shape_.num_classes}, numbers);
  coefficients_ = torch::zeros({width, optimizer_.num_coefficients()}, numbers);
  alive_ = torch::zeros({width, 1}, numbers.dtype(torch::kBool));
  for (Tensor* report : {&loss_, &norm_}) *report = torch::zeros({width}, doubles);
  auxiliary_ = torch::zeros({static_cast<std::int64_t>(auxiliary_losses_.size()), width}, doubles);
}

std::vector<Tensor> TorchLearner::state_tensors() const {
  std::vector<Tensor> tensors{row_.values()};
  for (const auto& [name, rows] : optimizer_.state()) tensors.push_back(rows);
  return tensors;
}

std::vector<std::string> TorchLearner::state_names() const {
  std::vector<std::string> names{"parameters"};
  for (const auto& [name, rows] : optimizer_.state()) names.push_back("optimizer." + name);
  return names;
}

void TorchLearner::read_state(std::size_t run, std::size_t row, float* values) const {
  const Tensor data = state_tensors().at(row)[static_cast<std::int64_t>(run)].to(torch::kCPU, torch::kFloat32).contiguous();
  std::copy_n(data.data_ptr<float>(), data.numel(), values);
}

void TorchLearner::write_state(std::size_t run, std::size_t row, const float* values) {
  const torch::NoGradGuard no_grad;
  state_tensors().at(row)[static_cast<std::int64_t>(run)].copy_(torch::from_blob(const_cast<float*>(values), {layout().width()}));
}

// The batches of `count` steps, built on the host by the task and sent over together.
void TorchLearner::stage(std::int64_t begin, std::int64_t count) {
  const auto width = options_.stack_width, batch = train_.batch_size, length = shape_.sequence_length;
  const auto host = torch::TensorOptions().pinned_memory(options_.device.is_cuda());
  const bool classes = shape_.target == Target::classes;
  Tensor labels = classes ? torch::zeros({count, width, batch * length}, host.dtype(torch::kInt64)) : Tensor();
  Tensor values = classes ? Tensor() : torch::zeros({count, width, batch * length, shape_.num_classes}, host.dtype(torch::kFloat32));
  Tensor tokens = shape_.tokens ? torch::zeros({count, width, batch, length}, host.dtype(torch::kInt64)) : Tensor();
  Tensor vectors = shape_.tokens ? Tensor() : torch::zeros({count, width, batch, shape_.input_width}, host.dtype(torch::kFloat32));
  Tensor coefficients = torch::zeros({count, width, optimizer_.num_coefficients()}, host.dtype(torch::kFloat64));
  for (std::int64_t k = 0; k < count; ++k) {
    const auto step = begin + k;
    coefficients[k].copy_(optimizer_.coefficients(step + 1, schedule_factor(train_.schedule, step, train_.steps)));
    for (std::size_t run = 0; run < num_runs_; ++run) {
      const auto place = k * width + static_cast<std::int64_t>(run);
      BatchPlace to;
      if (classes) to.labels = labels.data_ptr<std::int64_t>() + place * batch * length;
      else to.values = values.data_ptr<float>() + place * batch * length * shape_.num_classes;
      if (shape_.tokens) to.tokens = tokens.data_ptr<std::int64_t>() + place * batch * length;
      else to.vectors = vectors.data_ptr<float>() + place * batch * shape_.input_width;
      task_.write_batch(run, step, batch, to);
    }
  }
  const auto send = [&](const Tensor& x, torch::Dtype dtype) { return x.to(options_.device, /*non_blocking=*/true).to(dtype); };
  staged_.inputs = shape_.tokens ? send(tokens, torch::kInt64) : send(vectors, options_.dtype);
  staged_.targets = classes ? send(labels, torch::kInt64) : send(values, options_.dtype);
  staged_coefficients_ = send(coefficients, options_.dtype);
  staged_steps_ = send(torch::arange(begin, begin + count, torch::kInt64), torch::kInt64);
  stream_.wait();  // the pinned memory is ours again only when it has been read
}

void TorchLearner::load(std::int64_t k) {
  batch_.inputs.copy_(staged_.inputs[k]);
  batch_.targets.copy_(staged_.targets[k]);
  coefficients_.copy_(staged_coefficients_[k]);
  context_.step_number.copy_(staged_steps_.narrow(0, k, 1));
}

nn::NetworkOutput TorchLearner::compute_gradients() {
  row_.gradients().zero_();
  auto out = network_(batch_.inputs, context_);
  const auto loss = nn::compute_loss(run_loss_, out.outputs, batch_.targets);
  // Each run's mean, then the sum over runs: a run's gradient does not know how many neighbours it has.
  Tensor objective = loss.mean;
  for (std::size_t i = 0; i < auxiliary_losses_.size(); ++i) {
    objective = objective + auxiliary_losses_[i].weight * out.auxiliary[i];
    auxiliary_[static_cast<std::int64_t>(i)].copy_(out.auxiliary[i].detach());
  }
  objective.sum().backward();
  loss_.copy_(loss.mean.detach());
  return out;
}

void TorchLearner::take_step() {
  const auto out = compute_gradients();
  const torch::NoGradGuard no_grad;
  const Tensor& gradients = row_.gradients();
  norm_.copy_(gradients.to(torch::kFloat64).square().sum(1).sqrt());
  alive_.logical_and_((torch::isfinite(loss_) & torch::isfinite(norm_)).unsqueeze(1));
  // clip_scale() of train/cohort_config.hpp, for all runs at once.
  const Tensor scale = train_.clip_norm > 0 ? (norm_ + 1e-6).reciprocal().mul(train_.clip_norm).clamp_max(1.0) : torch::ones_like(norm_);
  optimizer_.step(row_.values(), gradients, scale.to(options_.dtype).unsqueeze(1), coefficients_, alive_);
  network_->update_buffers(out.loads, alive_);
}

// A step is captured once and replayed from then on. What the warm-up changes is put back.
void TorchLearner::prepare_graph() {
  if (graph_ || !not_captured_.empty()) return;
  std::vector<Tensor> kept, live = state_tensors();
  live.push_back(alive_);
  for (const auto& tensor : live) kept.push_back(tensor.clone());
  graph_ = capture_step([this] { take_step(); }, stream_, not_captured_);
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < live.size(); ++i) live[i].copy_(kept[i]);
}

void TorchLearner::advance(std::int64_t begin, std::int64_t end, const LiveRuns& live, std::vector<RunSteps>& out) {
  using Clock = std::chrono::steady_clock;
  const StepStream::Scope scope(stream_);
  silence(live);
  out.assign(num_runs_, {});
  const auto per_step = std::max<std::int64_t>(1, options_.stack_width * train_.batch_size * shape_.sequence_length * 32);
  const auto most = std::clamp<std::int64_t>(kBytesAtOnce / per_step, 1, kStepsAtOnce);
  for (std::int64_t step = begin; step < end;) {
    const auto start = Clock::now();
    const auto count = std::min(most, end - step);
    stage(step, count);
    log_ = torch::zeros({count, 2 + auxiliary_.size(0), options_.stack_width}, loss_.options());
    for (std::int64_t k = 0; k < count; ++k) {
      load(k);
      prepare_graph();
      if (graph_) graph_->replay();
      else take_step();
      log_[k].copy_(torch::cat({torch::stack({loss_, norm_}), auxiliary_}));
    }
    const Tensor log = log_.to(torch::kCPU);  // waits for the device, once for all these steps
    log_ = log;
    collect(count, live, std::chrono::duration<double>(Clock::now() - start).count(), out);
    step += count;
  }
}

void TorchLearner::collect(std::int64_t count, const LiveRuns& live, double seconds, std::vector<RunSteps>& out) const {
  const auto num_live = std::count(live.begin(), live.end(), char{1});
  const auto log = log_.accessor<double, 3>();
  for (std::size_t run = 0; run < num_runs_; ++run) {
    if (!live[run]) continue;
    auto& steps = out[run];
    steps.seconds += seconds / static_cast<double>(num_live);
    const auto r = static_cast<std::int64_t>(run);
    for (std::int64_t k = 0; k < count; ++k) {
      if (!steps.reports.empty() && !is_finite(steps.reports.back())) break;
      StepReport report{log[k][0][r], {}, log[k][1][r]};
      for (std::int64_t i = 0; i < auxiliary_.size(0); ++i) report.auxiliary.at(static_cast<std::size_t>(i)) = log[k][2 + i][r];
      steps.reports.push_back(report);
    }
  }
}

// Runs that are over stand still at zero: what they would compute can be anything, and takes subnormal numbers' time.
void TorchLearner::silence(const LiveRuns& live) {
  const torch::NoGradGuard no_grad;
  std::vector<char> alive(static_cast<std::size_t>(options_.stack_width), 0);
  for (std::size_t run = 0; run < num_runs_; ++run) {
    alive[run] = live[run];
    if (live[run]) continue;
    for (const auto& tensor : state_tensors()) tensor[static_cast<std::int64_t>(run)].zero_();
  }
  alive_.copy_(torch::from_blob(alive.data(), {options_.stack_width, 1}, torch::kInt8).to(torch::kBool));
}

bool TorchLearner::evaluate(const LiveRuns& live, std::vector<LossSums>& out, const std::function<bool(double)>& go_on) {
  const StepStream::Scope scope(stream_);
  const torch::InferenceMode inference;
  const auto width = options_.stack_width, length = shape_.sequence_length;
  if (!validation_.targets.defined()) {
    const ExampleSet set = task_.validation(train_.most_eval_examples());
    validation_count_ = set.count;
    const auto own = set.shared ? 1 : static_cast<std::int64_t>(num_runs_);
    validation_.targets =
        shape_.target == Target::classes
            ? torch::tensor(set.labels, torch::kInt64).view({own, set.count * length}).to(options_.device)
            : torch::tensor(set.values, options_.dtype).view({own, set.count * length, shape_.num_classes}).to(options_.device);
    validation_.inputs = shape_.tokens
                             ? torch::tensor(set.tokens, torch::kInt64).view({own, set.count, length}).to(options_.device)
                             : torch::tensor(set.vectors, options_.dtype).view({own, set.count, shape_.input_width}).to(options_.device);
  }
  // Idle rows evaluate the last run's set; their sums are not read.
  const auto rows = torch::arange(width, torch::kInt64).clamp_max(validation_.targets.size(0) - 1).to(options_.device);
  nn::ForwardContext context;
  context.host_free = options_.host_free;
  context.margins = context_.margins;
  constexpr std::int64_t kTokensAtOnce = 4096;  // per run: bounds memory, and no run's sums depend on its neighbours
  const auto chunk = std::max<std::int64_t>(1, kTokensAtOnce / length);
  Tensor sums = torch::zeros({4, width}, loss_.options());
  out.assign(num_runs_, {});
  for (std::int64_t begin = 0; begin < validation_count_; begin += chunk) {
    if (begin > 0 && go_on && !go_on(static_cast<double>(begin) / static_cast<double>(validation_count_))) return false;
    const auto count = std::min(chunk, validation_count_ - begin);
    const Tensor inputs = validation_.inputs.narrow(1, begin, count).index_select(0, rows);
    const Tensor targets = validation_.targets.narrow(1, begin * length, count * length).index_select(0, rows);
    const Tensor outputs = network_(inputs, context).outputs;
    const auto loss = nn::compute_loss(measured_loss(run_loss_), outputs, targets);
    const bool of_vectors = shape_.target == Target::vectors;
    const Tensor squared_error = of_vectors ? nn::compute_loss(MeanSquaredError(), outputs, targets).mean : torch::zeros_like(loss.mean);
    const Tensor scored = loss.scored.to(torch::kFloat64);
    sums += torch::stack(
        {loss.mean.to(torch::kFloat64) * scored, loss.correct.to(torch::kFloat64), scored, squared_error.to(torch::kFloat64) * scored});
    if (!of_vectors && !output_metrics().empty()) {
      const Tensor values = outputs.to(torch::kCPU, torch::kFloat32).contiguous(), labels = targets.cpu().contiguous();
      for (std::size_t run = 0; run < num_runs_; ++run) {
        const auto r = static_cast<std::int64_t>(run);
        add_output_metrics(count * length, shape_.num_classes, values[r].data_ptr<float>(), labels[r].data_ptr<std::int64_t>(), out[run]);
      }
    }
  }
  const Tensor host = sums.to(torch::kCPU);
  const auto at = host.accessor<double, 2>();
  for (std::size_t run = 0; run < num_runs_; ++run) {
    const auto r = static_cast<std::int64_t>(run);
    if (live[run]) out[run] += LossSums{at[0][r], std::llround(at[1][r]), std::llround(at[2][r]), at[3][r]};
    else out[run] = {};
  }
  return true;
}

std::vector<float> TorchLearner::outputs(const ExampleSet& examples) {
  const torch::InferenceMode inference;
  const Tensor one = shape_.tokens ? torch::tensor(examples.tokens, torch::kInt64).view({1, examples.count, -1})
                                   : torch::tensor(examples.vectors, options_.dtype).view({1, examples.count, shape_.input_width});
  const Tensor input = one.expand({options_.stack_width, one.size(1), one.size(2)});
  nn::ForwardContext context;
  context.host_free = options_.host_free;
  const Tensor outputs = network_(input.to(options_.device), context).outputs[0].to(torch::kCPU, torch::kFloat32).contiguous();
  return {outputs.data_ptr<float>(), outputs.data_ptr<float>() + outputs.numel()};
}

const Tensor& TorchLearner::gradients_at(std::int64_t step) {
  const StepStream::Scope scope(stream_);
  stage(step, 1);
  load(0);
  compute_gradients();
  return row_.gradients();
}

}  // namespace ffn
