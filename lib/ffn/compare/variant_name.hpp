// The names that variants of a sweep get.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ffn {

/// "kind=gated+activation=silu" → {kind, gated}, {activation, silu}; nothing for a name of another form.
std::vector<std::pair<std::string, std::string>> parts_of_variant(const std::string& name);

}  // namespace ffn
