#include "ffn/store/run_claim.hpp"

#include "ffn/base/files.hpp"
#include "ffn/base/hash.hpp"

namespace ffn {

// The same in every version and build, which may all be at work in one directory. 60 bits: no two runs share a byte.
static std::int64_t byte_of(const std::string& name) { return std::stoll(sha256_hex(name).substr(0, 15), nullptr, 16); }

std::optional<RunClaim> RunClaim::take(const std::filesystem::path& run) {
  // Beside the run's directory, not in it: a directory that is moved aside must not take the lock along. One file for all
  // runs beside each other, each of which has a byte of it (that need not exist): a file for each would be a tenth of all
  // files that a study creates.
  if (!path_exists(run.parent_path())) make_directories(run.parent_path());
  LockFile file(run.parent_path() / ".lock");
  if (!file.try_lock(LockFile::Hold::alone, byte_of(run.filename().string()))) return std::nullopt;
  return RunClaim(std::move(file));
}

}  // namespace ffn
