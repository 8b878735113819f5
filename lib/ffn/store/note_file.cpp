#include "ffn/store/note_file.hpp"

#include <algorithm>
#include <sstream>

#include "ffn/base/files.hpp"
#include "ffn/base/text.hpp"

namespace ffn {
namespace fs = std::filesystem;

std::vector<std::string> read_note(const fs::path& directory) {
  constexpr std::uintmax_t kMaxNoteBytes = 1 << 20;
  std::istringstream text(read_file_if_there(directory / kNoteFile, "note", ExitCode::data, kMaxNoteBytes).value_or(""));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

void add_to_note(const fs::path& directory, const std::vector<std::string>& lines) {
  auto note = read_note(directory);
  const auto before = note.size();
  for (const auto& line : lines) {
    if (std::find(note.begin(), note.end(), line) == note.end()) note.push_back(line);
  }
  if (note.size() > before) write_file_atomically(directory / kNoteFile, join(note, "\n") + "\n");
}

void remove_note(const fs::path& directory) {
  std::error_code error;
  fs::remove(directory / kNoteFile, error);
  if (error) throw SystemError("cannot remove " + (directory / kNoteFile).string() + ": " + error.message());
}

}  // namespace ffn
