// Marks in the names of files and directories that hold no results: what was renamed (earlier results, damaged runs), and what is being
// written. No run, study or variant has such a name.
#pragma once

#include <string>

namespace ffn {

inline constexpr char kAsideMark[] = ".old-", kDamagedMark[] = ".damaged-", kTemporaryMark[] = ".tmp-";

/// Earlier results or a damaged run: "xor.old-1", "seed-0.1a2b3c4d.damaged-1".
inline bool is_moved_aside(const std::string& name) {
  return name.find(kAsideMark) != std::string::npos || name.find(kDamagedMark) != std::string::npos;
}

/// Half written, or was when its process was killed: "run.json.tmp-4711-0", "seed-0.1a2b3c4d.tmp-4711".
inline bool is_temporary(const std::string& name) { return name.find(kTemporaryMark) != std::string::npos; }

inline bool is_no_result(const std::string& name) { return is_moved_aside(name) || is_temporary(name) || name[0] == '.'; }

}  // namespace ffn
