// Which study a directory belongs to while someone works in it. Processes of the same study share it; another study of the
// same name has to wait, and so has whoever wants to move the directory aside.
#pragma once

#include <filesystem>
#include <string>

#include "ffn/base/files.hpp"
#include "ffn/store/lock_file.hpp"

namespace ffn {

class StudyLock {
 public:
  /// `fingerprint` (hexadecimal digits) tells one study from another. With `exclusive` nobody else may be at work. Whoever
  /// comes first removes what killed writing left in the directory. Throws Error with the exit code of an interruption (try
  /// again later) when the directory is taken, SystemError where locks cannot be had or do not hold.
  StudyLock(const std::filesystem::path& directory, const std::string& fingerprint, bool exclusive);

  /// After an exclusive start: lets others of the same study in.
  void share();

  /// Whether nobody else was at work, as far as locks tell.
  bool was_first() const { return was_first_; }

  /// Whether a process holds the lock of this study. Creates nothing.
  static bool is_taken(const std::filesystem::path& directory);
  /// Whether killed writing left this in a study's directory: a file that is named as one of the study's on its way, and begins like one.
  static bool is_leftover(const DirectoryEntry& entry);
  /// Whether killed writing left something in the directory.
  static bool has_leftovers(const std::filesystem::path& directory);

 private:
  LockFile file_;
  bool was_first_ = false;
};

}  // namespace ffn
