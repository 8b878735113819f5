// Tables of runs that other trainers made: CSV, TSV, JSON lines, the exports of W&B and MLflow, and TensorBoard's event files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ffn/compare/compare.hpp"
#include "ffn/compare/table_reader.hpp"

namespace ffn {

/// Which columns hold what; what is empty is inferred where its name is usual.
struct RunColumns {
  std::string by, seed, metric, step, state, run;
  std::vector<std::string> facets;
  std::optional<bool> higher_is_better = {};
};

/// The value that is taken of a run with several rows.
struct TakenValue {
  enum class Kind { last, best, target } kind = Kind::last;
  double target = 0;
};
/// "last", "best" or "target=3.28"; throws UsageError for anything else.
TakenValue read_taken(const std::string& text);

/// The columns with those that were left open filled in; `rows` may gain columns that a run's name has ("relu-seed3") and notes. Throws
/// UsageError that lists the columns where one is missing or not known.
RunColumns infer_columns(const RunColumns& asked, RunRows& rows, const TakenValue& take);

struct JudgedRuns {
  std::vector<FoundRun> runs;  ///< finished, in the order of the rows; one that failed or has no number has the reason
  std::string by;              ///< the key of their variants
  std::string metric;          ///< as it is called: the column, or "step at val_loss ≤ 3.28"
  bool higher_is_better = false;
  std::vector<std::string> unfinished;  ///< places of runs that still train
  std::vector<std::string> notes;
  bool has_seeds = false;
};

/// Throws DataError naming both places where two rows are of one run, and the place of a number that cannot be read.
JudgedRuns runs_of_rows(const RunRows& rows, const RunColumns& columns, const TakenValue& take);

}  // namespace ffn
