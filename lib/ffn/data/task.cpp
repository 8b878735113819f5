#include "ffn/data/task.hpp"

namespace ffn {

ExampleSet Task::empty_set(std::int64_t examples, bool shared) const {
  const auto s = shape();
  const auto total = static_cast<std::size_t>((shared ? 1 : num_runs()) * examples);
  ExampleSet set;
  set.count = examples;
  set.shared = shared;
  set.labels.resize(total * static_cast<std::size_t>(s.sequence_length));
  if (s.tokens) set.tokens.resize(set.labels.size());
  else set.vectors.resize(total * static_cast<std::size_t>(s.input_width));
  return set;
}

BatchPlace Task::place(ExampleSet& set, std::int64_t run) const {
  const auto s = shape();
  const std::int64_t first = set.shared ? 0 : run * set.count;
  BatchPlace to;
  if (s.tokens) to.tokens = set.tokens.data() + first * s.sequence_length;
  else to.vectors = set.vectors.data() + first * s.input_width;
  to.labels = set.labels.data() + first * s.sequence_length;
  return to;
}

}  // namespace ffn
