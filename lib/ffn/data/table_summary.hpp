// Rows and columns of a table beside each other: what repeats, and the table in one line.
#pragma once

#include <string>
#include <vector>

#include "ffn/data/table_columns.hpp"

namespace ffn {

/// "a, b, c" of few names; of many the first, and how many more there are.
std::string few_of(std::vector<std::string> names);

/// DataTable::first_alike of these cells.
std::vector<std::uint32_t> first_alike(const DataTable& table);

/// True where each value of one goes with one value of the other.
bool is_recoded(const std::vector<double>& column, const std::vector<double>& target);

/// "150 rows; numbers: a, b; categories: color (3); label: species (3 classes)"
std::string describe_table(const DataTable& table, const TableConfig& config);

}  // namespace ffn
