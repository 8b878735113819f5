#include "ffn/train/parameter_groups.hpp"

namespace ffn {

std::vector<ParameterGroup> parameter_groups(const RowLayout& layout, const OptimizerConfig& config) {
  const bool all = std::visit([](const auto& c) { return c.decay == "all"; }, config);
  std::vector<ParameterGroup> groups;
  for (const auto& entry : layout.entries()) {
    const bool decays = (all || entry.decays) && entry.role != Role::buffer;
    if (groups.empty() || groups.back().decays != decays) groups.push_back({entry.offset, 0, decays, {}});
    groups.back().count = entry.offset + entry.count - groups.back().offset;
    groups.back().parameters.push_back(entry);
  }
  return groups;
}

}  // namespace ffn
