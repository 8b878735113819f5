#include "ffn/study/study_lock.hpp"

#include <unistd.h>

#include <fstream>
#include <vector>

#include "ffn/base/files.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

using Hold = LockFile::Hold;

// Beside the directory, so that moving it aside does not take the lock along.
fs::path path_of(const fs::path& directory) {
  make_directories(directory.parent_path());
  return directory.parent_path() / ("." + directory.filename().string() + ".lock");
}

// What a study writes here, whole or, after a full disk, in part; a file with anything else in it is not ours to write to.
bool is_fingerprint(const std::string& text) {
  return text.size() <= 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

[[noreturn]] void refuse(const std::string& who, const fs::path& directory) {
  throw Error(ExitCode::interrupted, who + " is at work in " + directory.string(),
              "wait for it, or give this one another name=… or -o DIR");
}

// "study.json.tmp-4711-0", as FileGroup names what it writes: with the process and a number.
bool is_name_of_leftover(const std::string& name) {
  const auto is_number = [](const std::string& text) { return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos; };
  for (const std::string before : {"study.json.tmp-", "study.json.bak.tmp-", "compare.json.tmp-"}) {
    if (name.rfind(before, 0) != 0) continue;
    const auto dash = name.find('-', before.size());
    return dash != std::string::npos && is_number(name.substr(before.size(), dash - before.size())) && is_number(name.substr(dash + 1));
  }
  return false;
}

// Not every temporary: what is not ours is not touched.
std::vector<fs::path> leftovers(const fs::path& directory) {
  std::vector<fs::path> found;
  for (const auto& entry : entries_of(directory)) {
    if (StudyLock::is_leftover(entry)) found.push_back(entry.path);
  }
  return found;
}

}  // namespace

StudyLock::StudyLock(const fs::path& directory, const std::string& fingerprint, bool exclusive) : file_(path_of(directory)) {
  if (!is_fingerprint(file_.content())) {
    throw SystemError(file_.path().string() + " should be a lock file and is not: something else wrote to it",
                      "move it away if you can spare it, or let the results go elsewhere with -o DIR");
  }
  const bool alone = file_.try_lock(Hold::alone);
  was_first_ = alone;
  if (!alone && exclusive) refuse("another process", directory);
  // Someone is there; their fingerprint stands in the file before they share it.
  for (int attempt = 0; !alone && !file_.try_lock(Hold::shared); ++attempt) {
    if (attempt == 50) refuse("another process", directory);
    ::usleep(20'000);
  }
  if (locks_are_needed()) {
    if (const std::string why = file_.why_locks_do_not_hold(); !why.empty()) {
      throw SystemError("locks do not hold on the file system of " + directory.string() + ": " + why + ", so two may train the same run",
                        kWithoutLocksHint);
    }
  }
  if (alone) {
    if (file_.content() != fingerprint) file_.write(fingerprint);
    std::error_code error;
    for (const auto& file : locks_are_needed() ? leftovers(directory) : std::vector<fs::path>()) fs::remove(file, error);
    if (!exclusive) share();
  } else if (file_.content() != fingerprint) {
    refuse("another study of this name", directory);
  }
}

void StudyLock::share() { file_.try_lock(Hold::shared); }

bool StudyLock::is_taken(const fs::path& directory) {
  return is_locked(directory.parent_path() / ("." + directory.filename().string() + ".lock"));
}

bool StudyLock::is_leftover(const DirectoryEntry& entry) {
  if (entry.type != fs::file_type::regular || !is_name_of_leftover(entry.path.filename().string())) return false;
  const std::string beginning = "{\n  \"schema_version\": ";
  std::string text(beginning.size(), '\0');
  std::ifstream in(entry.path, std::ios::binary);
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  return in.rdbuf()->is_open() &&
         beginning.compare(0, static_cast<std::size_t>(in.gcount()), text, 0, static_cast<std::size_t>(in.gcount())) == 0;
}

bool StudyLock::has_leftovers(const fs::path& directory) { return !leftovers(directory).empty(); }

}  // namespace ffn
