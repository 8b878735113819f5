// A trained run's predictions for rows: its held-out rows, or those of a file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ffn/base/tensor_data.hpp"
#include "ffn/config/run_config.hpp"

namespace ffn {

struct Predictions {
  std::vector<std::string> classes;  ///< their names; none of a target of numbers
  std::vector<std::int64_t> rows;    ///< where each stands in its file, counted from 1
  /// (rows) Of classes the probability of each, or its output where a loss without probabilities was trained; of numbers those of the
  /// target, in its unit.
  std::vector<std::vector<double>> values;
  bool are_probabilities = false;
  std::vector<std::vector<double>> actual;  ///< (rows) the class's index or the numbers; none where the file does not say

  bool of_classes() const { return !classes.empty(); }
  std::size_t predicted_class(std::size_t row) const;
  std::size_t num_labelled() const;  ///< rows with `actual`
  /// Share of labelled rows whose class is right; of numbers the root of their mean squared error. None without such rows.
  std::optional<double> accuracy() const, rmse() const;
};

/// `file`: columns by name of a table or a function, images in IDX format; empty: the examples that the run was validated on. Throws
/// UsageError for a run of tokens, DataError for a file that does not fit or for data that is not what the run was trained on.
Predictions predict(const RunConfig& config, const TensorFile& weights, const std::string& file);

}  // namespace ffn
