// How `compare` and `judge` show a comparison: format, details and exit code.
#pragma once

#include <string>

#include "commands.hpp"
#include "ffn/compare/compare.hpp"

namespace ffn::app {

struct ComparisonOutput {
  bool markdown = false, csv = false, latex = false, details = false, explain = false;
  std::string fail_if;
};

/// With --json and what else every command has. `output` has to live as long as the command runs.
void add_comparison_output(CommandLine command, ComparisonOutput& output, CommonOptions& common);

/// Prints it; returns the exit code.
int show_comparison(const Comparison& comparison, const ComparisonOutput& output, const CommonOptions& common);

}  // namespace ffn::app
