// note.txt beside run.json or study.json: what a person wrote about a run or a study. No result rests on it, and no checksum covers it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ffn {

inline constexpr const char* kNoteFile = "note.txt";

/// Its lines; none without one.
std::vector<std::string> read_note(const std::filesystem::path& directory);

/// Adds the lines that it does not have yet.
void add_to_note(const std::filesystem::path& directory, const std::vector<std::string>& lines);

void remove_note(const std::filesystem::path& directory);

}  // namespace ffn
