#include "ffn/layers/declare.hpp"

#include <algorithm>

namespace ffn::fused {

void Declared::zero_added(float* gradients) const {
  for (const auto& range : added_) std::fill_n(gradients + range.offset, range.count, 0.0f);
}

Place Declare::operator()(ParameterSpec spec, Gradient gradient) const {
  spec.name = prefix_ + spec.name;
  const RowEntry& entry = all_.layout_.add(std::move(spec));
  if (gradient == Gradient::added_to) all_.added_.push_back({entry.offset, entry.count});
  return Place(entry.offset);
}

}  // namespace ffn::fused
