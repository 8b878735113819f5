// Scalars of TensorBoard's event files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace ffn {

/// A run, as one directory's event files have it: step → tag → the number as text. The last of several at one step counts.
struct LoggedRun {
  std::filesystem::path directory;
  std::map<std::int64_t, std::map<std::string, std::string>> scalars;
};

/// The runs below a directory, sorted by name. A file that ends within a record is still being written, or its program was killed: what
/// comes before is read. Throws DataError where bytes have changed, and where there is no event file.
std::vector<LoggedRun> read_event_files(const std::filesystem::path& directory);

}  // namespace ffn
