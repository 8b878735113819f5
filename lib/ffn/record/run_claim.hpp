// Who trains a run: an advisory lock that the system releases when its holder dies, however that happens.
#pragma once

#include <filesystem>
#include <optional>

namespace ffn {

class RunClaim {
 public:
  /// Takes the run, or returns nothing when another process (or another claim of this one) has it. Creates the directory.
  static std::optional<RunClaim> take(const std::filesystem::path& run);

  RunClaim(RunClaim&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  RunClaim& operator=(RunClaim&&) = delete;
  ~RunClaim();

 private:
  explicit RunClaim(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace ffn
