#include "ffn/data/table_columns.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "ffn/base/error.hpp"
#include "ffn/base/hash.hpp"
#include "ffn/base/json_document.hpp"
#include "ffn/base/shell.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/base/text.hpp"
#include "ffn/data/csv.hpp"
#include "ffn/data/table_cells.hpp"
#include "ffn/data/table_summary.hpp"

namespace ffn {

namespace {

constexpr std::int64_t kMostInputs = 4096, kMostClasses = 4096;
constexpr double kLargest = 1e30;  // its square is finite, and so is what float32 makes of it

std::string quoted(const std::string& text) { return "\"" + with_codes(clipped(text, 40)) + "\""; }

class TableReader {
 public:
  explicit TableReader(const TableConfig& config) : config_(config), bytes_(text_of_table(config.file)) {
    csv_ = parse_csv(bytes_, names_in(*config.columns), config.file);
  }

  DataTable read() {
    check_names();
    DataTable out;
    out.sha256 = sha256_hex(bytes_);
    const auto inputs = input_names();
    for (std::size_t i = 0; i < csv_.columns.size(); ++i) {
      if (csv_.columns[i].empty()) out.columns_left_out.push_back("column " + std::to_string(i + 1));
    }
    for (const auto& name : inputs) check_numbering(name);
    leave_out_rows(inputs, out);
    const bool is_label = config_.target.empty();
    out.target = column_of(target_name(), is_label ? "category" : "number", false);
    check_target(out.target);
    if (!config_.is_drawn()) out.held_out = split_of();
    for (const auto& name : inputs) {
      out.inputs.push_back(column_of(name, config_.types->value(name, ""), config_.missing == "mean"));
      check_input(out.inputs.back(), out.target);
    }
    check_inputs(out);
    out.first_alike = first_alike(out);
    return out;
  }

  DataTable read_as(const DataTable& trained) {
    predicts_ = true;
    if (csv_.rows.empty()) fail("the table has no rows", "its first line names the columns, each line behind it is a row to predict");
    DataTable out;
    for (const auto& column : trained.inputs) out.inputs.push_back(column_as(column, trained));
    if (place_of(trained.target.name) < csv_.columns.size()) out.target = column_as(trained.target, trained);
    return out;
  }

 private:
  DataColumn column_as(const DataColumn& trained, const DataTable& of) const {
    const auto& columns = csv_.columns;
    const auto index = place_of(trained.name);
    if (index == columns.size()) {
      std::vector<std::string> needed;
      for (const auto& column : of.inputs) needed.push_back(column.name);
      fail("there is no column " + quoted(trained.name) + did_you_mean(trained.name, columns),
           "the run predicts from " + few_of(needed) + "; the first line has to name them, in any order");
    }
    if (std::count(columns.begin(), columns.end(), trained.name) > 1)
      fail("two columns are called " + quoted(trained.name), "give each its own name");
    const bool is_target = &trained == &of.target;  // may not be known yet
    const bool may_miss = is_target || trained.has_missing || std::binary_search(trained.values.begin(), trained.values.end(), "");
    DataColumn out = column_of(trained.name, trained.is_number() ? "number" : "category", may_miss);
    out.has_missing = trained.has_missing;
    if (trained.is_number()) return out;
    for (std::size_t row = 0; row < csv_.rows.size(); ++row) {
      const std::string& cell = out.values[static_cast<std::size_t>(out.cells[row])];
      if (is_target && cell.empty()) {
        out.cells[row] = kMissing;
        continue;
      }
      const auto at = std::lower_bound(trained.values.begin(), trained.values.end(), cell);
      if (at == trained.values.end() || *at != cell)
        fail_at(row, index, quoted(cell) + " is none of the values that were trained" + did_you_mean(cell, trained.values),
                "they are " + few_of(trained.values) + "; leave the row out, or train on rows that have it");
      out.cells[row] = static_cast<double>(at - trained.values.begin());
    }
    out.values = trained.values;
    return out;
  }

  static std::vector<std::string> names_in(const Json& list) { return list.get<std::vector<std::string>>(); }

  [[noreturn]] void fail(const std::string& what, const std::string& hint) const { throw DataError(config_.file + ": " + what, hint); }

  [[noreturn]] void fail_at(std::size_t row, std::size_t column, const std::string& what, const std::string& hint) const {
    throw DataError(config_.file + ":" + std::to_string(csv_.lines[row]) + ", column " + csv_.columns[column] + ": " + what, hint);
  }

  void check_names() const {
    const auto& columns = csv_.columns;
    if (columns.empty()) fail("the table is empty", "its first line names the columns");
    if (config_.columns->empty() && std::all_of(columns.begin(), columns.end(), [](const auto& name) { return number_in(name); }))
      fail("the first line has numbers, not the columns' names", "name them: task.columns='[\"a\", \"b\", …]'");
    for (auto name = columns.begin(); name != columns.end(); ++name) {
      const auto index = static_cast<std::size_t>(name - columns.begin());
      // The first has row names, as R and pandas write them; a spreadsheet leaves empty ones behind.
      if (name->empty() && index > 0 &&
          !std::all_of(csv_.rows.begin(), csv_.rows.end(), [&](const auto& row) { return row[index].empty(); }))
        fail("column " + std::to_string(index + 1) + " has no name", "name it in the first line");
      if (!name->empty() && std::find(columns.begin(), name, *name) != name)
        fail("two columns are called " + quoted(*name), "give each its own name");
    }
    const auto require_column = [&](const std::string& key, const std::string& name) {
      if (std::find(columns.begin(), columns.end(), name) == columns.end())
        fail("task." + key + ": there is no column " + quoted(name) + did_you_mean(name, columns), "the columns are " + join(columns));
    };
    require_column(config_.target.empty() ? "label" : "target", target_name());
    const auto require_input = [&](const std::string& key, const std::string& name) {
      require_column(key, name);
      if (name == target_name()) fail("task." + key + " names " + quoted(name) + ", which is the column to predict", "leave it out there");
    };
    if (!config_.is_drawn()) require_input("split", config_.split);
    for (const auto& name : names_in(*config_.ignore)) require_input("ignore", name);
    for (const auto& item : config_.types->items()) {
      if (item.key() != config_.label || item.value() != "category") require_input("types", item.key());
    }
  }

  const std::string& target_name() const { return config_.target.empty() ? config_.label : config_.target; }

  std::vector<std::string> input_names() const {
    const auto ignored = names_in(*config_.ignore);
    std::vector<std::string> out;
    for (const auto& name : csv_.columns) {
      const bool is_split = !config_.is_drawn() && name == config_.split;
      if (!name.empty() && name != target_name() && !is_split && std::find(ignored.begin(), ignored.end(), name) == ignored.end())
        out.push_back(name);
    }
    return out;
  }

  std::size_t place_of(const std::string& name) const {
    return static_cast<std::size_t>(std::find(csv_.columns.begin(), csv_.columns.end(), name) - csv_.columns.begin());
  }

  // As a key takes it that a comma or a bracket would make a sweep or JSON.
  static std::string value_word(const std::string& name) {
    return shell_word(name.find_first_of(",\"[{(") == std::string::npos ? name : dump_json(name));
  }

  std::string ignoring(const std::vector<std::string>& others) const {
    Json names = *config_.ignore;
    for (const auto& name : others) names.push_back(name);
    return "task.ignore=" + shell_word(dump_json(names));
  }

  std::string typed(const std::string& name, const char* type) const {
    Json types = *config_.types;
    types[name] = type;
    return "task.types=" + shell_word(dump_json(types));
  }

  // Refuses whole numbers side by side, each once in whatever order: an Id. Few rows may have them by chance.
  void check_numbering(const std::string& name) const {
    constexpr std::size_t kFew = 20;
    const std::size_t count = csv_.rows.size(), column = place_of(name);
    if (count < kFew || config_.types->contains(name)) return;
    std::vector<double> cells;
    for (const auto& row : csv_.rows) {
      const auto number = number_in(row[column]);
      if (!number || *number < 0 || *number != std::nearbyint(*number)) return;
      cells.push_back(*number);
    }
    std::sort(cells.begin(), cells.end());
    for (std::size_t i = 1; i < count; ++i) {
      if (cells[i] != cells[i - 1] + 1) return;
    }
    char range[80];
    std::snprintf(range, sizeof range, "%.0f to %.0f", cells.front(), cells.back());
    fail("column " + name + " numbers the rows (" + range + "), and says nothing about others",
         "leave it out: " + ignoring({name}) + "; if it is a quantity, say so: " + typed(name, "number"));
  }

  // As task.missing says; what of the target is missing cannot be learned from.
  void leave_out_rows(const std::vector<std::string>& inputs, DataTable& out) {
    const std::size_t rows = csv_.rows.size();
    std::vector<char> has_gap(rows), leaves(rows);
    std::size_t gaps = 0, first_row = rows, first_column = 0;
    std::vector<std::string> counts, with_gaps, names = inputs;
    names.insert(names.begin(), target_name());
    for (const auto& name : names) {
      const std::size_t column = place_of(name), before = gaps;
      for (std::size_t row = 0; row < rows; ++row) {
        const std::string& cell = csv_.rows[row][column];
        if (!stands_for_gap(cell)) continue;
        ++gaps;
        has_gap[row] = 1;
        if (config_.missing == "drop_rows" || name == target_name()) leaves[row] = 1;
        if (row >= first_row) continue;
        first_row = row;
        first_column = column;
      }
      if (gaps == before) continue;
      counts.push_back(name + " (" + std::to_string(gaps - before) + ")");
      if (name != target_name()) with_gaps.push_back(name);
    }
    if (gaps > 0 && config_.missing == "refuse") {
      const std::string& cell = csv_.rows[first_row][first_column];
      fail_at(first_row, first_column,
              (cell.empty() ? "the cell is empty" : quoted(cell) + " stands for a missing value") + "; missing in " +
                  std::to_string(std::count(has_gap.begin(), has_gap.end(), 1)) + " of " + std::to_string(rows) +
                  " rows: " + few_of(counts),
              missing_remedy(csv_.columns[first_column], cell, with_gaps));
    }
    for (std::size_t row = 0; row < rows; ++row) {
      if (leaves[row]) continue;
      const std::size_t to = out.row_numbers.size();
      out.row_numbers.push_back(static_cast<std::int64_t>(row) + 1);
      if (to == row) continue;
      csv_.rows[to] = std::move(csv_.rows[row]);
      csv_.lines[to] = csv_.lines[row];
    }
    const std::size_t left = out.row_numbers.size();
    csv_.rows.resize(left);
    csv_.lines.resize(left);
    out.rows_left_out = static_cast<std::int64_t>(rows - left);
    if (left < 3)
      fail(std::to_string(left) + " rows " + (left < rows ? "without missing cells " : "") + "are too few",
           "a table needs rows to train on and to hold out" +
               std::string(config_.missing == "drop_rows" && left < rows ? "; task.missing=mean keeps those with gaps" : ""));
  }

  // `type`: "number", "category", or "" for what the cells are.
  DataColumn column_of(const std::string& name, const std::string& type, bool may_miss) const {
    const auto index = place_of(name);
    DataColumn out{name, {}, std::vector<double>(csv_.rows.size())};
    std::size_t numbers = 0, missing = 0, notations = 0, first_text = csv_.rows.size(), first_notation = first_text;
    for (std::size_t row = 0; row < csv_.rows.size(); ++row) {
      const std::string& cell = csv_.rows[row][index];
      if (stands_for_gap(cell)) {
        if (!may_miss)
          fail_at(row, index, cell.empty() ? "the cell is empty" : quoted(cell) + " stands for a missing value",
                  missing_remedy(name, cell, {name}));
        out.cells[row] = kMissing;
        ++missing;
        continue;
      }
      if (type != "category" && has_comma_in_number(cell))
        fail_at(row, index, "the number " + quoted(cell) + " has a comma",
                "write decimals with a point and thousands without a sign, or take each as a category: " + typed(name, "category"));
      const auto number = number_in(cell);
      const std::string notation = number || type == "category" ? "" : notation_of(cell);
      if (!number && type == "number")
        fail_at(row, index, quoted(cell) + (notation.empty() ? " is not a number" : " is " + notation), number_remedy(name));
      if (type.empty() && number && is_rounded(cell, *number))
        fail_at(row, index, "the number " + cell + " is beyond 2^53, where numbers are rounded",
                "if its values are names, say " + typed(name, "category") + " or " + ignoring({name}) + "; of a quantity, say " +
                    typed(name, "number"));
      if (!notation.empty() && notations++ == 0) first_notation = row;
      if (number && type != "category" && first_text == csv_.rows.size() && std::abs(*number) > kLargest)
        fail_at(row, index, "the number " + cell + " is too large", "scale the column");
      if (number) ++numbers;
      else first_text = std::min(first_text, row);
      out.cells[row] = number.value_or(0);
    }
    const std::size_t present = csv_.rows.size() - missing;
    if (type.empty() && notations > 0 && 2 * (numbers + notations) > present)
      fail_at(
          first_notation, index, quoted(csv_.rows[first_notation][index]) + " is " + notation_of(csv_.rows[first_notation][index]),
          "write numbers with digits and a point alone, such as 45 for 45%, 1000 for $1,000 and days since the first for dates; or leave "
          "the column out: " +
              ignoring({name}) + "; or take each as a category: " + typed(name, "category"));
    if (type.empty() && numbers < present && 10 * numbers >= 9 * present)
      fail_at(first_text, index, quoted(csv_.rows[first_text][index]) + " is not a number, but most cells of the column are",
              "write the number, or say " + typed(name, "category"));
    if (type == "category" || first_text < csv_.rows.size()) make_category(index, out);
    else out.has_missing = missing > 0;
    return out;
  }

  std::string missing_remedy(const std::string& name, const std::string& cell, const std::vector<std::string>& with_gaps) const {
    if (predicts_) return "write a value, or leave the row out: the run was trained without gaps in this column";
    const bool is_input = name != config_.target && name != config_.label;
    return std::string("write a value, or leave rows with gaps out: task.missing=drop_rows") +
           (is_input
                ? "; or take the mean and an indicator in their place: task.missing=mean; or leave out the columns: " + ignoring(with_gaps)
                : "") +
           (name != config_.target && !cell.empty() ? "; or write a value of this name in another way" : "");
  }

  std::string number_remedy(const std::string& name) const {
    return name == config_.target
               ? "write numbers with digits and a point alone; for a column of classes say task.target= task.label=" + value_word(name)
               : "change the cell, or what task.types says of " + name;
  }

  void make_category(std::size_t index, DataColumn& column) const {
    const auto value_of = [&](std::size_t row) { return column.cells[row] == kMissing ? "" : csv_.rows[row][index]; };
    std::set<std::string> values;
    for (std::size_t row = 0; row < csv_.rows.size(); ++row) values.insert(value_of(row));
    column.values.assign(values.begin(), values.end());
    for (std::size_t row = 0; row < csv_.rows.size(); ++row)
      column.cells[row] =
          static_cast<double>(std::lower_bound(column.values.begin(), column.values.end(), value_of(row)) - column.values.begin());
  }

  std::vector<char> split_of() const {
    const auto index = place_of(config_.split);
    std::vector<char> out;
    for (std::size_t row = 0; row < csv_.rows.size(); ++row) {
      const std::string& cell = csv_.rows[row][index];
      if (cell != "train" && cell != "validation")
        fail_at(row, index, quoted(cell) + " is neither train nor validation",
                "task.split=" + value_word(config_.split) + " makes it say which rows are held out");
      out.push_back(cell == "validation" ? 1 : 0);
    }
    return out;
  }

  void check_input(const DataColumn& column, const DataColumn& target) const {
    const std::string ignore = "leave it out: " + ignoring({column.name});
    const bool is_empty = std::all_of(column.cells.begin(), column.cells.end(), [](double cell) { return cell == kMissing; });
    if (is_empty || column.values == std::vector<std::string>{""}) fail("column " + column.name + " has no value", ignore);
    constexpr std::size_t kFewValues = 10;
    if (column.values.size() == csv_.rows.size() && !config_.types->contains(column.name))
      fail("column " + column.name + " has another text in every row: it names the rows and says nothing about others", ignore);
    if (column.values.size() > std::max(kFewValues, csv_.rows.size() / 10) && !config_.types->contains(column.name))
      fail("column " + column.name + " has " + std::to_string(column.values.size()) + " different texts in " +
               std::to_string(csv_.rows.size()) + " rows, such as " + quoted(column.values[0]) + ": few rows for each",
           ignore + "; or take them as categories: " + typed(column.name, "category"));
    const bool is_copy = target.is_number() ? column.is_number() && column.cells == target.cells : is_recoded(column.cells, target.cells);
    if (is_copy) fail("column " + column.name + " says in every row what " + target.name + " is: a model would learn to copy it", ignore);
  }

  void check_inputs(const DataTable& table) const {
    if (table.inputs.empty()) fail("no column is left to predict " + table.target.name + " from", "task.ignore leaves out all others");
    if (table.input_width() > kMostInputs) {
      const auto widest =
          std::max_element(table.inputs.begin(), table.inputs.end(), [](const auto& a, const auto& b) { return a.width() < b.width(); });
      fail(std::to_string(table.input_width()) + " numbers to an example, of which " + std::to_string(widest->width()) +
               " for the values of " + widest->name + "; at most " + std::to_string(kMostInputs) + " are taken",
           "leave out a column of many values: " + ignoring({widest->name}));
    }
  }

  void check_target(const DataColumn& target) const {
    if (target.is_number()) {
      if (std::all_of(target.cells.begin(), target.cells.end(), [&](double x) { return x == target.cells[0]; }))
        fail("task.target: " + target.name + " has the same number in every row", "there is nothing to learn");
      return;
    }
    if (target.values.size() < 2)
      fail("task.label: " + target.name + " has one class, " + quoted(target.values[0]), "there is nothing to learn");
    const std::size_t classes = target.values.size(), rows = csv_.rows.size();
    if (static_cast<std::int64_t>(classes) > kMostClasses || classes == rows || (classes > 10 && 2 * classes > rows))
      fail("task.label: " + target.name + " has " + std::to_string(classes) + " classes in " + std::to_string(rows) + " rows",
           "for a column of numbers say task.label= task.target=" + value_word(target.name));
  }

  const TableConfig& config_;
  bool predicts_ = false;
  std::string bytes_;
  Csv csv_;
};

}  // namespace

std::int64_t DataTable::input_width() const {
  return std::accumulate(inputs.begin(), inputs.end(), std::int64_t{0}, [](std::int64_t sum, const auto& c) { return sum + c.width(); });
}

std::shared_ptr<const DataTable> read_table(const TableConfig& config) {
  static std::mutex mutex;
  static std::string last_key;
  static std::shared_ptr<const DataTable> last;
  std::error_code error;
  const auto time = std::filesystem::last_write_time(config.file, error).time_since_epoch().count();
  const std::string key = dump_json({config.file, time, std::filesystem::file_size(config.file, error), config.label, config.target,
                                     *config.columns, *config.types, *config.ignore, config.split, config.missing});
  const std::lock_guard<std::mutex> hold(mutex);
  if (error || key != last_key) {
    last = std::make_shared<const DataTable>(TableReader(config).read());
    last_key = key;
  }
  return last;
}

DataTable read_rows_as(const TableConfig& config, const DataTable& trained) { return TableReader(config).read_as(trained); }

}  // namespace ffn
