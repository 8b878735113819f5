// Small helpers around files and their errors.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ffn::record_detail {

/// A name from a file that may be damaged: quoted, of bounded length, without raw bytes.
std::string shown(const std::string& name);

/// "source: problem", or "source: 3 problems" and one line each.
inline std::string problem_list(const std::string& source, const std::vector<std::string>& problems) {
  if (problems.size() == 1) return source + ": " + problems[0];
  std::string text = source + ": " + std::to_string(problems.size()) + " problems";
  for (const auto& problem : problems) text += "\n  " + problem;
  return text;
}

}  // namespace ffn::record_detail
