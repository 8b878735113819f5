// Making text fit the terminal. A width of 0 is as wide as it takes.
#pragma once

#include <string>

#include "ffn/report/table.hpp"

namespace ffn {

int widest_line(const std::string& text);

/// The table in at most `width` columns: cells go on in the lines below, those of the widest column first. Nothing is left out.
std::string folded(const Table& table, int width, bool color);

/// The same in as many tables below each other as it takes, a blank line between them; each begins with the first `num_names` columns.
std::string split(const Table& table, std::size_t num_names, int width, bool color);

/// folded() where no word and no number has to be broken for it, else split().
std::string folded_or_split(const Table& table, std::size_t num_names, int width, bool color);

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
