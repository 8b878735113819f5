#include "ffn/report/fit.hpp"

#include <algorithm>
#include <sstream>

#include "ffn/core/utf8.hpp"

namespace ffn {

int widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, display_width(line));
  return static_cast<int>(widest);
}

namespace {

Table without_column(const Table& table, std::size_t dropped) {
  const auto keep = [&](const auto& all) {
    auto some = all;
    some.erase(some.begin() + static_cast<std::ptrdiff_t>(dropped));
    return some;
  };
  Table out(keep(table.columns()));
  for (std::size_t i = 0; i < table.num_rows(); ++i) {
    out.add_row(keep(table.rows()[i]));
    if (table.is_highlighted(i)) out.highlight_last_row();
  }
  return out;
}

}  // namespace

Table fitted(Table table, int width, const std::vector<std::string>& droppable, std::vector<std::string>& left_out) {
  for (const auto& header : droppable) {
    if (width <= 0 || widest_line(table.terminal_text(false)) <= width) break;
    for (std::size_t i = 0; i < table.columns().size(); ++i) {
      if (table.columns()[i].header != header) continue;
      table = without_column(table, i);
      left_out.push_back(header);
      break;
    }
  }
  return table;
}

Table narrowed(const Table& table, int width) {
  std::vector<std::size_t> widths;
  for (const auto& column : table.columns()) widths.push_back(display_width(column.header));
  for (const auto& row : table.rows()) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  constexpr std::size_t kLeast = 8;
  const auto total = [&] {
    std::size_t sum = 2 * (widths.size() - 1);
    for (const auto w : widths) sum += w;
    return sum;
  };
  while (total() > static_cast<std::size_t>(width)) {
    const auto widest = std::max_element(widths.begin(), widths.end());
    if (*widest <= kLeast) break;
    --*widest;
  }
  const auto cut = [&](std::vector<std::string> cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = clipped(cells[i], widths[i]);
    return cells;
  };
  std::vector<Column> columns = table.columns();
  for (std::size_t i = 0; i < columns.size(); ++i) columns[i].header = clipped(columns[i].header, widths[i]);
  Table out(columns);
  for (std::size_t i = 0; i < table.num_rows(); ++i) {
    out.add_row(cut(table.rows()[i]));
    if (table.is_highlighted(i)) out.highlight_last_row();
  }
  return out;
}

}  // namespace ffn
