// Tables of runs as their files have them: CSV, JSON lines, charts, event files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ffn {

using RowCells = std::vector<std::string>;  ///< of a row, or of the line of names

/// Rows of text cells under the union of the files' columns.
struct RunRows {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> places;  ///< of each row, "runs.csv:3"
  std::vector<std::string> notes;
};

/// Reads the files ("-" is stdin); of several, a column "file" says which. A W&B chart export, with a column per run, becomes a row per run
/// and step, and so does a directory of event files, whose runs are called as their directories. Throws DataError with the place of what
/// cannot be read.
RunRows read_run_rows(const std::vector<std::string>& files);

/// "runs/" → "runs": files beside a directory begin with its name.
std::filesystem::path without_slash(const std::filesystem::path& path);

bool ends_with(const std::string& text, const std::string& end);

}  // namespace ffn
