// How people write numbers, gaps and dates in a cell of a table.
#pragma once

#include <optional>
#include <string>

namespace ffn {

/// A finite number, written as JSON writes it, or with a plus sign before it.
std::optional<double> number_in(const std::string& cell);

/// "3,5" or "1,234"
bool has_comma_in_number(const std::string& cell);

/// An empty cell, or a word that other programs write for one.
bool stands_for_gap(const std::string& cell);

/// The name of another way to write a number ("a percentage", "a date"); empty where there is none.
std::string notation_of(const std::string& cell);

/// True of a whole number beyond those that a double has, as 9007199254740993 is; `number` is what was read.
bool is_rounded(const std::string& cell, double number);

}  // namespace ffn
