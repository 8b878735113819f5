// A table for the terminal, for Markdown and for CSV.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace ffn {

enum class Align { left, right };

struct Column {
  std::string header;
  Align align = Align::left;
};

/// RFC 4180: CRLF at the end of the line; quotes where a cell has a comma, quote or line break.
std::string csv_line(const std::vector<std::string>& cells);

/// Line breaks and tabs are blanks, other controls '?'.
std::string on_one_line(std::string text);

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// One cell per column; anything else is a std::invalid_argument.
  void add_row(std::vector<std::string> cells);
  /// The row added last stands out: bold in a coloured terminal and in Markdown.
  void highlight_last_row();

  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<std::vector<std::string>>& rows() const { return rows_; }
  std::size_t num_rows() const { return rows_.size(); }
  bool is_highlighted(std::size_t row) const { return highlighted_[row]; }

  /// Columns two spaces apart, no trailing blanks; the header bold where there is colour. Line breaks and tabs become
  /// blanks, other controls '?': a cell cannot break the table or speak to the terminal.
  std::string terminal_text(bool color) const;
  /// The same in columns of these widths: a cell that is wider goes on in the lines below.
  std::string terminal_text(bool color, const std::vector<std::size_t>& widths) const;
  /// The width of each column with every cell on one line.
  std::vector<std::size_t> widths() const;
  /// A GitHub table: headers, alignment row, rows.
  std::string markdown() const;
  /// A csv_line() for the headers and for each row.
  std::string csv() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<bool> highlighted_;
};

}  // namespace ffn
