// A table of the user's as typed columns: what each cell is, and what is refused.
#pragma once

#include <limits>
#include <memory>

#include "ffn/config/task_config.hpp"

namespace ffn {

/// A missing cell of a column of numbers; in a category, missing cells are the value "".
constexpr double kMissing = std::numeric_limits<double>::infinity();

struct DataColumn {
  std::string name;
  std::vector<std::string> values;  ///< of a category, sorted; none of a number
  std::vector<double> cells;        ///< (rows) numbers, or indices of values
  bool has_missing = false;         ///< a number with missing cells (kMissing): the network also sees which they are

  bool is_number() const { return values.empty(); }
  /// Numbers that the network sees of it.
  std::int64_t width() const { return is_number() ? 1 + has_missing : static_cast<std::int64_t>(values.size()); }
};

struct DataTable {
  std::vector<DataColumn> inputs;
  DataColumn target;                      ///< of the label or of the target
  std::vector<std::int64_t> row_numbers;  ///< (rows) in the file, from 1: task.missing leaves out some
  std::int64_t rows_left_out = 0;
  std::vector<std::string> columns_left_out;  ///< those without a name
  std::vector<char> held_out;                 ///< (rows) whether the split column says so; empty where rows are drawn
  /// (rows) The first row that has the same inputs and the same target: the row itself unless it repeats one.
  std::vector<std::uint32_t> first_alike;
  std::string sha256;  ///< of the file: part of a run's identity

  std::int64_t num_rows() const { return static_cast<std::int64_t>(target.cells.size()); }
  std::int64_t input_width() const;
};

/// Reads the file and types its columns; the last one, unchanged by size and time, is read once. Throws DataError, with line and column or
/// with the key to change.
std::shared_ptr<const DataTable> read_table(const TableConfig& config);

/// Rows to predict, of a file in place of config's: the inputs of `trained` by name, a category with the values that it had, and the target
/// where the file has its column, kMissing in rows without it. Throws DataError as read_table() does.
DataTable read_rows_as(const TableConfig& config, const DataTable& trained);

}  // namespace ffn
