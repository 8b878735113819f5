#include "ffn/train/cpu_learner.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>

#include "ffn/base/random.hpp"
#include "ffn/kernels/kernels.hpp"
#include "ffn/layers/router_cpu.hpp"
#include "ffn/train/cohort_config.hpp"
#include "ffn/train/examples.hpp"

namespace ffn {

CpuLearner::CpuLearner(const std::vector<RunConfig>& runs, const Task& task, ThreadCount threads)
    : task_(task),
      shape_(task.shape()),
      train_(runs.at(0).train),
      network_(runs[0].model, shape_, runs[0].loss(), cpu::num_parts(runs[0].model, shape_, train_.batch_size)),
      shares_router_(runs[0].model.share_ffn),
      parameters_(static_cast<std::int64_t>(runs.size()), layout().width()),
      optimizer_(layout(), optimizer_configs(runs), update_rule(runs[0])),
      validation_(task.validation(train_.most_eval_examples())),
      batch_(task.empty_set(train_.batch_size, /*shared=*/true)),
      gradient_(static_cast<std::size_t>(layout().width())),
      fixed_threads_(runs[0].compute.threads),
      ask_threads_(std::move(threads)) {
  for (const auto& run : runs) runs_.push_back({dropout_rate(run.model.ffn), sub_seed(static_cast<std::uint64_t>(run.seed), "dropout")});
  routers_ = network_.first().routers();
}

std::size_t CpuLearner::threads() const {
  if (fixed_threads_) return static_cast<std::size_t>(*fixed_threads_);
  return ask_threads_ ? ask_threads_() : 1;
}

std::vector<std::string> CpuLearner::state_names() const {
  std::vector<std::string> names{"parameters"};
  for (const auto& [name, rows] : optimizer_.state()) names.push_back("optimizer." + name);
  return names;
}

const Rows& CpuLearner::state_rows(std::size_t row) const { return row == 0 ? parameters_ : optimizer_.state().at(row - 1).second; }

void CpuLearner::read_state(std::size_t run, std::size_t row, float* values) const {
  std::copy_n(state_rows(row).row(static_cast<std::int64_t>(run)), layout().width(), values);
}

void CpuLearner::write_state(std::size_t run, std::size_t row, const float* values) {
  auto& rows = row == 0 ? parameters_ : optimizer_.state().at(row - 1).second;
  std::copy_n(values, layout().width(), rows.row(static_cast<std::int64_t>(run)));
}

cpu::Network::StepLoss CpuLearner::loss(std::size_t run, std::int64_t step) {
  task_.write_batch(run, step, train_.batch_size, task_.place(batch_, 0));
  const auto examples = examples_of(batch_, shape_, 0);
  const auto& own = runs_[run];
  return network_.step(threads_, parameters_.row(static_cast<std::int64_t>(run)), gradient_.data(), examples,
                       {own.dropout_rate, own.dropout_seed, step});
}

StepReport CpuLearner::take_step(std::size_t run, std::int64_t step) {
  const auto measured = loss(run, step);
  const double norm = std::sqrt(network_.sum_of_squares(threads_, gradient_.data()));
  const StepReport report{measured.mean, measured.auxiliary, norm};
  if (!is_finite(report)) return report;
  const auto row = static_cast<std::int64_t>(run);
  const double factor = schedule_factor(train_.schedule, step, train_.steps), scale = clip_scale(train_.clip_norm, norm);
  network_.over_row(threads_, [&](std::int64_t begin, std::int64_t end) {
    optimizer_.step(row, step + 1, factor, scale, gradient_.data(), parameters_.row(row), begin, end);
  });
  for (std::size_t i = 1; shares_router_ && i < routers_.size(); ++i) routers_[0]->totals() += routers_[i]->totals();
  for (auto* router : routers_) {
    if (!shares_router_ || router == routers_[0]) router->update_buffers(parameters_.row(row));
  }
  return report;
}

// Runs know nothing of each other, so each takes its steps in a row. Three of them interleaved, kernel by kernel, take 2 to 4 % longer
// (XOR, d_ff 8 to 64, AVX2 and AVX-512): their kernels leave nothing idle that another run's could use.
void CpuLearner::advance(std::int64_t begin, std::int64_t end, const LiveRuns& live, std::vector<RunSteps>& out) {
  using Clock = std::chrono::steady_clock;
  threads_ = threads();
  out.resize(runs_.size());
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    out[run].reports.clear();
    out[run].seconds = 0;
    if (!live[run]) continue;
    const auto start = Clock::now();
    for (std::int64_t step = begin; step < end; ++step) {
      out[run].reports.push_back(take_step(run, step));
      if (!is_finite(out[run].reports.back())) break;
    }
    out[run].seconds = std::chrono::duration<double>(Clock::now() - start).count();
  }
}

bool CpuLearner::evaluate(const LiveRuns& live, std::vector<LossSums>& out, const std::function<bool(double)>& go_on) {
  threads_ = threads();
  out.assign(runs_.size(), {});
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    if (!live[run]) continue;
    const auto share = [&](double of_run) { return (static_cast<double>(run) + of_run) / static_cast<double>(runs_.size()); };
    if (run > 0 && go_on && !go_on(share(0))) return false;
    const auto sums = evaluate_run(run, [&](double of_run) { return !go_on || go_on(share(of_run)); });
    if (!sums) return false;
    out[run] = *sums;
  }
  return true;
}

std::optional<LossSums> CpuLearner::evaluate_run(std::size_t run, const std::function<bool(double)>& go_on) {
  const auto row = static_cast<std::int64_t>(run);
  const auto examples = examples_of(validation_, shape_, row);
  return network_.evaluate(threads_, parameters_.row(row), examples, go_on);
}

std::vector<float> CpuLearner::outputs(const ExampleSet& examples) {
  const auto length = shape_.tokens ? static_cast<std::int64_t>(examples.tokens.size()) / examples.count : 1;
  const float* outputs = network_.first().logits(
      parameters_.row(0), {examples.count, length, shape_.tokens ? examples.tokens.data() : nullptr, examples.vectors.data()});
  return {outputs, outputs + examples.count * length * shape_.num_classes};
}

}  // namespace ffn
