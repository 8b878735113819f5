#include "ffn/layers/data_parallel_cpu.hpp"

#include <algorithm>

#include "ffn/config/accounting.hpp"
#include "ffn/kernels/kernels.hpp"
#include "ffn/kernels/subnormals.hpp"
#include "ffn/layers/router_cpu.hpp"

namespace ffn::cpu {

namespace {

constexpr std::int64_t kMostParts = 16, kLeastRows = 256, kLeastFlops = std::int64_t{1} << 29;
constexpr std::int64_t kPiece = 1 << 14;      // floats of a row that one thread works on at a time
constexpr std::int64_t kTokensAtOnce = 4096;  // of an evaluation: bounds memory

// `count` of the examples, from the first-th on.
Examples some_of(const Examples& all, const TaskShape& task, std::int64_t first, std::int64_t count) {
  Examples out = all;
  out.count = count;
  const std::int64_t row = first * all.sequence_length;
  if (out.tokens) out.tokens += row;
  if (out.vectors) out.vectors += first * task.input_width;
  if (out.targets.labels) out.targets.labels += row;
  if (out.targets.values) out.targets.values += row * task.num_classes;
  return out;
}

}  // namespace

std::int64_t num_parts(const ModelConfig& model, const TaskShape& task, std::int64_t batch_size) {
  const auto* mixture = std::get_if<MoeConfig>(&model.ffn);
  if (mixture && (mixture->dropout > 0 || mixture->capacity_factor)) return 1;
  const std::int64_t rows = batch_size * task.sequence_length;
  const double flops = 3.0 * static_cast<double>(model_cost(model, task).total.flops) * static_cast<double>(rows);
  std::int64_t parts = 1;
  for (std::int64_t next = 2; next <= kMostParts && next <= batch_size && rows / next >= kLeastRows &&
                              flops / static_cast<double>(next) >= static_cast<double>(kLeastFlops);
       next *= 2)
    parts = next;
  return parts;
}

DataParallelNetwork::DataParallelNetwork(const ModelConfig& model, const TaskShape& task, const Loss& loss, std::int64_t num_parts)
    : model_(model),
      task_(task),
      loss_(loss),
      num_parts_(num_parts),
      routes_(std::holds_alternative<MoeConfig>(model.ffn)),
      sums_(static_cast<std::size_t>(num_parts_)),
      team_(flush_subnormals) {
  network(0);
  for (std::int64_t part = 1; part < num_parts_; ++part) gradients_.emplace_back(static_cast<std::size_t>(layout().width()));
}

// Made before threads ask for them.
Network& DataParallelNetwork::network(std::size_t index) {
  while (networks_.size() <= index) networks_.push_back(std::make_unique<Network>(model_, task_, loss_));
  return *networks_[index];
}

Network::StepLoss DataParallelNetwork::step(std::size_t threads, const float* parameters, float* gradients, const Examples& batch,
                                            const DropoutKey& dropout) {
  if (num_parts_ == 1) return first().step(parameters, gradients, batch, dropout);
  const auto parts = static_cast<std::size_t>(num_parts_);
  network(routes_ ? parts - 1 : std::min(threads, parts) - 1);
  const std::int64_t scored = count_scored(batch.count * batch.sequence_length, batch.targets);
  const auto begin = [&](std::size_t part, Network& network) {
    const auto first = static_cast<std::int64_t>(part) * batch.count / num_parts_,
               end = static_cast<std::int64_t>(part + 1) * batch.count / num_parts_;
    sums_[part] = network.begin_step(parameters, part == 0 ? gradients : gradients_[part - 1].data(),
                                     some_of(batch, task_, first, end - first), dropout, first, scored);
  };
  if (routes_) {
    team_.run(threads, parts, [&](std::size_t part, std::size_t) { begin(part, *networks_[part]); });
    share_totals();
    team_.run(threads, parts, [&](std::size_t part, std::size_t) { networks_[part]->end_step(); });
  } else {
    team_.run(threads, parts, [&](std::size_t part, std::size_t thread) {
      begin(part, *networks_[thread]);
      networks_[thread]->end_step();
    });
  }
  add_up(threads, gradients);
  double loss = 0;
  for (const auto& sums : sums_) loss += sums.loss;
  return {loss / static_cast<double>(scored), first().auxiliary_losses()};
}

// An auxiliary loss is of the whole batch.
void DataParallelNetwork::share_totals() {
  const auto whole = first().routers();
  for (std::size_t part = 1; part < networks_.size(); ++part) {
    const auto own = networks_[part]->routers();
    for (std::size_t i = 0; i < whole.size(); ++i) whole[i]->totals() += own[i]->totals();
  }
  for (std::size_t part = 1; part < networks_.size(); ++part) {
    const auto own = networks_[part]->routers();
    for (std::size_t i = 0; i < whole.size(); ++i) own[i]->totals() = whole[i]->totals();
  }
}

// (g0 + g1) + (g2 + g3): a tree of fixed shape.
void DataParallelNetwork::add_up(std::size_t threads, float* gradients) {
  const auto row = [&](std::int64_t part) { return part == 0 ? gradients : gradients_[static_cast<std::size_t>(part) - 1].data(); };
  over_row(threads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t apart = 1; apart < num_parts_; apart *= 2) {
      for (std::int64_t part = 0; part < num_parts_; part += 2 * apart)
        kernels().add(end - begin, row(part) + begin, row(part + apart) + begin, row(part) + begin);
    }
  });
}

std::int64_t DataParallelNetwork::num_pieces() const { return (layout().width() + kPiece - 1) / kPiece; }

void DataParallelNetwork::over_row(std::size_t threads, const std::function<void(std::int64_t, std::int64_t)>& work) {
  if (num_parts_ == 1) return work(0, layout().width());
  team_.run(threads, static_cast<std::size_t>(num_pieces()), [&](std::size_t piece, std::size_t) {
    const std::int64_t begin = static_cast<std::int64_t>(piece) * kPiece;
    work(begin, std::min(begin + kPiece, layout().width()));
  });
}

double DataParallelNetwork::sum_of_squares(std::size_t threads, const float* gradients) {
  if (num_parts_ == 1) return kernels().sum_of_squares(static_cast<std::size_t>(layout().width()), gradients);
  squares_.resize(static_cast<std::size_t>(num_pieces()));
  over_row(threads, [&](std::int64_t begin, std::int64_t end) {
    squares_[static_cast<std::size_t>(begin / kPiece)] = kernels().sum_of_squares(static_cast<std::size_t>(end - begin), gradients + begin);
  });
  double sum = 0;
  for (const double square : squares_) sum += square;
  return sum;
}

std::optional<LossSums> DataParallelNetwork::evaluate(std::size_t threads, const float* parameters, const Examples& examples,
                                                      const std::function<bool(double)>& go_on) {
  const std::int64_t at_once = std::max<std::int64_t>(1, kTokensAtOnce / examples.sequence_length);
  const auto count = static_cast<std::size_t>((examples.count + at_once - 1) / at_once);
  const std::size_t together = std::min(threads, std::max<std::size_t>(count, 1));
  network(together - 1);
  std::vector<LossSums> parts(count);
  for (std::size_t begin = 0; begin < count; begin += together) {
    if (begin > 0 && go_on && !go_on(static_cast<double>(begin) / static_cast<double>(count))) return std::nullopt;
    team_.run(threads, std::min(together, count - begin), [&](std::size_t offset, std::size_t thread) {
      const auto first = static_cast<std::int64_t>(begin + offset) * at_once;
      parts[begin + offset] =
          networks_[thread]->evaluate(parameters, some_of(examples, task_, first, std::min(at_once, examples.count - first)));
    });
  }
  LossSums sums;
  for (const auto& part : parts) sums += part;
  return sums;
}

}  // namespace ffn::cpu
