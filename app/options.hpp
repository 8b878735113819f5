// What every command shares, and the list of commands. Each command is one file: it declares its options on a CLI11 app
// and registers what to run.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "ffn/report/terminal.hpp"

namespace ffn::app {

struct CommonOptions {
  std::string config;
  std::vector<std::string> overrides;  ///< key=value
  std::string out = "runs";
  int jobs = 0;  ///< 0: one per core
  bool json = false;
  int verbosity = 0;  ///< -q lowers, -v raises
  std::string color = "auto";
  std::vector<std::string> argv;
};

ColorMode color_mode(const CommonOptions& common);

/// Returns the exit code. Errors are thrown.
using Command = std::function<int()>;

void add_train(CLI::App& app, CommonOptions& common, Command& command);
void add_compare(CLI::App& app, CommonOptions& common, Command& command);
void add_plan(CLI::App& app, CommonOptions& common, Command& command);
void add_validate(CLI::App& app, CommonOptions& common, Command& command);
void add_params(CLI::App& app, CommonOptions& common, Command& command);
void add_list(CLI::App& app, CommonOptions& common, Command& command);
void add_schema(CLI::App& app, CommonOptions& common, Command& command);
void add_bench(CLI::App& app, CommonOptions& common, Command& command);
void add_sample(CLI::App& app, CommonOptions& common, Command& command);

void add_verify(CLI::App& app, CommonOptions& common, Command& command);

void add_commands(CLI::App& app, CommonOptions& common, Command& command);

/// -q/-v, --color, --json: for a command that prints results.
void add_output_options(CLI::App& app, CommonOptions& common);

}  // namespace ffn::app
