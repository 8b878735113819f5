// Making text fit the terminal. A width of 0 is as wide as it takes.
#pragma once

#include <string>

#include "ffn/report/table.hpp"

namespace ffn {

int widest_line(const std::string& text);

/// Whether the table can stand in so many columns with no word and no number of a cell or header broken.
bool keeps_words(const Table& table, int width);

/// The table in at most `width` columns: cells go on in the lines below, those of the widest column first; stacked() where a word or a
/// number would have to be broken. Nothing is left out.
std::string folded(const Table& table, int width, bool color);

/// The same in as many tables below each other as it takes, a blank line between them; each begins with the first `num_names` columns.
/// stacked() where one of them would have to break a word.
std::string split(const Table& table, std::size_t num_names, int width, bool color);

/// folded() where no word and no number has to be broken for it, else split().
std::string folded_or_split(const Table& table, std::size_t num_names, int width, bool color);

/// Each cell on a line of its own behind the name of its column, what goes on two columns in; a blank line between rows, empty cells left
/// out. A word is broken where it alone is wider.
std::string stacked(const Table& table, int width, bool color);

/// Lines that belong together, and what the widest of them takes; one with colours is as wide as that.
struct Block {
  std::vector<std::string> lines;
  std::size_t width;
};
Block block_of(std::vector<std::string> lines);

/// The line in as many as it takes, broken at blanks, those between its words kept; all but the first stand `hanging` columns in.
std::vector<std::string> cut_at_blanks(const std::string& line, int width, int hanging);

/// Beside each other where there is room, else in as many rows as it takes, a blank line between them.
std::string beside_each_other(const std::vector<Block>& blocks, int width);

/// Paragraphs as wrapped() makes them, every line after the blanks that its paragraph begins with; the lines that a paragraph goes on
/// in stand `hanging` columns further in.
std::string indented(const std::string& text, int width, int hanging = 0);

}  // namespace ffn
