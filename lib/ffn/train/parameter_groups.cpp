#include "ffn/train/parameter_groups.hpp"

namespace ffn {

UpdateRule update_rule(const OptimizerConfig& config) {
  const bool all = std::visit([](const auto& c) { return c.decay == "all"; }, config);
  return [all](const RowEntry& entry) { return Update{all || entry.decays}; };
}

Matrices matrices_of(const ParameterSpec& parameter) {
  if (!parameter.is_matrix()) return {0, 0, 0};
  const auto& shape = parameter.shape;
  return {shape.size() == 3 ? shape[0] : 1, shape[shape.size() - 2], shape.back()};
}

std::vector<ParameterGroup> parameter_groups(const RowLayout& layout, const UpdateRule& rule) {
  std::vector<ParameterGroup> groups;
  for (const auto& entry : layout.entries()) {
    const Update update = entry.role == Role::buffer ? Update{false} : rule(entry);
    if (groups.empty() || !(groups.back().update == update)) groups.push_back({entry.offset, 0, update, {}});
    groups.back().count = entry.offset + entry.count - groups.back().offset;
    groups.back().parameters.push_back(entry);
  }
  return groups;
}

}  // namespace ffn
