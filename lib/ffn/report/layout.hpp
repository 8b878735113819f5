// Making text and tables fit the terminal. A width of 0 is as wide as it takes.
#pragma once

#include <string>
#include <vector>

#include "ffn/report/table.hpp"

namespace ffn {

int widest_line(const std::string& text);

/// A line in as many as it takes, broken at blanks; a word that is longer stays whole. All but the first stand as far in as the first does,
/// and `hanging` columns further.
std::vector<std::string> wrapped_lines(const std::string& line, int width, int hanging = 0);
/// The same of each line of a text.
std::string wrapped(const std::string& text, int width, int hanging = 0);

/// Whether the table has room, its widest column of words in several lines where need be.
bool has_room(const Table& table, int width);
/// The table where it fits; otherwise each row is a paragraph of "header: cell", empty cells left out.
std::string laid_out(const Table& table, int width, bool color);

/// Lines that belong together, and the columns of the widest.
struct Block {
  std::vector<std::string> lines;
  std::size_t width;
};

/// Beside each other where there is room, else in as many rows as it takes, a blank line between them.
std::string beside_each_other(const std::vector<Block>& blocks, int width);

}  // namespace ffn
