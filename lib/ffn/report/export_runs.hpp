// An export's facts of each run: its curves, its variant, the keys that tell it apart.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ffn/compare/compare.hpp"
#include "ffn/train/run_result.hpp"

namespace ffn::exports {

/// The runs below some directories, and what they differ in.
struct Selection {
  std::vector<FoundRun> runs;        ///< keys of what computed them left out
  std::vector<std::string> varying;  ///< keys whose values differ between them
  std::vector<std::string> notes;    ///< what is not among them, and why
};

/// Throws DataError where there is no run.
Selection select_runs(const std::vector<std::filesystem::path>& directories, Extras extras);

/// Everything that a run has measured, oldest first; of a finished run as its summary vouches for it. Throws DataError for a file that
/// is damaged.
std::vector<Evaluation> curve_of(const FoundRun& run);

/// Adds "left out of the curves: problem", unless it is among the notes from another kind of file.
void note_left_out(std::vector<std::string>& notes, const std::string& problem);

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
