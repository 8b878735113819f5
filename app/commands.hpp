// What every command shares, and the list of commands. Each is one file of commands/: it declares its options and what to
// run with them. A new one is a file there and a line in add_commands(); the command-line tests compare the two.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "ffn/base/error.hpp"
#include "ffn/base/json.hpp"
#include "ffn/report/table.hpp"
#include "ffn/report/terminal.hpp"
#include "ffn/store/log.hpp"

namespace ffn::app {

struct CommonOptions {
  std::string config;
  std::vector<std::string> overrides;  ///< key=value; until take_config() the config may stand among them
  std::string out = "runs";
  int jobs = 0;  ///< 0: one per core
  bool json = false;
  int verbosity = 0;  ///< -q lowers, -v raises
  std::string color = "auto";
  std::optional<std::string> engine, device, init_from;  ///< short for overrides of compute.engine, compute.device and model.init_from
  int threads = 0;                                       ///< likewise of compute.threads; 0: not given
  std::vector<std::string> argv;
  CommandDescription description;  ///< of the whole program
};

/// The option whose number may be left out, and what it then is.
inline constexpr const char *kFastDevRun = "--fast-dev-run", *kFastDevRunSteps = "10";

/// For the help and the manual.
inline constexpr const char* kExamples =
    "  ffn-train xor\n"
    "  ffn-train xor name=two model.ffn.activation=relu,silu seeds=10\n"
    "  ffn-train text task.file=my-notes.txt && ffn-train sample runs/text/seed-0\n"
    "  ffn-train cp activations my-study.json && ffn-train my-study.json\n"
    "  ffn-train list keys model.ffn";

ColorMode color_mode(const CommonOptions& common);

/// The exception that is being handled, whatever its type, as one for people.
Error current_error();
/// Says it on stderr. Returns its exit code.
int report_error(const Error& error);

/// For set_up_log(): stderr as the options want it, lines within the terminal where it is one.
LogOptions log_options(int verbosity, bool color, std::function<void()> before_line = {});
LogOptions log_options(const CommonOptions& common);

/// One document on stdout. Bytes that are not UTF-8 (a path may have them) become U+FFFD.
void print_json(const Json& json);

/// On stdout for a person, within the terminal: a table, and lines that go on `hanging` columns further in.
void print_table(const Table& table, const CommonOptions& common);
void print_text(const std::string& lines, int hanging = 2);

/// Whether `what`, "3 (1.2 MB)", may be removed: `yes`, or a person agrees. Throws UsageError where nobody can be asked.
bool may_remove(const std::string& what, bool yes, const CommonOptions& common);

void add_train(CommandLine program, CommonOptions& common);
void add_compare(CommandLine program, CommonOptions& common);
void add_judge(CommandLine program, CommonOptions& common);
void add_report(CommandLine program, CommonOptions& common);
void add_curves(CommandLine program, CommonOptions& common);
void add_demo(CommandLine program, CommonOptions& common);
void add_watch(CommandLine program, CommonOptions& common);
void add_check(CommandLine program, CommonOptions& common);
void add_plan(CommandLine program, CommonOptions& common);
void add_validate(CommandLine program, CommonOptions& common);
void add_params(CommandLine program, CommonOptions& common);
void add_coord_check(CommandLine program, CommonOptions& common);
void add_list(CommandLine program, CommonOptions& common);
void add_schema(CommandLine program, CommonOptions& common);
void add_bench(CommandLine program, CommonOptions& common);
void add_inspect(CommandLine program, CommonOptions& common);
void add_predict(CommandLine program, CommonOptions& common);
void add_sample(CommandLine program, CommonOptions& common);
void add_verify(CommandLine program, CommonOptions& common);
void add_merge(CommandLine program, CommonOptions& common);
void add_slurm(CommandLine program, CommonOptions& common);
void add_cp(CommandLine program, CommonOptions& common);
void add_runs(CommandLine program, CommonOptions& common);
void add_diff(CommandLine program, CommonOptions& common);
void add_note(CommandLine program, CommonOptions& common);
void add_clean(CommandLine program, CommonOptions& common);
void add_rm(CommandLine program, CommonOptions& common);
void add_export(CommandLine program, CommonOptions& common);
void add_completion(CommandLine program, CommonOptions& common);
void add_man(CommandLine program, CommonOptions& common);

/// All of them. `common` has to live as long as the command runs.
void add_commands(CommandLine program, CommonOptions& common);

/// -q/-v, --color, --json: for a command that prints results. Returns --json.
Option add_output_options(CommandLine command, CommonOptions& common);

/// --engine, --device, --init-from, --threads: for a command that reads a config with overrides.
void add_compute_options(CommandLine command, CommonOptions& common);

/// A config, as the first word or with --config, and overrides behind it.
Option add_config_options(CommandLine command, CommonOptions& common);
/// Finds the config among the words. Throws UsageError for a second one, and for a mistyped subcommand.
void take_config(CommonOptions& common);
/// The same, where there has to be one.
void require_config(CommonOptions& common);
/// The same for several configs; the overrides are for each.
void add_configs_options(CommandLine command, std::vector<std::string>& configs);
void require_configs(std::vector<std::string>& configs, CommonOptions& common);
/// Whether it is the name of a subcommand.
bool is_command(const std::string& word, const CommonOptions& common);
/// Throws UsageError if the word is no config and nearly a subcommand.
void require_command(const std::string& word, const CommonOptions& common);

/// The overrides that were given, those options among them.
std::vector<std::string> all_overrides(const CommonOptions& common);

}  // namespace ffn::app
