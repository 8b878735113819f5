#include "ffn/data/task.hpp"

namespace ffn {

ExampleSet Task::empty_set(std::int64_t examples, bool shared) const {
  const auto s = shape();
  const auto total = static_cast<std::size_t>((shared ? 1 : num_runs()) * examples);
  ExampleSet set;
  set.count = examples;
  set.shared = shared;
  const auto positions = total * static_cast<std::size_t>(s.sequence_length);
  if (s.target == Target::classes) set.labels.resize(positions);
  else set.values.resize(positions * static_cast<std::size_t>(s.num_classes));
  if (s.tokens) set.tokens.resize(positions);
  else set.vectors.resize(total * static_cast<std::size_t>(s.input_width));
  return set;
}

ExampleSet Task::batch(std::size_t run, std::int64_t step, std::int64_t batch_size) const {
  ExampleSet set = empty_set(batch_size, /*shared=*/true);
  write_batch(run, step, batch_size, place(set, 0));
  return set;
}

BatchPlace Task::place(ExampleSet& set, std::int64_t run) const {
  const auto s = shape();
  const std::int64_t first = set.shared ? 0 : run * set.count;
  BatchPlace to;
  if (s.tokens) to.tokens = set.tokens.data() + first * s.sequence_length;
  else to.vectors = set.vectors.data() + first * s.input_width;
  if (s.target == Target::classes) to.labels = set.labels.data() + first * s.sequence_length;
  else to.values = set.values.data() + first * s.sequence_length * s.num_classes;
  if (!set.groups.empty()) to.groups = set.groups.data() + first;
  return to;
}

}  // namespace ffn
