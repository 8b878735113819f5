#include "ffn/report/table.hpp"

#include <algorithm>
#include <stdexcept>

#include "ffn/base/text.hpp"
#include "ffn/report/layout.hpp"
#include "ffn/report/terminal.hpp"

namespace ffn {
namespace {

using Cells = std::vector<std::string>;

std::string padded(const std::string& text, std::size_t width, Align align) {
  const std::string blanks(width - std::min(width, display_width(text)), ' ');
  return align == Align::left ? text + blanks : blanks + text;
}

std::string terminal_line(const Cells& cells, const std::vector<Column>& columns, const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += "  ";
    line += padded(cells[i], widths[i], columns[i].align);
  }
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

std::string terminal_lines(const Cells& cells, const std::vector<Column>& columns, const std::vector<std::size_t>& widths, bool bold) {
  std::vector<Cells> cut;
  std::size_t height = 1;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cut.push_back(wrapped_lines(on_one_line(cells[i]), static_cast<int>(widths[i])));
    height = std::max(height, cut.back().size());
  }
  std::string out;
  for (std::size_t line = 0; line < height; ++line) {
    Cells parts;
    for (const auto& cell : cut) parts.push_back(line < cell.size() ? cell[line] : "");
    out += styled(terminal_line(parts, columns, widths), Style::bold, bold) + "\n";
  }
  return out;
}

std::string markdown_cell(const std::string& text, bool bold) {
  std::string out;
  for (const char c : on_one_line(text)) {
    if (c == '|') out += '\\';  // would end the cell
    out += c;
  }
  return bold && !out.empty() ? "**" + out + "**" : out;
}

std::string markdown_line(const Cells& cells, bool bold) {
  std::string line = "|";
  for (const auto& cell : cells) line += " " + markdown_cell(cell, bold) + " |";
  return line + "\n";
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

Cells headers(const std::vector<Column>& columns) {
  Cells out;
  for (const auto& column : columns) out.push_back(column.header);
  return out;
}

}  // namespace

std::string on_one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\t' || c == '\r') c = ' ';
  }
  return printable(text);
}

std::string csv_line(const Cells& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) line += (i > 0 ? "," : "") + csv_cell(cells[i]);
  return line + "\r\n";
}

void Table::add_row(std::vector<std::string> cells) {
  if (cells.size() != columns_.size()) {
    throw std::invalid_argument("a row of " + std::to_string(cells.size()) + " cells in a table of " + std::to_string(columns_.size()) +
                                " columns");
  }
  rows_.push_back(std::move(cells));
  highlighted_.push_back(false);
}

void Table::highlight_last_row() {
  if (rows_.empty()) throw std::invalid_argument("no row to highlight");
  highlighted_.back() = true;
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    widths.push_back(std::max<std::size_t>(1, display_width(columns_[i].header)));
    for (const auto& row : rows_) widths[i] = std::max(widths[i], display_width(on_one_line(row[i])));
  }
  return widths;
}

std::string Table::terminal_text(bool color) const { return terminal_text(color, widths()); }

std::string Table::terminal_text(bool color, const std::vector<std::size_t>& widths) const {
  std::string out = terminal_lines(headers(columns_), columns_, widths, color);
  for (std::size_t r = 0; r < rows_.size(); ++r) out += terminal_lines(rows_[r], columns_, widths, color && highlighted_[r]);
  return out;
}

std::string Table::markdown() const {
  std::string out = markdown_line(headers(columns_), false) + "|";
  for (const auto& column : columns_) out += column.align == Align::right ? "---:|" : "---|";
  out += "\n";
  for (std::size_t r = 0; r < rows_.size(); ++r) out += markdown_line(rows_[r], highlighted_[r]);
  return out;
}

std::string Table::csv() const {
  std::string out = csv_line(headers(columns_));
  for (const auto& row : rows_) out += csv_line(row);
  return out;
}

}  // namespace ffn
