// A column of a table from the others.
#pragma once

#include "ffn/base/random.hpp"
#include "ffn/data/table_columns.hpp"
#include "ffn/data/task.hpp"

namespace ffn {

/// Reads the table.
TaskShape shape_of(const TableConfig& config);

/// How a column of numbers is standardised.
struct Scale {
  double mean = 0, deviation = 1;
  double of(double x) const { return (x - mean) / deviation; }
  double back(double x) const { return x * deviation + mean; }
};

/// A table run's training table: its columns, without rows.
struct TrainedTable {
  DataTable columns;
  std::vector<Scale> inputs;
  Scale target;

  TaskShape shape() const;
  /// Rows of a file as the network reads them, and their target where they have its column: -1 or infinite in rows without it.
  ExampleSet examples(const TableConfig& config) const;
};

/// From TableTask::metadata(). Throws CheckpointError for another task's.
TrainedTable trained_table(const std::map<std::string, std::string>& metadata);

class TableTask final : public Task {
 public:
  /// Throws DataError as read_table() does, and for a class without a training row (of a draw per seed: in 100 draws).
  TableTask(const TableConfig& config, std::vector<DataSeeds> seeds);
  TaskShape shape() const override;
  /// Training rows, each drawn for itself.
  void write_batch(std::size_t run, std::int64_t step, std::int64_t batch_size, const BatchPlace& to) const override;
  /// The rows held out. One set for all runs unless each seed has its own.
  ExampleSet validation(std::int64_t max_examples) const override;
  std::string data_hash() const override { return table_->sha256; }
  /// "table": JSON of inputs (column, and mean and deviation or values; missing: a second number says which cells are) and of the label's
  /// classes or the target's mean and deviation.
  std::map<std::string, std::string> metadata(std::size_t run) const override;
  double target_unit(std::size_t run) const override;
  std::optional<double> constant_answer(std::size_t run) const override { return split(run).constant_answer; }
  std::vector<double> class_frequencies(std::size_t run) const override;
  std::int64_t row_number(std::size_t run, std::int64_t example) const override {
    return table_->row_numbers[split(run).rows[static_cast<std::size_t>(example)]];
  }

 private:
  /// One run's rows, those held out first and perhaps without some that repeat them, and the scales of its training rows.
  struct Split {
    std::vector<std::uint32_t> rows;
    std::vector<Scale> inputs;
    Scale target;
    double constant_answer = 0;  ///< the most frequent class; of standardised numbers 0, their mean
  };

  std::vector<std::uint32_t> drawn_rows(RandomStream& random) const;
  /// Whether rows are left to train on, and some of each class.
  bool can_train(const std::vector<std::uint32_t>& rows) const;
  std::vector<std::int64_t> class_counts(const std::vector<std::uint32_t>& rows) const;
  Split split_of(std::uint64_t seed) const;
  Scale scale_of(const DataColumn& column, const std::vector<std::uint32_t>& training) const;
  std::int64_t most_frequent_class(const std::vector<std::uint32_t>& rows) const;
  void write(const Split& split, std::uint32_t row, std::int64_t example, const BatchPlace& to) const;

  TableConfig config_;
  std::shared_ptr<const DataTable> table_;
  std::int64_t held_out_ = 0;  ///< rows
  std::vector<Split> splits_;  ///< (R), or one for all
  const Split& split(std::size_t run) const { return splits_[splits_.size() == 1 ? 0 : run]; }
};

}  // namespace ffn
