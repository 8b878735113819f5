// Learning curves and summaries as tidy CSV: a row is one observation, whatever reads it.
#pragma once

#include <filesystem>

#include "ffn/report/export_runs.hpp"

namespace ffn::exports {

struct CsvFiles {
  std::filesystem::path runs;    ///< a row for each run: what it is, what it cost, what it came to
  std::filesystem::path curves;  ///< a row for each run, step and metric
  std::size_t num_curve_rows = 0;
};

/// Writes runs.csv and curves.csv. A number keeps every bit; what is not finite is NaN, Inf or -Inf, which pandas and R read alike; what a
/// run does not have is empty. Adds to `notes` the runs whose curves cannot be read. Throws UsageError where a file of that name is no
/// such table.
CsvFiles write_csv(const Selection& selection, const std::filesystem::path& directory, std::vector<std::string>& notes);

}  // namespace ffn::exports
