#include "ffn/tasks/text.hpp"

#include <algorithm>

#include "ffn/core/random.hpp"
#include "ffn/core/utf8.hpp"

namespace ffn {

namespace {

TaskShape shape_with(const TextCorpus& corpus, std::int64_t context) {
  const auto characters = static_cast<std::int64_t>(corpus.alphabet.size());
  return {true, characters, context, characters};
}

}  // namespace

TaskShape shape_of(const TextConfig& config) { return shape_with(read_corpus(config), config.context); }

TextTask::TextTask(const TextConfig& config, std::vector<DataSeeds> seeds)
    : Task(std::move(seeds)), corpus_(read_corpus(config)), context_(config.context) {}

TaskShape TextTask::shape() const { return shape_with(corpus_, context_); }

void TextTask::write_window(const std::vector<std::int32_t>& text, std::size_t start, std::int64_t* inputs, std::int64_t* labels) const {
  const auto length = static_cast<std::size_t>(context_);
  std::copy_n(text.begin() + static_cast<std::ptrdiff_t>(start), length, inputs);
  std::copy_n(text.begin() + static_cast<std::ptrdiff_t>(start) + 1, length, labels);
}

void TextTask::write_batch(std::size_t run, std::int64_t step, std::int64_t batch_size, const BatchPlace& to) const {
  const auto starts = static_cast<std::uint32_t>(corpus_.train.size() - static_cast<std::size_t>(context_));
  RandomStream random(seeds(run).train, static_cast<std::uint64_t>(step));
  for (std::int64_t i = 0; i < batch_size; ++i)
    write_window(corpus_.train, random.below(starts), to.tokens + i * context_, to.labels + i * context_);
}

ExampleSet TextTask::validation(std::int64_t max_examples) const {
  const auto windows = static_cast<std::int64_t>(corpus_.valid.size() - 1) / context_;
  ExampleSet set = empty_set(std::min(windows, max_examples), /*shared=*/true);
  for (std::int64_t i = 0; i < set.count; ++i) {
    const auto start = static_cast<std::size_t>(i * windows / set.count * context_);
    write_window(corpus_.valid, start, set.tokens.data() + i * context_, set.labels.data() + i * context_);
  }
  return set;
}

std::map<std::string, std::string> TextTask::metadata() const {
  std::string alphabet;
  for (const auto c : corpus_.alphabet) append_utf8(alphabet, c);
  return {{"alphabet", alphabet}};
}

}  // namespace ffn
