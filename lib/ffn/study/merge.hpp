// Unites the directories of one study that several machines trained parts of.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace ffn {

struct MergeResult {
  std::size_t planned = 0, finished = 0;  ///< runs that the study asks for, and those of them that the target has
  std::size_t copied = 0;
  std::vector<std::string> notes;  ///< what was left out or renamed, and why
};

/// Copies finished runs that `target` does not have; it may not exist yet. Sources are never changed. Throws DataError before anything is
/// copied for studies that differ and for a run with two results.
MergeResult merge_studies(std::vector<std::filesystem::path> parts, const std::filesystem::path& target);

}  // namespace ffn
