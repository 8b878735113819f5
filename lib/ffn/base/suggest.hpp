// "Did you mean": the nearest name in a list. No dependencies.
#pragma once

#include <string>
#include <vector>

namespace ffn {

/// Optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours.
size_t edit_distance(const std::string& a, const std::string& b);

/// The name nearest to `typed` (upper and lower case count as equal), or "" when nothing is near enough to be worth suggesting:
/// within a third of the length (at least 1, at most 3), or a name that `typed` begins (3 letters or more).
std::string nearest(const std::string& typed, const std::vector<std::string>& names);

/// `; did you mean "x"?` or "". Names that end in what was typed behind a slash are all named: "loss" is train/loss or val/loss.
std::string did_you_mean(const std::string& typed, const std::vector<std::string>& names);

}  // namespace ffn
