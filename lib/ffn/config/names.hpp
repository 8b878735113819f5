// Names that people type: keys by their last part, and names that other programs use.
#pragma once

#include <string>
#include <vector>

namespace ffn {

inline constexpr std::size_t kLongestName = 128;  ///< of a run or study: its directory's

/// A path as overrides take it: "model.ffn[moe].top_k" → "model.ffn.top_k".
std::string override_path(const std::string& documented);

/// Every path that an override may set, each once, in the order of the reference.
const std::vector<std::string>& override_paths();

/// Paths that equal `typed` or end in it, at a dot: "lr" → "train.optimizer.lr". Dashes count as underscores.
std::vector<std::string> paths_ending_in(const std::string& typed);

/// "; did you mean model.ffn.activation?" for a key that stands elsewhere, or "".
std::string did_you_mean_path(const std::string& typed);

/// Translates a name that is usual elsewhere to one of `names` ("swish" → "silu") or to a kind ("swiglu" → "kind=gated activation=silu");
/// "" if there is none.
std::string usual_name(const std::string& typed, const std::vector<std::string>& names);

}  // namespace ffn
