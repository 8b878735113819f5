#include "ffn/train/parameter_groups.hpp"

#include <nlohmann/json.hpp>

namespace ffn {

UpdateRule update_rule(const OptimizerConfig& config) {
  const auto rule = [](const auto& c) -> UpdateRule {
    return [all = c.decay == "all", scale = c.lr_scale](const RowEntry& entry) {
      return Update{all || entry.decays, scale->value(role_name(entry.role), 1.0)};
    };
  };
  return std::visit(rule, config);
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
