#include "ffn/data/csv.hpp"

#include <algorithm>
#include <filesystem>

#include "ffn/base/error.hpp"
#include "ffn/base/files.hpp"
#include "ffn/data/corpus.hpp"

namespace ffn {

namespace {

class CsvReader {
 public:
  CsvReader(const std::string& text, const std::string& file) : text_(text), file_(file) {}

  /// Finds the separator: what the first line has most of, or what makes `columns` cells of it; or what Excel names above it, "sep=;".
  void find_separator(std::size_t columns) {
    if (text_.compare(0, 4, "sep=") == 0 && text_.size() > 5 && is_line_end(text_[5])) {
      separator_ = text_[4];
      at_ = 5;
      take_line_end();
      return;
    }
    std::size_t most = 0;
    for (const char candidate : {',', ';', '\t'}) {
      std::size_t count = 0;
      bool quoted = false;
      for (std::size_t i = 0; i < text_.size() && (quoted || !is_line_end(text_[i])); ++i) {
        if (text_[i] == '"') quoted = !quoted;
        count += !quoted && text_[i] == candidate;
      }
      if (count > most && most + 1 != columns) {
        most = count;
        separator_ = candidate;
      }
      if (count + 1 == columns) separator_ = candidate;
    }
  }

  /// The cells of the next row that is not an empty line; false at the end.
  bool read_row(std::vector<std::string>& cells) {
    do {
      if (at_ == text_.size()) return false;
      row_line_ = line_;
      cells.clear();
      do cells.push_back(read_cell());
      while (take(separator_));
      take_line_end();
    } while (cells.size() == 1 && cells[0].empty());
    return true;
  }

  std::int64_t row_line() const { return row_line_; }

  [[noreturn]] void fail(std::int64_t line, const std::string& what, const std::string& hint) const {
    throw DataError(file_ + ":" + std::to_string(line) + ": " + what, hint);
  }

 private:
  static bool is_line_end(char c) { return c == '\n' || c == '\r'; }
  bool is_blank(char c) const { return c == ' ' || (c == '\t' && separator_ != '\t'); }

  bool take(char c) {
    const bool is_next = at_ < text_.size() && text_[at_] == c;
    at_ += is_next;
    return is_next;
  }

  // "\r\n" is one.
  void take_line_end() {
    const bool carriage_return = take('\r');
    line_ += take('\n') || carriage_return;
  }

  std::string read_cell() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    if (take('"')) return read_quoted();
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != separator_ && !is_line_end(text_[at_])) ++at_;
    std::size_t end = at_;
    while (end > begin && is_blank(text_[end - 1])) --end;
    return text_.substr(begin, end - begin);
  }

  std::string read_quoted() {
    const std::int64_t opened = line_;
    std::string cell;
    for (;;) {
      if (at_ == text_.size()) fail(opened, "a quoted cell does not end", "close it with \"; a quote within quotes is written \"\"");
      if (is_line_end(text_[at_])) {
        const std::size_t begin = at_;
        take_line_end();
        cell.append(text_, begin, at_ - begin);
      } else if (!take('"')) {
        cell += text_[at_++];
      } else if (take('"')) {
        cell += '"';
      } else {
        break;
      }
    }
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    if (at_ < text_.size() && text_[at_] != separator_ && !is_line_end(text_[at_]))
      fail(line_, "text behind the quote that ends a cell", "a quote within quotes is written \"\"");
    return cell;
  }

  const std::string& text_;
  const std::string& file_;
  char separator_ = ',';
  std::size_t at_ = 0;
  std::int64_t line_ = 1, row_line_ = 1;
};

std::string cells_text(std::size_t count) { return std::to_string(count) + (count == 1 ? " cell" : " cells"); }

}  // namespace

std::string text_of_table(const std::string& file) {
  constexpr std::uintmax_t kMostBytes = std::uintmax_t{1} << 30;
  if (!path_exists(file))
    throw DataError("no table at " + file,
                    "task.file=… names one of yours; `ffn-train cp table DIR` writes the shipped config with its table; "
                    "in a checkout, python3 scripts/experimenting/tables.py unpacks those of experiments/tables");
  std::error_code error;
  if (const auto bytes = std::filesystem::file_size(file, error); !error && bytes > kMostBytes)
    throw DataError(
        file + ": the table has " + std::to_string(bytes >> 20) + " MiB; at most " + std::to_string(kMostBytes >> 20) + " are read",
        "take a part of its rows");
  return text_of_file(file, "table");
}

Csv parse_csv(const std::string& text, const std::vector<std::string>& columns, const std::string& file) {
  Csv out;
  out.columns = columns;
  CsvReader reader(text, file);
  reader.find_separator(columns.size());
  std::vector<std::string> cells;
  if (columns.empty() && reader.read_row(cells)) out.columns = std::move(cells);
  while (reader.read_row(cells)) {
    out.rows.push_back(std::move(cells));
    out.lines.push_back(reader.row_line());
  }
  const auto is_longer = [&](const auto& row) { return row.size() == out.columns.size() + 1; };
  const auto has_last = [](const auto& row) { return !row.back().empty(); };  // no separator that ends each row
  // R's write.table gives row names no column in the first line.
  if (columns.empty() && std::all_of(out.rows.begin(), out.rows.end(), is_longer) &&
      std::any_of(out.rows.begin(), out.rows.end(), has_last))
    out.columns.insert(out.columns.begin(), "");
  for (std::size_t row = 0; row < out.rows.size(); ++row) {
    if (const auto count = out.rows[row].size(); count != out.columns.size())
      reader.fail(out.lines[row], cells_text(count) + " in a table of " + std::to_string(out.columns.size()) + " columns",
                  "every row has a cell for each column; a cell with the separator in it is quoted");
  }
  return out;
}

}  // namespace ffn
