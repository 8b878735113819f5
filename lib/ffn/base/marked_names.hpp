// Marks in the names of files and directories that ffn-train gives to what is no result: what it moved aside, and what it is writing. No
// run, study or variant is called so.
#pragma once

#include <string>

namespace ffn {

inline constexpr char kAsideMark[] = ".old-", kTemporaryMark[] = ".tmp-";

/// Whether it was moved aside (record/moved_aside): "seed-0.old-1".
inline bool is_moved_aside(const std::string& name) { return name.find(kAsideMark) != std::string::npos; }

/// Whether it is half written, or was when its process was killed: "status.json.tmp-4711-0", "seed-0.tmp-4711".
inline bool is_temporary(const std::string& name) { return name.find(kTemporaryMark) != std::string::npos; }

}  // namespace ffn
