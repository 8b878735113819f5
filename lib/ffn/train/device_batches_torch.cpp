#include "ffn/train/device_batches_torch.hpp"

#include "ffn/layers/activation_torch.hpp"

namespace ffn {

using torch::Tensor;

DeviceBatches::DeviceBatches(const Task& task, std::int64_t width, std::int64_t batch_size, const torch::TensorOptions& numbers)
    : how_(task.drawn_batches()), batch_size_(batch_size), length_(task.shape().sequence_length), numbers_(numbers) {
  if (std::holds_alternative<std::monostate>(how_)) return;
  // A value of each run.
  const auto rows = [&](const std::function<std::int64_t(std::size_t)>& of) {
    std::vector<std::int64_t> values;
    for (std::int64_t row = 0; row < width; ++row) values.push_back(of(row < task.num_runs() ? static_cast<std::size_t>(row) : 0));
    return torch::tensor(values, torch::kInt64).to(numbers.device());
  };
  seeds_ = rows([&](std::size_t run) { return static_cast<std::int64_t>(task.train_seed(run)); });
  if (auto* windows = std::get_if<DrawnWindows>(&how_)) {
    starts_ = rows([&](std::size_t run) { return windows->runs[run].starts; }).unsqueeze(1);
    before_ = rows([&](std::size_t run) { return windows->runs[run].before; }).unsqueeze(1);
    skipped_ = rows([&](std::size_t run) { return windows->runs[run].skipped; }).unsqueeze(1);
    text_ = torch::tensor(windows->text, torch::kInt64).to(numbers.device());
    windows->text.clear();
  }
}

// The first B words of every run's streams (K), as numbers below 2^32: (K, R, B).
Tensor DeviceBatches::words(const Tensor& streams) const {
  const auto steps = streams.size(0), runs = seeds_.size(0);
  const Tensor each = streams.view({steps, 1}).expand({steps, runs}).reshape({-1, 1});
  const Tensor all = modules::philox_words(seeds_.repeat({steps}), (batch_size_ + 3) / 4, 0, each);
  return all.view({steps, runs, -1}).narrow(2, 0, batch_size_);
}

StackBatch DeviceBatches::at(const Tensor& steps) const {
  return std::visit([&](const auto& how) { return draw(how, steps); }, how_);
}

StackBatch DeviceBatches::draw(const DrawnPatterns& patterns, const Tensor& steps) const {
  const Tensor places = torch::arange(patterns.bits, steps.options());
  const Tensor bits = words(steps * 4).unsqueeze(-1).__rshift__(places).bitwise_and(1);  // (K, R, B, bits)
  Tensor labels = bits.sum(-1).bitwise_and(1);
  if (patterns.label_noise > 0) {
    const Tensor flips = words(steps * 4 + 2).__rshift__(8).to(torch::kFloat64).mul(0x1p-24).lt(patterns.label_noise);
    labels = labels.bitwise_xor(flips.to(torch::kInt64));
  }
  return {bits.mul(2).sub(1).to(numbers_.dtype()), labels};
}

StackBatch DeviceBatches::draw(const DrawnWindows&, const Tensor& steps) const {
  const Tensor window = words(steps).mul(starts_).__rshift__(32);
  const Tensor start = window + window.ge(before_).to(torch::kInt64) * skipped_;       // (K, R, B)
  const Tensor place = start.unsqueeze(-1) + torch::arange(length_, steps.options());  // (K, R, B, T)
  const auto at = [&](const Tensor& places) { return text_.index_select(0, places.flatten()); };
  return {at(place).view_as(place), at(place + 1).view({place.size(0), place.size(1), -1})};
}

}  // namespace ffn
