#include "ffn/data/sequence.hpp"

namespace ffn {

void SequenceTask::write_random(std::size_t run, std::uint64_t seed, std::int64_t step, std::int64_t examples, const BatchPlace& to) const {
  RandomStream random(seed, static_cast<std::uint64_t>(step));
  spec_.draw_tokens(random, fixed_[run], examples, to.tokens);
  spec_.write_labels(to.tokens, fixed_[run], examples, to.labels);
}

void SequenceTask::write_batch(std::size_t run, std::int64_t step, std::int64_t batch_size, const BatchPlace& to) const {
  write_random(run, seeds(run).train, step, batch_size, to);
}

ExampleSet SequenceTask::validation(std::int64_t max_examples) const {
  ExampleSet set = empty_set(max_examples);
  for (std::int64_t run = 0; run < num_runs(); ++run)
    write_random(static_cast<std::size_t>(run), seeds(static_cast<std::size_t>(run)).validation, 0, max_examples, place(set, run));
  return set;
}

}  // namespace ffn
