// Puts the directories of one study that several machines trained parts of together: a union by identity. Sources are never changed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace ffn {

struct MergeResult {
  std::size_t planned = 0;                         ///< runs that the study asks for
  std::size_t finished = 0, unfinished = 0;        ///< of those, in the target
  std::size_t beside = 0;                          ///< other runs: taken along
  std::map<std::string, std::size_t> copied;       ///< by source directory
  std::map<std::string, std::size_t> computed_by;  ///< finished runs by engine, device and instruction set
  std::map<std::string, std::size_t> versions;     ///< finished runs by version and commit of the program
  std::vector<std::string> notes;                  ///< what was left out, and why
};

/// Whether they are one, or `inner` lies below `outer`.
bool is_within(const std::filesystem::path& inner, const std::filesystem::path& outer);

/// Copies each run's best copy into `target`, which must not exist or be a directory of the same study: a finished run is better than an
/// unfinished one, a further checkpoint than a nearer, one with its curves and weights than one without; damaged ones and links are left
/// out. Nothing is copied unless everything fits: throws DataError for studies that differ and for a run with two different results. Throws
/// Error with the exit code of an interruption while a process is at work in one of the directories.
MergeResult merge_studies(const std::vector<std::filesystem::path>& sources, const std::filesystem::path& target);

}  // namespace ffn
