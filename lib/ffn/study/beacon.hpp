// A sign of life in a study's directory, for processes of other machines to which our locks may not reach.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>

namespace ffn {

/// A small file whose content changes every few seconds while its process lives. Nobody's clock matters: what counts is that
/// it changes.
class Beacon {
 public:
  /// Creates the directory and the file.
  explicit Beacon(const std::filesystem::path& directory);
  ~Beacon();
  Beacon(const Beacon&) = delete;
  Beacon& operator=(const Beacon&) = delete;

  /// To be called often; does nothing in a forked process. Does not make a file again that was removed.
  void beat();

  /// The name of another process that is alive in the directory, or empty. Waits for signs of life if there are others'
  /// files, and removes those of the dead. For whoever holds the study's lock and has found nobody with it.
  std::string other_alive(std::chrono::milliseconds patience = std::chrono::seconds(10));

 private:
  void write();

  std::filesystem::path path_;
  std::string machine_;
  pid_t pid_;
  std::int64_t beats_ = 0;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace ffn
