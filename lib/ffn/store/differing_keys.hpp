// Which keys two configs differ in, for whoever is told that one of them is in the other's place. Depends on core.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ffn/base/json.hpp"

namespace ffn {

/// "train.steps: 1000 → 500", one line for each key; what makes no other run (name, compute, log, checkpoint_every) is left out, and so
/// is a key for which `left_out` is true. Of a section whose kind differs, the kind and what both kinds have.
std::vector<std::string> differing_keys(const Json& before, const Json& now,
                                        const std::function<bool(const std::string& dotted_key)>& left_out = {});

/// Dotted key → value as text.
std::map<std::string, std::string> flat_keys(const Json& config);

/// The first dozen of such lines, indented, and how many more there are.
std::string indented(const std::vector<std::string>& lines);

}  // namespace ffn
