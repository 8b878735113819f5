// Which study a directory belongs to while someone works in it. Processes of the same study share it; another study of the
// same name has to wait, and so has whoever wants to move the directory aside.
#pragma once

#include <filesystem>
#include <string>

namespace ffn {

class StudyLock {
 public:
  /// `fingerprint` tells one study from another. With `exclusive` nobody else may be at work. Throws Error with the exit
  /// code of an interruption (try again later) when the directory is taken.
  StudyLock(const std::filesystem::path& directory, const std::string& fingerprint, bool exclusive);
  ~StudyLock();
  StudyLock(const StudyLock&) = delete;
  StudyLock& operator=(const StudyLock&) = delete;

  /// After an exclusive start: lets others of the same study in.
  void share();

 private:
  int fd_ = -1;
};

}  // namespace ffn
