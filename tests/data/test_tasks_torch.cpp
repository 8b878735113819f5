// Labels match the definition, batches are functions of (seed, step), text splits where it says.
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "ffn/base/random.hpp"
#include "ffn/data/task.hpp"
#include "support/batches.hpp"
#include "support/catch.hpp"
#include "support/choices.hpp"

using namespace ffn;
using torch::Tensor;

namespace {

std::string text_file(const std::string& content) {
  const auto path = std::filesystem::temp_directory_path() / ("ffn-text-" + std::to_string(::getpid()) + ".txt");
  std::ofstream(path, std::ios::binary) << content;
  return path.string();
}

std::string alphabet_text() {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "abcdefghij é\n"[i % 13] == '\xc3' ? 'x' : "abcdefghijkl\n"[i % 13];
  return text + "é";
}

std::vector<TaskConfig> all_tasks(const std::string& file) {
  std::vector<TaskConfig> out;
  test::each_alternative(TaskConfig{}, [&](auto task) {
    if constexpr (std::is_same_v<decltype(task), TextConfig>) {
      task.file = file;
      task.context = 8;
    }
    out.emplace_back(task);
  });
  return out;
}

}  // namespace

TEST_CASE("every task gives the same batch for the same seed and step, and another for another", "[tasks]") {
  const auto file = text_file(alphabet_text());
  for (const auto& config : all_tasks(file)) {
    const auto a = make_task(config, {{1, 2}, {3, 4}}), b = make_task(config, {{3, 4}});
    const auto shape = a->shape(), planned = task_shape(config);
    CHECK((shape.tokens == planned.tokens && shape.input_width == planned.input_width));
    CHECK((shape.sequence_length == planned.sequence_length && shape.num_classes == planned.num_classes));
    const auto batch = test::train_batch(*a, 5, 33), again = test::train_batch(*a, 5, 33), next = test::train_batch(*a, 6, 33),
               alone = test::train_batch(*b, 5, 33);
    CHECK(torch::equal(batch.inputs, again.inputs));
    CHECK(torch::equal(batch.labels, again.labels));
    CHECK_FALSE(torch::equal(batch.inputs, next.inputs));
    CHECK_FALSE(torch::equal(batch.inputs[0], batch.inputs[1]));
    CHECK(torch::equal(batch.inputs[1], alone.inputs[0]));
    CHECK(shape.target == target_of(config));
    CHECK(batch.labels.size(1) == 33 * shape.sequence_length);
    if (shape.target == Target::classes) CHECK(batch.labels.max().item<std::int64_t>() < shape.num_classes);
    if (shape.tokens) CHECK(batch.inputs.max().item<std::int64_t>() < shape.input_width);
  }
}

TEST_CASE("xor labels are the parity of the bits, all patterns are validated, and noise flips its share", "[tasks]") {
  XorConfig config;
  config.bits = 3;
  config.label_noise = 0.2;
  const auto task = make_task(config, {{1, 2}});
  const auto set = test::validation(*task, 512);
  REQUIRE(set.inputs.sizes() == torch::IntArrayRef({1, 8, 3}));
  CHECK(torch::equal(set.inputs.gt(0).sum(-1).remainder(2), set.labels));
  const auto batch = test::train_batch(*task, 0, 20000);
  const double flipped = batch.inputs.gt(0).sum(-1).remainder(2).ne(batch.labels).to(torch::kFloat64).mean().item<double>();
  CHECK(flipped == Approx(0.2).margin(0.012));  // 4 standard errors
  config.jitter = 0.5;
  const auto noisy = test::train_batch(*make_task(config, {{1, 2}}), 0, 20000);
  CHECK((noisy.inputs - batch.inputs).std().item<double>() == Approx(0.5).margin(0.01));
  CHECK(torch::equal(noisy.labels, batch.labels));
}

TEST_CASE("an xor batch spells the low bits of its step's random words, for few bits and for more", "[tasks]") {
  constexpr std::uint64_t kSeed = 7, kStep = 3, kStreamsPerStep = 4;
  constexpr std::int64_t kExamples = 100;
  for (const std::int64_t bits : {1, 2, 3, 4, 5, 32}) {
    CAPTURE(bits);
    XorConfig config;
    config.bits = bits;
    std::vector<float> x(static_cast<std::size_t>(kExamples * bits));
    std::vector<std::int64_t> labels(static_cast<std::size_t>(kExamples));
    make_task(config, {{kSeed, 2}})->write_batch(0, kStep, kExamples, {nullptr, x.data(), labels.data()});
    RandomStream words(kSeed, kStep * kStreamsPerStep);
    int wrong = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const std::uint32_t word = words.bits();
      std::int64_t ones = 0;
      for (std::int64_t b = 0; b < bits; ++b) {
        const bool one = (word >> b & 1) != 0;
        ones += one;
        wrong += x[i * static_cast<std::size_t>(bits) + static_cast<std::size_t>(b)] != (one ? 1.0f : -1.0f);
      }
      wrong += labels[i] != ones % 2;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("text targets are the inputs moved by one, and validation text is never trained on", "[tasks]") {
  std::string text;
  for (int i = 0; i < 900; ++i) text += static_cast<char>('a' + i % 3);
  for (int i = 0; i < 100; ++i) text += static_cast<char>('x' + i % 3);
  TextConfig config;
  config.file = text_file(text);
  config.context = 10;
  const auto task = make_task(config, {{1, 2}});
  CHECK(task->metadata(0).at("alphabet") == "abcxyz");
  const auto batch = test::train_batch(*task, 0, 200);
  CHECK(batch.inputs.max().item<std::int64_t>() == 2);  // a, b, c only
  CHECK(torch::equal(batch.inputs[0].narrow(1, 1, 9), batch.labels.view({200, 10}).narrow(1, 0, 9)));
  const auto set = test::validation(*task, 512);
  CHECK(set.inputs.size(1) == 9);  // 99 characters with a target
  CHECK(set.inputs.min().item<std::int64_t>() == 3);
  CHECK(test::validation(*task, 4).inputs.size(1) == 4);
}

TEST_CASE("every window of a text is trained on, the last one too", "[tasks]") {
  TextConfig config;
  config.context = 4;
  config.validation_fraction = 0.5;
  config.file = text_file("abcdefabcdef");  // 6 characters to train on: two windows of 4 with their targets
  const auto batch = test::train_batch(*make_task(config, {{1, 2}}), 0, 200);
  const Tensor starts = batch.inputs[0].select(1, 0);
  const auto first = starts.eq(0).sum().item<std::int64_t>(), last = starts.eq(1).sum().item<std::int64_t>();
  CHECK(first + last == 200);
  CHECK(std::abs(first - last) < 4 * std::sqrt(200));  // 4 standard errors
  CHECK(torch::equal(batch.labels.view({200, 4}), batch.inputs[0] + 1));
}

TEST_CASE("fewer validation windows than a text has are spread over all of its held-out part", "[tasks]") {
  TextConfig config;
  config.context = 2;
  config.validation_fraction = 0.5;
  config.file = text_file("abcdefghijklmnopqrstuabcdefghijklmnopqrstu");  // 21 characters to validate: ten windows
  const auto task = make_task(config, {{1, 2}});
  const auto starts = [&](std::int64_t most) {
    const Tensor inputs = test::validation(*task, most).inputs[0].select(1, 0).contiguous();
    return std::vector<std::int64_t>(inputs.data_ptr<std::int64_t>(), inputs.data_ptr<std::int64_t>() + inputs.numel());
  };
  CHECK(starts(512) == std::vector<std::int64_t>{0, 2, 4, 6, 8, 10, 12, 14, 16, 18});
  CHECK(starts(5) == std::vector<std::int64_t>{0, 4, 8, 12, 16});
  CHECK(starts(4) == std::vector<std::int64_t>{0, 4, 10, 14});  // ⌊i · 10/4⌋ windows from the start
  CHECK(starts(1) == std::vector<std::int64_t>{0});
}
