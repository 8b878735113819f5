// What steps aside under another name, and how it is found again with what killed copies left, as far as it is ffn-train's own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "ffn/base/marked_names.hpp"

namespace ffn {

/// Renames `path` to the first free "path.old-N" and returns the new name.
std::filesystem::path move_aside(const std::filesystem::path& path);

/// Whether a directory, or one below it, has a file that can be read as one of a run or study.
bool holds_results(const std::filesystem::path& directory);

/// For whoever is about to move results aside on request: throws DataError where there is something else that has their name.
void require_results(const std::filesystem::path& directory);

/// Moves it aside where a directory stands in the place of a file, which could not be written there.
void make_room_for_file(const std::filesystem::path& path);

struct MovedAside {
  std::filesystem::path path;
  std::uintmax_t bytes = 0;
  /// What is in it that no run or study leaves there (a link, a file of the user's): such a one is not ours to remove. Empty if all
  /// is ours. Where no file can be read as one of a run or study, the first of those that are only named so.
  std::string foreign;
  bool is_ours = true;  ///< whether any file of a run or study in it can be read
};

/// Where this process writes a copy of a run before it appears: "seed-0.tmp-4711".
std::filesystem::path incoming_path(const std::filesystem::path& run);
/// "seed-0" of such a name, "" of any other.
std::string run_of_incoming(const std::string& name);
inline bool is_incoming_run(const std::string& name) { return !run_of_incoming(name).empty(); }

/// Whether what has this name is no result wherever it lies: moved aside, or a copy of a run that is not whole yet.
inline bool is_never_a_result(const std::string& name) { return is_moved_aside(name) || is_incoming_run(name); }

/// The same in a study's own directory and in a run's, where anything half written or hidden is none either. Elsewhere such a name may be
/// a person's.
bool is_no_result(const std::string& name);

/// By path, with the runs that somebody began to copy (and may still be at). Links are not followed, and what lies in something that was
/// moved aside is part of it.
std::vector<MovedAside> find_moved_aside(const std::filesystem::path& directory);

/// What a directory holds that no run or study leaves there: the first such path, or why it cannot be looked for. Empty if all is ours.
std::string foreign_in(const std::filesystem::path& directory);

/// Bytes of all regular files below a path, or of the file itself; what cannot be read counts as nothing.
std::uintmax_t bytes_below(const std::filesystem::path& path);

}  // namespace ffn
