// The numbers that a program left: from JSON, from CSV, from what it printed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ffn/config/command_config.hpp"
#include "ffn/train/run_result.hpp"

namespace ffn {

/// Results of a program.
struct CommandOutput {
  std::filesystem::path directory;  ///< where files of metrics are
  std::string printed[2];           ///< to stdout, to stderr
};

/// One evaluation for each step that a metric has; metrics without steps belong to the last. Throws DataError that names the metric for
/// one that is not there or is no number; NaN and infinities are numbers.
std::vector<Evaluation> read_command_metrics(const std::vector<CommandMetric>& sources, const CommandOutput& output);

}  // namespace ffn
