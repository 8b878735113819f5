// Tables of text as RFC 4180 has them: quoted cells with line ends and doubled quotes in them; separated by commas, semicolons or tabs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ffn {

struct Csv {
  std::vector<std::string> columns;            ///< their names
  std::vector<std::vector<std::string>> rows;  ///< of as many cells
  std::vector<std::int64_t> lines;             ///< where each row begins in the file
};

/// The bytes of a table's file. Throws DataError if there is none, and for more than a gigabyte.
std::string text_of_table(const std::string& file);

/// `columns`: of a file without a header line; the first line has the names if there are none, "" where it has one fewer than the next
/// line. Blanks around a cell that is not quoted do
/// not count, and neither do empty lines. Throws DataError with `file` and the line for a row of another width than the first and for
/// quotes that do not close.
Csv parse_csv(const std::string& text, const std::vector<std::string>& columns, const std::string& file);

}  // namespace ffn
