#include "ffn/train/device_batches_torch.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "ffn/base/random.hpp"
#include "ffn/config/sequence_task.hpp"
#include "ffn/layers/activation_torch.hpp"
#include "ffn/layers/task_formula_torch.hpp"

namespace ffn {

using torch::Tensor;

namespace {

constexpr std::int64_t kMostBytes = 1 << 30;  // that drawing the batches of a step may take

// RandomStream's below() and uniform() of words.
Tensor below(const Tensor& words, std::int64_t n) { return words.mul(n).__rshift__(32); }
Tensor uniform_of(const Tensor& words) { return words.__rshift__(8).to(torch::kFloat64).mul(0x1p-24); }

bool all_true(const Tensor& truths) { return truths.all().item<bool>(); }

}  // namespace

DeviceBatches::DeviceBatches(const Task& task, std::int64_t width, std::int64_t batch_size, const torch::TensorOptions& numbers)
    : how_(task.drawn_batches()), shape_(task.shape()), batch_size_(batch_size), numbers_(numbers) {
  if (std::holds_alternative<std::monostate>(how_)) return;
  auto* windows = std::get_if<DrawnWindows>(&how_);
  const auto* sequences = std::get_if<DrawnSequences>(&how_);
  const auto* inputs = std::get_if<DrawnInputs>(&how_);
  std::vector<const std::optional<TaskFormula>*> formulas;
  if (sequences) formulas = {&sequences->spec->tokens, &sequences->spec->label, &sequences->spec->scored};
  if (inputs) formulas = {&inputs->spec->formula, &inputs->spec->features};
  bytes_ = shape_.sequence_length * (shape_.tokens ? 64 : 128 * shape_.input_width);  // words, and what they pass through
  for (const auto* formula : formulas) {
    if (!*formula) continue;
    const auto held = modules::numbers_held(**formula);
    if (!held) return;
    bytes_ += 8 * shape_.sequence_length * *held;
  }
  const bool held_out = inputs && inputs->held_out > 0;
  const auto patterns = held_out ? static_cast<std::int64_t>(inputs->patterns->at(0).size()) : 0;
  if (width * std::max(bytes_ * batch_size, 8 * patterns) > kMostBytes) return;
  const auto rows = [&](const std::function<Tensor(std::size_t)>& of_run) {
    std::vector<Tensor> out;
    for (std::int64_t row = 0; row < width; ++row) out.push_back(of_run(row < task.num_runs() ? static_cast<std::size_t>(row) : 0));
    return torch::stack(out).to(numbers.device());
  };
  const auto whole = [](std::int64_t value) { return torch::tensor({value}, torch::kInt64); };
  if (windows) {
    starts_ = rows([&](std::size_t run) { return whole(windows->runs[run].starts); });
    before_ = rows([&](std::size_t run) { return whole(windows->runs[run].before); });
    skipped_ = rows([&](std::size_t run) { return whole(windows->runs[run].skipped); });
    text_ = torch::tensor(windows->text, torch::kInt64).to(numbers.device());
    windows->text.clear();
  }
  if (sequences) fixed_ = rows([&](std::size_t run) { return torch::tensor((*sequences->fixed)[run], torch::kFloat64).view({1, 1, -1}); });
  if (held_out) {
    patterns_ = rows([&](std::size_t run) {
      const auto& all = (*inputs->patterns)[run];
      return torch::tensor(std::vector<std::int64_t>(all.begin() + inputs->held_out, all.end()), torch::kInt64);
    });
  }
  seeds_ = rows([&](std::size_t run) { return whole(static_cast<std::int64_t>(task.train_seed(run))); }).squeeze(1);
}

// The first words of every run's streams (K), as numbers below 2^32: (K, R, shape).
Tensor DeviceBatches::words(const Tensor& streams, torch::IntArrayRef shape) const {
  const auto steps = streams.size(0), runs = seeds_.size(0);
  std::vector<std::int64_t> sizes{steps, runs};
  sizes.insert(sizes.end(), shape.begin(), shape.end());
  const auto count = c10::multiply_integers(shape);
  const Tensor each = streams.view({steps, 1}).expand({steps, runs}).reshape({-1, 1});
  return modules::philox_words(seeds_.repeat({steps}), (count + 3) / 4, 0, each)
      .view({steps * runs, -1})
      .narrow(1, 0, count)
      .reshape(sizes);
}

// RandomStream's normal() likewise, times `deviation`, plus `mean`, in float32. Libraries round logarithm and cosine each in their own way:
// the few numbers of which that may decide a bit are the host's.
Tensor DeviceBatches::normals(const Tensor& streams, torch::IntArrayRef shape, double mean, double deviation) const {
  auto pairs = shape.vec();
  pairs.push_back(2);
  const Tensor drawn = words(streams, pairs), unit = drawn.to(torch::kFloat64).add(0.5).mul(0x1p-32);
  const Tensor normal = unit.select(-1, 0).log().mul(-2).sqrt() * unit.select(-1, 1).mul(6.283185307179586).cos();
  const Tensor x = normal.mul(deviation).add(mean), error = x.abs().add(std::abs(mean)).mul(0x1p-38);
  Tensor out = x.to(torch::kFloat32).contiguous();
  const Tensor unsure = (x - error).to(torch::kFloat32).ne((x + error).to(torch::kFloat32)).flatten().nonzero().flatten();
  if (unsure.numel() == 0) return out;
  const Tensor of = drawn.view({-1, 2}).index_select(0, unsure).cpu();
  const auto word = of.accessor<std::int64_t, 2>();
  std::vector<float> sure;
  for (std::int64_t i = 0; i < of.size(0); ++i)
    sure.push_back(static_cast<float>(
        mean + deviation * RandomStream::normal_of(static_cast<std::uint32_t>(word[i][0]), static_cast<std::uint32_t>(word[i][1]))));
  out.view(-1).index_copy_(0, unsure, torch::tensor(sure).to(out.device()));
  return out;
}

StackBatch DeviceBatches::at(const Tensor& steps) const {
  StackBatch out = std::visit([&](const auto& how) { return draw(how, steps); }, how_);
  for (Tensor* part : {&out.inputs, &out.targets}) {
    if (part->defined() && part->is_floating_point()) *part = part->to(numbers_.dtype());
  }
  return out;
}

StackBatch DeviceBatches::draw(const DrawnPatterns& how, const Tensor& steps) const {
  const Tensor places = torch::arange(how.bits, steps.options());
  const Tensor bits = words(steps * 4, {batch_size_, 1}).__rshift__(places).bitwise_and(1);  // (K, R, B, bits)
  Tensor labels = bits.sum(-1).bitwise_and(1), inputs = bits.mul(2).sub(1).to(torch::kFloat32);
  if (how.label_noise > 0) labels = labels.bitwise_xor(uniform_of(words(steps * 4 + 2, batch_size_)).lt(how.label_noise).to(torch::kInt64));
  if (how.jitter > 0) inputs = inputs + normals(steps * 4 + 1, {batch_size_, how.bits}, 0, how.jitter);
  return {inputs, labels};
}

StackBatch DeviceBatches::draw(const DrawnWindows&, const Tensor& steps) const {
  const Tensor window = words(steps, batch_size_).mul(starts_).__rshift__(32);
  const Tensor start = window + window.ge(before_).to(torch::kInt64) * skipped_;                      // (K, R, B)
  const Tensor place = start.unsqueeze(-1) + torch::arange(shape_.sequence_length, steps.options());  // (K, R, B, T)
  const auto at = [&](const Tensor& places) { return text_.index_select(0, places.flatten()); };
  return {at(place).view_as(place), at(place + 1).view({place.size(0), place.size(1), -1})};
}

StackBatch DeviceBatches::draw(const DrawnBits& how, const Tensor& steps) const {
  const auto length = shape_.sequence_length, first_scored = std::max(how.first_offset, how.second_offset);
  const Tensor bits = words(steps, {batch_size_, (length + 31) / 32, 1}).__rshift__(torch::arange(32, steps.options())).bitwise_and(1);
  const Tensor tokens = bits.flatten(3).narrow(3, 0, length).contiguous();  // (K, R, B, T)
  Tensor labels = torch::full_like(tokens, -1);
  if (const auto scored = length - first_scored; scored > 0) {
    const auto before = [&](std::int64_t offset) { return tokens.narrow(3, first_scored - offset, scored); };
    labels.narrow(3, first_scored, scored).copy_(before(how.first_offset).bitwise_xor(before(how.second_offset)));
  }
  return {tokens, labels.flatten(2)};
}

StackBatch DeviceBatches::draw(const DrawnSequences& how, const Tensor& steps) const {
  const auto& spec = *how.spec;
  const std::vector<std::int64_t> shape{steps.size(0), seeds_.size(0), batch_size_, spec.length};
  const Tensor t = torch::arange(spec.length, steps.options()).to(torch::kFloat64).unsqueeze(-1);
  const auto of = [&](const TaskFormula& formula, const Tensor& sequences) {  // (K, R, B, T)
    return modules::evaluate(formula, {sequences.to(torch::kFloat64).unsqueeze(3), t, fixed_, {}, {}}, shape).squeeze(-1);
  };
  Tensor tokens = below(words(steps, {batch_size_, spec.length}), spec.tokens ? SequenceTaskSpec::kDraws : spec.alphabet);
  if (spec.tokens) {
    const Tensor made = of(*spec.tokens, tokens);
    if (!all_true(made.isfinite())) return {};
    tokens = made.to(torch::kInt64);
  }
  Tensor labels = of(*spec.label, tokens).nan_to_num(-1);
  if (spec.scored) labels = torch::where(of(*spec.scored, tokens).nan_to_num(0).eq(0), -1.0, labels);
  return {tokens, labels.to(torch::kInt64).flatten(2)};
}

// As the formulas see them: (K, R, B, size) float64 each.
std::vector<Tensor> DeviceBatches::inputs_at(const DrawnInputs& how, const Tensor& streams) const {
  Tensor pattern;
  if (patterns_.defined()) {
    const Tensor which = below(words(streams + DrawnInputs::kPattern, batch_size_), patterns_.size(1));
    pattern = patterns_.expand({which.size(0), -1, -1}).gather(2, which);
  }
  std::vector<Tensor> out;
  for (const auto& input : how.spec->inputs) {
    const Tensor own = streams + (DrawnInputs::kFirstInput + static_cast<std::int64_t>(out.size()));
    Tensor numbers;
    if (pattern.defined()) {
      std::vector<Tensor> each;
      for (std::int64_t i = 0; i < input.size; ++i) {
        each.push_back(pattern.remainder(input.values));
        pattern = pattern.floor_divide(input.values);
      }
      numbers = torch::stack(each, -1);
    } else if (input.kind == FunctionInput::Kind::normal) {
      numbers = normals(own, {batch_size_, input.size}, input.first, input.last);
    } else {
      numbers = words(own, {batch_size_, input.size});
      if (input.is_discrete()) numbers = below(numbers, input.values);
      else numbers = uniform_of(numbers).mul(input.last - input.first).add(input.first).to(torch::kFloat32);
    }
    out.push_back(numbers.to(torch::kFloat64));
  }
  return out;
}

StackBatch DeviceBatches::draw(const DrawnInputs& how, const Tensor& steps) const {
  const auto& spec = *how.spec;
  const Tensor streams = steps * (DrawnInputs::kFirstInput + static_cast<std::int64_t>(spec.inputs.size()));
  const auto numbers = inputs_at(how, streams);
  const std::vector<std::int64_t> shape{steps.size(0), seeds_.size(0), batch_size_};
  std::vector<Tensor> seen;
  for (std::size_t i = 0; i < numbers.size() && !spec.features; ++i) {
    const auto& input = spec.inputs[i];
    if (input.kind == FunctionInput::Kind::integer)
      seen.push_back(numbers[i].unsqueeze(-1).eq(torch::arange(input.values, numbers[i].options())).to(torch::kFloat32).flatten(3));
    else seen.push_back((input.kind == FunctionInput::Kind::bit ? numbers[i] * 2 - 1 : numbers[i]).to(torch::kFloat32));
  }
  Tensor inputs = spec.features ? modules::evaluate(*spec.features, numbers, shape).to(torch::kFloat32) : torch::cat(seen, -1);
  if (spec.features && !all_true(inputs.isfinite())) return {};
  if (how.config->jitter > 0)
    inputs = inputs + normals(streams + DrawnInputs::kJitter, {batch_size_, shape_.input_width}, 0, how.config->jitter);
  const Tensor results = modules::evaluate(*spec.formula, numbers, shape);  // (K, R, B, width)
  const Tensor noise = streams + DrawnInputs::kNoise;
  if (shape_.target == Target::vectors) {
    Tensor values = results.to(torch::kFloat32);
    if (!all_true(values.isfinite())) return {};
    if (how.config->noise > 0) values = values + normals(noise, {batch_size_, shape_.num_classes}, 0, how.config->noise);
    return {inputs, values};
  }
  if (!all_true(results.ge(0).logical_and(results.lt(shape_.num_classes)).logical_and(results.eq(results.floor())))) return {};
  Tensor labels = results.squeeze(-1).to(torch::kInt64);
  if (how.config->label_noise > 0) {
    const Tensor drawn = words(noise, {batch_size_, 2});
    const Tensor other = labels.add(below(drawn.select(-1, 1), shape_.num_classes - 1)).add(1).remainder(shape_.num_classes);
    labels = torch::where(uniform_of(drawn.select(-1, 0)).lt(how.config->label_noise), other, labels);
  }
  return {inputs, labels};
}

}  // namespace ffn
