// Reading files with clear errors and writing them so that a crash leaves the old or the new content.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ffn/base/descriptor.hpp"
#include "ffn/base/error.hpp"

namespace ffn {

/// The whole content of a regular file. `what` names its role in errors ("config", "text file").
/// Throws UsageError or DataError (by `code`) for a missing file, a directory, a pipe or device, a file over `max_bytes` (by its
/// size, before anything is read); UsageError or ReadError for an error of reading.
std::string read_file(const std::filesystem::path& path, const std::string& what, ExitCode code, std::uintmax_t max_bytes);

/// The same; nothing where there is no such file.
std::optional<std::string> read_file_if_there(const std::filesystem::path& path, const std::string& what, ExitCode code,
                                              std::uintmax_t max_bytes);

/// The same for what a person named, which may be a pipe, a device or, as "-", stdin.
std::string read_input(const std::filesystem::path& path, const std::string& what, ExitCode code, std::uintmax_t max_bytes);

/// std::filesystem's, with an error that says what to do where the current directory was removed.
std::filesystem::path current_directory();
/// As std::filesystem::absolute; an empty path is the current directory.
std::filesystem::path absolute_path(const std::filesystem::path& path);

/// The path with the user's home directory for a leading "~/", which a shell leaves where it stands behind a "=".
std::string expand_home(const std::string& path);

// Queries of paths. A path is absent only if the system says ENOENT, ENOTDIR or ENAMETOOLONG. Every other refusal throws ReadError, which
// names the path, because taking an unreadable file for an absent one changes answers.

/// Through links, as stat(2); `not_found` where nothing is.
std::filesystem::file_type type_of(const std::filesystem::path& path);
/// The type of a link itself, as lstat(2).
std::filesystem::file_type link_type_of(const std::filesystem::path& path);
/// Through links: a link that leads nowhere does not exist.
bool path_exists(const std::filesystem::path& path);
bool directory_exists(const std::filesystem::path& path);

struct DirectoryEntry {
  std::filesystem::path path;
  std::filesystem::file_type type;  ///< as link_type_of(path)
};
/// Sorted by name; none where there is no such directory.
std::vector<DirectoryEntry> entries_of(const std::filesystem::path& directory);
/// Whether `holds` is true of anything below the directory, links not followed. A directory comes before what is in it.
bool any_entry_below(const std::filesystem::path& directory, const std::function<bool(const DirectoryEntry&)>& holds);

/// Whether a write waits until the disk has the bytes and the file's name (milliseconds): worth it for what took work to
/// compute. Without it a killed process still loses nothing; a power failure may cost the file.
enum class Durability { flushed, cached };

/// Writes to a temporary file in the same directory, flushes it, renames it over `path` and flushes the directories above: a
/// reader, or a crash at any moment, sees the old content or the new, never a part; after the return, the new.
void write_file_atomically(const std::filesystem::path& path, const std::string& bytes, Durability durability = Durability::flushed);

/// Files that are flushed together and then appear one after the other: many of them cost one wait for the disk instead of
/// one each. Each is written as by write_file_atomically; a reader that finds one in its place also finds those before it
/// (after a power failure, too, on a file system that keeps the order of renames, as the journaling ones do).
class FileGroup {
 public:
  FileGroup() = default;
  ~FileGroup() { discard(); }
  FileGroup(const FileGroup&) = delete;
  FileGroup& operator=(const FileGroup&) = delete;

  /// Into a temporary; `path` itself changes with commit().
  void write(const std::filesystem::path& path, const std::string& bytes, Durability durability = Durability::flushed);
  /// The group is empty afterwards. When it throws, what has not appeared never will.
  void commit();
  bool empty() const { return files_.empty(); }

 private:
  struct File {
    std::filesystem::path temporary, path;
  };
  struct Unflushed {
    std::filesystem::path path;
    Descriptor descriptor;  // as it was written, or closed since
  };

  Descriptor keep_or_close(Descriptor file, const std::filesystem::path& path);
  void flush(Unflushed& file);
  void discard() noexcept;
  void forget() noexcept;

  std::vector<File> files_;  // in the order in which they appear
  std::vector<Unflushed> to_flush_;
  std::vector<std::filesystem::path> places_;  // directories of flushed files
  std::size_t kept_open_ = 0;
};

/// With a group the file appears when that is committed, without one at once.
inline void write_file(const std::filesystem::path& path, const std::string& bytes, Durability durability, FileGroup* group) {
  if (group) group->write(path, bytes, durability);
  else write_file_atomically(path, bytes, durability);
}

/// Removes temporaries that a killed process left in a directory, of all files or of one, of at least some age. A process that is still
/// writing one fails to put its file in place.
void remove_temporaries(const std::filesystem::path& directory, const std::string& file = "", std::chrono::hours age = {});

/// Creates a directory and its parents; false if it was there. Throws SystemError naming the path and the reason.
bool make_directories(const std::filesystem::path& path);
/// The last one alone: that its parent is missing is an error, too.
bool make_directory(const std::filesystem::path& path);

}  // namespace ffn
