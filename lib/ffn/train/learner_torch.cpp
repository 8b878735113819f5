#include "ffn/train/learner_torch.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "ffn/base/random.hpp"
#include "ffn/config/accounting.hpp"
#include "ffn/layers/loss_torch.hpp"
#include "ffn/train/cohort_config.hpp"

namespace ffn {

using torch::Tensor;

namespace {

constexpr std::int64_t kStepsAtOnce = 64;       // whose batches go to the device together
constexpr std::int64_t kBytesAtOnce = 1 << 26;  // and what they may take there

// The runs' own settings for dropout on the learner's device; idle rows drop nothing.
modules::ForwardContext context_of(const std::vector<RunConfig>& runs, std::int64_t width, const TorchOptions& options) {
  std::vector<double> rates(static_cast<std::size_t>(width), 0.0);
  std::vector<std::uint64_t> seeds(rates.size(), 0);
  for (std::size_t r = 0; r < runs.size(); ++r) {
    rates[r] = dropout_rate(runs[r].model.ffn);
    seeds[r] = sub_seed(static_cast<std::uint64_t>(runs[r].seed), "dropout");
  }
  auto context = modules::training_context(rates, seeds, 0);
  context.host_free = options.host_free;
  context.waits = options.waits;
  context.step_number = context.step_number.to(options.device);
  context.seeds = context.seeds.to(options.device);
  if (context.rates.defined()) context.rates = context.rates.to(options.device);
  return context;
}

// FLOPs that computing every expert on every token wastes, over all blocks, forward and backward, in FLOPs.
double wasted_flops(const RunConfig& run, std::int64_t tokens) {
  const auto* mixture = std::get_if<MoeConfig>(&run.model.ffn);
  if (!mixture) return 0;
  const double other = static_cast<double>(mixture->num_experts) / static_cast<double>(mixture->top_k) - 1;
  return 3 * other * static_cast<double>(run.model.blocks * tokens * ffn_cost(run.model.ffn, run.model.d_model).flops);
}

TorchOptions completed(TorchOptions options, const std::vector<RunConfig>& runs, const TaskShape& shape) {
  options.bfloat16 = runs.at(0).compute.precision == "bfloat16" && options.dtype == torch::kFloat32;
  options.own_kernels = options.own_kernels || options.device.is_cuda() || options.bfloat16;
  options.host_free = options.host_free || options.own_kernels;
  options.stack_width = std::max(options.stack_width, static_cast<std::int64_t>(runs.size()));
  constexpr double kWorthWaiting = 1e10;  // FLOPs of a step: more than launching its operations one by one takes
  const auto tokens = options.stack_width * runs[0].train.batch_size * shape.sequence_length;
  options.waits = options.waits || (options.own_kernels && wasted_flops(runs[0], tokens) > kWorthWaiting);
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
      options_(completed(options, runs, task.shape())),
      network_(options_.stack_width, runs[0].model, shape_),
      row_(*network_, torch::TensorOptions().dtype(options_.dtype).device(options_.device)),
      optimizer_(row_.layout(), row_.values(), optimizer_configs(runs), update_rule(runs[0])),
      context_(context_of(runs, options_.stack_width, options_)),
      validation_count_(0),
      device_batches_(task, options_.stack_width, train_.batch_size, row_.values().options()),
      bases_and_slopes_(optimizer_.bases_and_slopes()),
      stream_(options_.device) {
  const auto width = options_.stack_width;
  const auto numbers = row_.values().options();
  for (auto& rows : bases_and_slopes_) rows = rows.to(options_.device);
  alive_ = torch::zeros({width, 1}, numbers.dtype(torch::kBool));
  const auto num_losses = static_cast<std::int64_t>(auxiliary_losses_.size());
  report_ = torch::zeros({2 + num_losses, width}, numbers.dtype(torch::kFloat64));
  if (options_.waits) not_captured_ = "tokens are grouped by expert, whose numbers the host waits for";
  loss_ = report_[0];
  norm_ = report_[1];
  auxiliary_ = report_.narrow(0, 2, num_losses);
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
  if (host_state_.empty()) {
    host_state_ = state_tensors();
    if (options_.device.is_cuda()) {  // all runs at once
      for (auto& rows : host_state_) rows = rows.to(torch::kCPU);
    }
  }
  const Tensor data = host_state_.at(row)[static_cast<std::int64_t>(run)].to(torch::kFloat32).contiguous();
  std::copy_n(data.data_ptr<float>(), data.numel(), values);
}

void TorchLearner::write_state(std::size_t run, std::size_t row, const float* values) {
  const torch::NoGradGuard no_grad;
  host_state_.clear();
  state_tensors().at(row)[static_cast<std::int64_t>(run)].copy_(torch::from_blob(const_cast<float*>(values), {layout().width()}));
}

// The batches of `count` steps, drawn on the device, or built on the host by the task and sent over together.
void TorchLearner::stage(std::int64_t begin, std::int64_t count) {
  const torch::NoGradGuard no_grad;
  const auto width = options_.stack_width, batch = train_.batch_size, length = shape_.sequence_length;
  const auto host = torch::TensorOptions().pinned_memory(options_.device.is_cuda());
  const auto send = [&](const Tensor& x, torch::Dtype dtype) { return x.to(options_.device, /*non_blocking=*/true).to(dtype); };
  const auto num_reports = report_.size(0);
  staged_.log = torch::empty({count, num_reports, width}, report_.options());
  staged_.numbers = send(torch::arange(begin, begin + count, torch::kInt64), torch::kInt64);
  std::vector<Tensor> coefficients;
  for (std::int64_t step = begin; step < begin + count; ++step) {
    const double factor = schedule_factor(train_.schedule, step, train_.steps);
    coefficients.push_back(options_.own_kernels ? optimizer_.shared_coefficients(step + 1, factor)
                                                : optimizer_.coefficients(step + 1, factor));
  }
  staged_.coefficients = send(torch::stack(coefficients), torch::kFloat64);
  if (options_.own_kernels) staged_.coefficients = bases_and_slopes_[0] + bases_and_slopes_[1] * staged_.coefficients.unsqueeze(1);
  staged_.coefficients = staged_.coefficients.to(options_.dtype);
  if (options_.own_kernels && device_batches_.drawn()) {
    staged_.batch = device_batches_.at(staged_.numbers);
    if (staged_.batch.inputs.defined()) return;
  }
  const bool classes = shape_.target == Target::classes;
  Tensor labels = classes ? torch::zeros({count, width, batch * length}, host.dtype(torch::kInt64)) : Tensor();
  Tensor values = classes ? Tensor() : torch::zeros({count, width, batch * length, shape_.num_classes}, host.dtype(torch::kFloat32));
  Tensor tokens = shape_.tokens ? torch::zeros({count, width, batch, length}, host.dtype(torch::kInt64)) : Tensor();
  Tensor vectors = shape_.tokens ? Tensor() : torch::zeros({count, width, batch, shape_.input_width}, host.dtype(torch::kFloat32));
  for (std::int64_t k = 0; k < count; ++k) {
    for (std::size_t run = 0; run < num_runs_; ++run) {
      const auto place = k * width + static_cast<std::int64_t>(run);
      BatchPlace to;
      if (classes) to.labels = labels.data_ptr<std::int64_t>() + place * batch * length;
      else to.values = values.data_ptr<float>() + place * batch * length * shape_.num_classes;
      if (shape_.tokens) to.tokens = tokens.data_ptr<std::int64_t>() + place * batch * length;
      else to.vectors = vectors.data_ptr<float>() + place * batch * shape_.input_width;
      task_.write_batch(run, begin + k, batch, to);
    }
  }
  staged_.batch.inputs = shape_.tokens ? send(tokens, torch::kInt64) : send(vectors, options_.dtype);
  staged_.batch.targets = classes ? send(labels, torch::kInt64) : send(values, options_.dtype);
  stream_.wait();  // the pinned memory is ours again only when it has been read
}

modules::NetworkOutput TorchLearner::pass(const Tensor& inputs, const modules::ForwardContext& context) {
  const ProductPrecision precision(options_.bfloat16, options_.device);
  return network_(inputs, context);
}

// The blocks' loads.
std::vector<Tensor> TorchLearner::compute_gradients() {
  row_.gradients().zero_();
  const auto parts = train_.accumulate, examples = train_.batch_size / parts, tokens = examples * shape_.sequence_length;
  std::vector<Tensor> loads;
  for (std::int64_t part = 0; part < parts; ++part) {
    const Tensor targets = batch_.targets.narrow(1, part * tokens, tokens);
    modules::ForwardContext context = context_;
    if (part > 0) context.step_number = context_.step_number + (part << 40);  // masks of its own, that no other step has
    const auto out = pass(batch_.inputs.narrow(1, part * examples, examples), context);
    const auto loss = modules::compute_loss(run_loss_, out.outputs, targets);
    Tensor share;  // (R) of what the batch scores; undefined for all of it
    if (parts > 1 && shape_.target == Target::classes) share = loss.scored.to(options_.dtype) / batch_.targets.ge(0).sum(-1);
    else if (parts > 1) share = torch::full_like(loss.mean, 1.0 / static_cast<double>(parts)).detach();
    const auto weighed = [&](const Tensor& value) { return share.defined() ? value * share : value; };
    const auto add = [&](Tensor to, const Tensor& value) { part == 0 ? to.copy_(value) : to.add_(value); };
    // Each run's mean, then the sum over runs: a run's gradient does not know how many neighbours it has.
    Tensor objective = loss.mean;
    for (std::size_t i = 0; i < auxiliary_losses_.size(); ++i) {
      objective = objective + auxiliary_losses_[i].weight * out.auxiliary[i];
      add(auxiliary_[static_cast<std::int64_t>(i)], weighed(out.auxiliary[i]).detach());
    }
    weighed(objective).sum().backward();
    add(loss_, weighed(loss.mean).detach());
    for (std::size_t block = 0; block < out.loads.size(); ++block) {
      const Tensor load = out.loads[block].defined() ? out.loads[block] / static_cast<double>(parts) : Tensor();
      if (part == 0) loads.push_back(load);
      else if (load.defined()) loads[block] = loads[block] + load;
    }
  }
  return loads;
}

void TorchLearner::take_step() {
  const auto loads = compute_gradients();
  const torch::NoGradGuard no_grad;
  const Tensor& gradients = row_.gradients();
  norm_.copy_((options_.own_kernels ? gradients.square().sum({1}, /*keepdim=*/false, torch::kFloat64)
                                    : gradients.to(torch::kFloat64).square().sum(1))
                  .sqrt());
  alive_.logical_and_(torch::isfinite(loss_ + norm_).unsqueeze(1));
  // clip_scale() of train/cohort_config.hpp, for all runs at once.
  const Tensor scale = train_.clip_norm > 0 ? (norm_ + 1e-6).reciprocal().mul(train_.clip_norm).clamp_max(1.0) : torch::ones_like(norm_);
  optimizer_.step(row_.values(), gradients, scale.to(options_.dtype).unsqueeze(1), coefficients_, alive_, context_.step_number);
  network_->update_buffers(loads, alive_);
}

void TorchLearner::take_steps(StagedSteps& from, std::int64_t begin, std::int64_t count) {
  for (std::int64_t k = begin; k < begin + count; ++k) {
    batch_ = {from.batch.inputs[k], from.batch.targets[k]};
    coefficients_ = from.coefficients[k];
    context_.step_number = from.numbers.narrow(0, k, 1);
    take_step();
    from.log[k].copy_(report_);
  }
}

// So many steps, captured once and replayed from then on; null where they cannot be. What the warm-up changes is put back.
StepGraph* TorchLearner::graph_of(std::int64_t count) {
  const auto found = graphs_.find(count);
  if (found != graphs_.end()) return found->second.get();
  if (!not_captured_.empty()) return nullptr;
  std::vector<Tensor> kept, live = state_tensors();
  live.push_back(alive_);
  for (const auto& tensor : live) kept.push_back(tensor.clone());
  auto graph = capture_step([this, count] { take_steps(window_, 0, count); }, stream_, not_captured_);
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < live.size(); ++i) live[i].copy_(kept[i]);
  if (!graph) return nullptr;
  return (graphs_[count] = std::move(graph)).get();
}

// The staged steps from `begin` on that go together: one, or so many of a small stack that launching a graph costs little.
std::int64_t TorchLearner::replay(std::int64_t begin, std::int64_t left) {
  constexpr std::int64_t kMany = 8;
  constexpr double kLittleWork = 2e10;  // of a step, in FLOPs: beyond, a second graph's memory is not worth it
  const double flops = 6.0 * static_cast<double>(row_.values().numel() * train_.batch_size * shape_.sequence_length);
  const auto parts = [](StagedSteps& s) {
    return std::array<Tensor*, 5>{&s.batch.inputs, &s.batch.targets, &s.coefficients, &s.numbers, &s.log};
  };
  const auto count = left >= kMany && flops < kLittleWork ? kMany : 1;
  const auto from = parts(staged_), to = parts(window_);
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (!to[i]->defined()) {
      auto shape = from[i]->sizes().vec();
      shape[0] = flops < kLittleWork ? kMany : 1;
      *to[i] = torch::zeros(shape, from[i]->options());
    }
    to[i]->narrow(0, 0, count).copy_(from[i]->narrow(0, begin, count));
  }
  StepGraph* graph = graph_of(count);
  if (!graph) {
    take_steps(staged_, begin, 1);
    return 1;
  }
  graph->replay();
  staged_.log.narrow(0, begin, count).copy_(window_.log.narrow(0, 0, count));
  return count;
}

void TorchLearner::advance(std::int64_t begin, std::int64_t end, const LiveRuns& live, std::vector<RunSteps>& out) {
  using Clock = std::chrono::steady_clock;
  const StepStream::Scope scope(stream_);
  const modules::OwnKernels kernels(options_.own_kernels);
  silence(live);
  host_state_.clear();
  out.assign(num_runs_, {});
  const auto written = std::max<std::int64_t>(1, options_.stack_width * train_.batch_size * shape_.sequence_length * 32);
  const bool drawn = options_.own_kernels && device_batches_.drawn();
  const auto most = std::clamp<std::int64_t>(drawn ? 16 * kBytesAtOnce / device_batches_.bytes() : kBytesAtOnce / written, 1, kStepsAtOnce);
  for (std::int64_t step = begin; step < end;) {
    const auto start = Clock::now();
    const auto count = std::min(most, end - step);
    stage(step, count);
    for (std::int64_t k = 0; k < count;) {
      if (stream_.on_gpu() && not_captured_.empty()) k += replay(k, count - k);
      else take_steps(staged_, k++, 1);
    }
    const Tensor log = staged_.log.permute({2, 0, 1}).contiguous().to(torch::kCPU);  // waits for the device, once for all these steps
    collect(log, live, std::chrono::duration<double>(Clock::now() - start).count(), out);
    step += count;
  }
}

// log: (R, K, 2 + losses)
void TorchLearner::collect(const Tensor& log, const LiveRuns& live, double seconds, std::vector<RunSteps>& out) const {
  const auto num_live = std::count(live.begin(), live.end(), char{1});
  const auto count = log.size(1), width = log.size(2);
  for (std::size_t run = 0; run < num_runs_; ++run) {
    if (!live[run]) continue;
    auto& steps = out[run];
    steps.seconds += seconds / static_cast<double>(num_live);
    const double* row = log.data_ptr<double>() + static_cast<std::int64_t>(run) * count * width;
    for (std::int64_t k = 0; k < count; ++k, row += width) {
      if (!steps.reports.empty() && !is_finite(steps.reports.back())) break;
      StepReport report{row[0], {}, row[1]};
      std::copy_n(row + 2, width - 2, report.auxiliary.begin());
      steps.reports.push_back(report);
    }
  }
}

// Runs that are over stand still at zero: what they would compute can be anything, and takes subnormal numbers' time.
void TorchLearner::silence(const LiveRuns& live) {
  if (live == silenced_for_) return;
  silenced_for_ = live;
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
  const modules::OwnKernels kernels(options_.own_kernels);
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
  modules::ForwardContext context;
  context.host_free = options_.host_free;
  context.waits = options_.waits;
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
    const Tensor outputs = pass(inputs, context).outputs;
    const auto loss = modules::compute_loss(measured_loss(run_loss_), outputs, targets);
    const bool vectors = shape_.target == Target::vectors;
    const Tensor squared_error = vectors ? modules::compute_loss(MeanSquaredError(), outputs, targets).mean : torch::zeros_like(loss.mean);
    const Tensor scored = loss.scored.to(torch::kFloat64);
    sums += torch::stack(
        {loss.mean.to(torch::kFloat64) * scored, loss.correct.to(torch::kFloat64), scored, squared_error.to(torch::kFloat64) * scored});
    if (!vectors && !output_metrics().empty()) {
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
  const modules::OwnKernels kernels(options_.own_kernels);
  const Tensor one = shape_.tokens ? torch::tensor(examples.tokens, torch::kInt64).view({1, examples.count, -1})
                                   : torch::tensor(examples.vectors, options_.dtype).view({1, examples.count, shape_.input_width});
  const Tensor input = one.expand({options_.stack_width, one.size(1), one.size(2)});
  modules::ForwardContext context;
  context.host_free = options_.host_free;
  context.waits = options_.waits;
  const Tensor outputs = pass(input.to(options_.device), context).outputs[0].to(torch::kCPU, torch::kFloat32).contiguous();
  return {outputs.data_ptr<float>(), outputs.data_ptr<float>() + outputs.numel()};
}

const Tensor& TorchLearner::gradients_at(std::int64_t step) {
  const StepStream::Scope scope(stream_);
  const modules::OwnKernels kernels(options_.own_kernels);
  stage(step, 1);
  batch_ = {staged_.batch.inputs[0], staged_.batch.targets[0]};
  context_.step_number = staged_.numbers;
  compute_gradients();
  return row_.gradients();
}

}  // namespace ffn
