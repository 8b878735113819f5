// Tasks of the kinds `function` and `sequence` that have a name.
#pragma once

#include <string>
#include <vector>

#include "ffn/config/task_config.hpp"

namespace ffn {

struct NamedTask {
  const char* name;
  const char* keys;   ///< inputs, features, label or target, group; of a sequence tokens, label and scored: the JSON of a config
  const char* known;  ///< what no model, or no linear one, can pass on fresh examples, and what has been reached
  const char* source;
  const char* kind = FunctionConfig::kKind;
};

const std::vector<NamedTask>& named_tasks();
bool is_named_task(const std::string& name);

/// Puts in what the name stands for. The problem, for a name of none or of another task than the formulas say.
std::string resolve_task_name(FunctionConfig& config);
std::string resolve_task_name(SequenceConfig& config);

}  // namespace ffn
