#include "ffn/train/parameter_groups.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "ffn/base/text.hpp"
#include "ffn/config/parameters.hpp"

namespace ffn {

namespace {

// Maps from hidden vectors to hidden vectors. A formula's own are, too.
bool is_hidden(Role role) {
  constexpr Role kHidden[] = {Role::query, Role::key, Role::value, Role::attention_output, Role::up, Role::gate, Role::down, Role::other};
  return std::find(std::begin(kHidden), std::end(kHidden), role) != std::end(kHidden);
}

// One row or column has one singular value: its step would be of one length whatever the gradient.
bool is_moved_by_muon(const ParameterSpec& parameter) {
  const auto [count, rows, columns] = matrices_of(parameter);
  return is_hidden(parameter.role) && std::min(rows, columns) > 1;
}

}  // namespace

UpdateRule update_rule(const OptimizerConfig& config) {
  const auto rule = [](const auto& c) -> UpdateRule {
    return [all = c.decay == "all", scale = c.lr_scale, decay = c.decay_scale](const RowEntry& entry) {
      const bool by_muon = std::is_same_v<std::decay_t<decltype(c)>, MuonConfig> && is_moved_by_muon(entry);
      const std::string role = role_name(entry.role);
      return Update{all || entry.decays, scale->value(role, 1.0), by_muon, decay->value(role, 1.0)};
    };
  };
  return std::visit(rule, config);
}

UpdateRule update_rule(const RunConfig& run) {
  return [of_optimizer = update_rule(run.train.optimizer), model = run.model](const RowEntry& entry) {
    Update update = of_optimizer(entry);
    update.rate *= mup_factor(entry, model);
    return update;
  };
}

std::string division_text(const RunConfig& run) {
  if (!std::holds_alternative<MuonConfig>(run.train.optimizer)) return "";
  const ModelConfig& model = run.model;
  const FfnSize* size = size_of(model.ffn);
  const bool is_memory = has_memory(model.ffn), narrow = size && size->hidden_width(model.d_model) == 1;
  const auto by_muon = [&](Role role) {
    const bool of_slots = role == Role::down || role == Role::up || (role == Role::key && !model.attention);
    const bool of_layer = role == Role::up || role == Role::gate || role == Role::down;
    return is_hidden(role) && !(is_memory && of_slots) && !(narrow && of_layer);
  };
  std::vector<std::string> hidden, others;
  for (const Role role : model.roles()) {
    if (role != Role::position || has_tokens(run.task)) (by_muon(role) ? hidden : others).push_back(role_name(role));
  }
  if (hidden.empty()) return "muon: nothing, as the model has no hidden matrix; all parameters move by adamw";
  return "muon: matrices of " + join(hidden) + "; adamw: " + join(others) + ", vectors, matrices of one row or column" +
         (is_memory ? ", a memory's keys and slots" : "");
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
