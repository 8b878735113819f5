// Reading files with clear errors and writing them so that a crash leaves the old or the new content.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "ffn/core/error.hpp"

namespace ffn {

/// The whole content of a regular file. `what` names its role in errors ("config", "text file").
/// Throws UsageError or DataError (by `code`) for a missing file, a directory, a file over `max_bytes`.
std::string read_file(const std::filesystem::path& path, const std::string& what, ExitCode code, std::uintmax_t max_bytes);

/// Whether a write waits until the disk has the bytes (milliseconds): worth it for what took work to compute. Without it a
/// killed process still loses nothing; a power failure may cost the file.
enum class Durability { flushed, cached };

/// Writes to a temporary file in the same directory, flushes it and renames it over `path`: a reader, or a crash at any
/// moment, sees the old content or the new, never a part.
void write_file_atomically(const std::filesystem::path& path, const std::string& bytes, Durability durability = Durability::flushed);

/// Creates a directory and its parents. Throws SystemError naming the path and the reason.
void make_directories(const std::filesystem::path& path);

}  // namespace ffn
