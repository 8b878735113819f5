// Who trains a run: a lock that the system releases when its holder dies, however that happens.
#pragma once

#include <filesystem>
#include <optional>

#include "ffn/store/lock_file.hpp"

namespace ffn {

class RunClaim {
 public:
  /// Takes the run, or returns nothing when another process (or another claim of this one) has it. Creates the directory
  /// that the run's own stands in.
  static std::optional<RunClaim> take(const std::filesystem::path& run);

 private:
  explicit RunClaim(LockFile file) : file_(std::move(file)) {}
  LockFile file_;
};

}  // namespace ffn
