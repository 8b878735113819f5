#include "ffn/layers/declare.hpp"

#include <algorithm>

namespace ffn::cpu {

void Declared::zero_added(float* gradients) const {
  for (const auto& range : added_) std::fill_n(gradients + range.offset, range.count, 0.0f);
}

Declared::Range Declared::share(const std::string& prefix) {
  Range range{0, 0};
  for (const auto& entry : layout_.entries()) {
    if (entry.name.rfind(prefix, 0) != 0) continue;
    if (range.count == 0) range.offset = entry.offset;
    range.count = entry.offset + entry.count - range.offset;
  }
  added_.push_back(range);
  return range;
}

Place Declare::operator()(ParameterSpec spec, Gradient gradient) const {
  spec.name = prefix_ + spec.name;
  if (again_) {
    const auto& all = all_.layout_.entries();
    return Place(std::find_if(all.begin(), all.end(), [&](const RowEntry& entry) { return entry.name == spec.name; })->offset);
  }
  const RowEntry& entry = all_.layout_.add(std::move(spec));
  if (gradient == Gradient::added_to) all_.added_.push_back({entry.offset, entry.count});
  return Place(entry.offset);
}

}  // namespace ffn::cpu
