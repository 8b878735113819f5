// A task's examples as the CPU network reads them.
#pragma once

#include "ffn/data/task.hpp"
#include "ffn/layers/network_cpu.hpp"

namespace ffn {

/// The examples of run `run`, in the set's memory.
inline cpu::Examples examples_of(const ExampleSet& set, const TaskShape& shape, std::int64_t run) {
  const std::int64_t first = set.shared ? 0 : run * set.count, positions = first * shape.sequence_length;
  cpu::Examples out{set.count, shape.sequence_length};
  if (shape.tokens) out.tokens = set.tokens.data() + positions;
  else out.vectors = set.vectors.data() + first * shape.input_width;
  if (shape.target == Target::classes) out.targets.labels = set.labels.data() + positions;
  else out.targets.values = set.values.data() + positions * shape.num_classes;
  return out;
}

}  // namespace ffn
