// Making a table fit the terminal.
#pragma once

#include <string>
#include <vector>

#include "ffn/report/table.hpp"

namespace ffn {

int widest_line(const std::string& text);

/// Without the columns of these headers, the first first, until it fits into `width` (0: as wide as it takes); those that went are
/// added to `left_out`.
Table fitted(Table table, int width, const std::vector<std::string>& droppable, std::vector<std::string>& left_out);

/// Cells cut until the table fits, those of the widest column first.
Table narrowed(const Table& table, int width);

}  // namespace ffn
