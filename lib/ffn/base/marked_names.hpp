// Names of files and directories. Marks of those that hold no results: what was renamed (earlier results, damaged runs), and what is
// being written; no run, study or variant has such a name. And the identity at the end of a run directory's name.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ffn {

inline constexpr char kAsideMark[] = ".old-", kDamagedMark[] = ".damaged-", kTemporaryMark[] = ".tmp-";

/// Earlier results or a damaged run: "xor.old-1", "seed-0.1a2b3c4d.damaged-1".
inline bool is_moved_aside(const std::string& name) {
  return name.find(kAsideMark) != std::string::npos || name.find(kDamagedMark) != std::string::npos;
}

/// Half written, or was when its process was killed: "run.json.tmp-4711-0", "seed-0.1a2b3c4d.tmp-4711".
inline bool is_temporary(const std::string& name) { return name.find(kTemporaryMark) != std::string::npos; }

inline bool is_no_result(const std::string& name) { return is_moved_aside(name) || is_temporary(name) || name[0] == '.'; }

/// At the end of a path: the run of each seed there.
inline constexpr char kEverySeed[] = "seed-*";

inline bool names_every_seed(const std::filesystem::path& path) { return path.filename() == kEverySeed; }

inline constexpr std::size_t kIdentityDigits = 8;

/// The identity at the end of a run directory's name: "1a2b3c4d".
bool is_short_identity(const std::string& text);

/// The directory that a person means by a path without the identity ("runs/xor/seed-0"). Throws UsageError with the candidates where
/// there are several; the path itself where it exists or nothing is meant. What is not here may be below runs/: "three" is runs/three.
std::filesystem::path named_directory(const std::filesystem::path& path);
void to_named_directories(std::vector<std::string>& paths);

}  // namespace ffn
