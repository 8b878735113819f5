// Earlier results and damaged runs step aside under another name; `clean` removes what stands under such names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "ffn/base/marked_names.hpp"

namespace ffn {

/// Renames `path` to the first free "path.old-N" (by `mark`) and returns the new name.
std::filesystem::path move_aside(const std::filesystem::path& path, const std::string& mark = kAsideMark);

/// Something that `clean` may remove.
struct Leftover {
  std::filesystem::path path;
  std::uintmax_t bytes = 0;
  std::string foreign;  ///< a file in it that ffn-train does not write: then it stays. Empty if there is none.
};
/// By path: earlier results, damaged runs, what killed commands left. Links are not followed.
std::vector<Leftover> find_leftovers(const std::filesystem::path& directory);
/// Removes it whole, or so that the next find_leftovers() finds the rest.
void remove_leftover(const std::filesystem::path& path);

/// Whether a directory is a run's or a study's, or has one below it.
bool holds_results(const std::filesystem::path& directory);

/// Whether it is a run's or a study's directory, or the one that runs stand in: NAME, STUDY or STUDY/LABEL, and none around those.
bool is_results_directory(const std::filesystem::path& directory);

/// The files that `rm` takes from a results directory, in the order in which they go, and those that stay. Links are not followed.
struct Removal {
  std::vector<std::filesystem::path> files, directories;
  std::vector<std::filesystem::path> others;  ///< files, links and directories that ffn-train does not write
  std::vector<std::filesystem::path> runs;    ///< directories of runs
  std::uintmax_t bytes = 0;                   ///< of the files
};
Removal removal_of(const std::filesystem::path& directory);
/// Directories that hold something else stay.
void remove_results(const Removal& removal);

/// A file in a directory that no run or study leaves there. Empty if there is none.
std::string foreign_in(const std::filesystem::path& directory);

/// Bytes of all regular files below a path, or of the file itself. Throws ReadError for a directory that cannot be read.
std::uintmax_t bytes_below(const std::filesystem::path& path);

}  // namespace ffn
