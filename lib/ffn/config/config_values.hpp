// A config as a list of keys with their values, and the values of keys that nobody set.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ffn/base/field_visitor.hpp"
#include "ffn/base/json.hpp"

namespace ffn {

struct ConfigValues {
  std::map<std::string, JsonValue> values;  ///< by path, with the kind of each union in brackets: "model.ffn[moe].top_k"
  std::vector<std::string> files;           ///< paths of keys that name files, as they are described
};

/// Optional values that are not set are left out. A section that may be null has true or null for itself.
ConfigValues config_values(const FieldVisitor::Describe& describe);

/// The defaults of a run's config: of every kind, or of those in the values `like`. They are frozen (scripts/generate/defaults): a run's
/// identity is what differs from them, so a new key changes no identity. A default that has to change becomes a new key.
std::map<std::string, JsonValue> default_values(const std::map<std::string, JsonValue>* like = nullptr);

}  // namespace ffn
