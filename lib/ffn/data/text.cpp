#include "ffn/data/text.hpp"

#include <algorithm>

#include "ffn/base/random.hpp"
#include "ffn/base/text.hpp"

namespace ffn {

namespace {

TaskShape shape_with(const TextCorpus& corpus, std::int64_t context) {
  const auto tokens = static_cast<std::int64_t>(corpus.alphabet.size());
  return {true, tokens, context, tokens};
}

}  // namespace

TaskShape shape_of(const TextConfig& config) { return shape_with(*read_corpus(config), config.context); }

TextTask::TextTask(const TextConfig& config, std::vector<DataSeeds> seeds)
    : Task(std::move(seeds)), config_(config), corpus_(read_corpus(config)) {
  for (std::int64_t run = 0; run < num_runs(); ++run)
    held_out_.push_back(held_out(*corpus_, config_, this->seeds(static_cast<std::size_t>(run)).train));
}

TaskShape TextTask::shape() const { return shape_with(*corpus_, config_.context); }

void TextTask::write_window(std::size_t start, std::int64_t* inputs, std::int64_t* labels) const {
  const auto length = static_cast<std::size_t>(config_.context);
  std::copy_n(corpus_->text.begin() + static_cast<std::ptrdiff_t>(start), length, inputs);
  std::copy_n(corpus_->text.begin() + static_cast<std::ptrdiff_t>(start) + 1, length, labels);
}

void TextTask::write_batch(std::size_t run, std::int64_t step, std::int64_t batch_size, const BatchPlace& to) const {
  const auto windows = windows_of(run);
  RandomStream random(seeds(run).train, static_cast<std::uint64_t>(step));
  for (std::int64_t i = 0; i < batch_size; ++i) {
    const std::int64_t window = random.below(static_cast<std::uint32_t>(windows.starts));
    const auto start = static_cast<std::size_t>(window < windows.before ? window : window + windows.skipped);
    write_window(start, to.tokens + i * config_.context, to.labels + i * config_.context);
  }
}

// A window and its last target lie on one side of the held-out part.
DrawnWindows::Run TextTask::windows_of(std::size_t run) const {
  const auto& part = held_out_[run];
  const auto starts_in = [&](std::size_t tokens) { return std::max<std::int64_t>(0, static_cast<std::int64_t>(tokens) - config_.context); };
  const std::int64_t before = starts_in(part.begin);
  return {before + starts_in(corpus_->text.size() - part.end), before, static_cast<std::int64_t>(part.end) - before};
}

DrawnBatches TextTask::drawn_batches() const {
  DrawnWindows out{{corpus_->text.begin(), corpus_->text.end()}, {}};
  for (std::size_t run = 0; run < held_out_.size(); ++run) out.runs.push_back(windows_of(run));
  return out;
}

ExampleSet TextTask::validation(std::int64_t max_examples) const {
  const auto windows = static_cast<std::int64_t>(corpus_->held_out - 1) / config_.context;
  const bool shared = !config_.per_seed();
  ExampleSet set = empty_set(std::min(windows, max_examples), shared);
  for (std::int64_t run = 0; run < (shared ? 1 : num_runs()); ++run) {
    const auto to = place(set, run);
    for (std::int64_t i = 0; i < set.count; ++i) {
      const std::size_t start =
          held_out_[static_cast<std::size_t>(run)].begin + static_cast<std::size_t>(i * windows / set.count * config_.context);
      write_window(start, to.tokens + i * config_.context, to.labels + i * config_.context);
    }
  }
  return set;
}

std::optional<double> TextTask::compressed(std::size_t run) const { return gzip_bits_per_byte(*corpus_, held_out_[run]); }

std::map<std::string, std::string> TextTask::metadata(std::size_t /*run*/) const {
  if (corpus_->of_bytes) return {{"alphabet", kBytesAlphabet}};
  std::string alphabet;
  for (const auto c : corpus_->alphabet) append_utf8(alphabet, c);
  return {{"alphabet", alphabet}};
}

}  // namespace ffn
