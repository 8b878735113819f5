// Shared parts of the commands, and their list. Each is a file of commands/, which declares its options and its action. A new one is a
// file there and a line in add_commands().
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
  std::vector<std::string> overrides;  ///< key=value; until parse_config() the config may stand among them
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

inline constexpr const char* kHelpFooter =
    "Examples:\n"
    "  ffn-train xor\n"
    "  ffn-train xor name=two model.ffn.activation=relu,silu seeds=10\n"
    "  ffn-train text task.file=my-notes.txt && ffn-train sample runs/text/seed-0\n"
    "  ffn-train cp activations my-study.json && ffn-train my-study.json\n"
    "  ffn-train list keys model.ffn\n\n"
    "Exit codes:\n"
    "  0 done; 1 a run failed, or all diverged; 2 usage or config; 3 data or checkpoint; 4 some runs of a study failed; 5 expect or "
    "--fail-if not met; 75 interrupted, the same command resumes; 130 and 143 second signal\n\n"
    "Environment:\n"
    "  FFN_ISA=baseline|v3|v4: instruction set of the kernels; otherwise the best\n"
    "  FFN_TRAIN_ENGINE=FILE: the LibTorch engine, if it is not beside the program\n"
    "  NO_COLOR: no colour, as with --color never";

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

/// One for each file of commands/.
using AddCommand = void(CommandLine program, CommonOptions& common);
AddCommand add_bench, add_check, add_clean, add_compare, add_completion, add_coord_check, add_cp, add_curves, add_diff, add_export,
    add_inspect, add_judge, add_list, add_merge, add_note, add_params, add_plan, add_predict, add_report, add_rm, add_runs, add_sample,
    add_schema, add_search, add_slurm, add_train, add_validate, add_verify, add_watch;

/// All of them. `common` has to live as long as the command runs.
void add_commands(CommandLine program, CommonOptions& common);

/// -q/-v, --color, --json: for a command that prints results. Returns --json.
Option add_output_options(CommandLine command, CommonOptions& common);

/// --engine, --device, --init-from, --threads: for a command that reads a config with overrides.
void add_compute_options(CommandLine command, CommonOptions& common);

/// A config, as the first word or with --config, and overrides behind it.
Option add_config_options(CommandLine command, CommonOptions& common);
/// Finds the config among the words. Throws UsageError for a second one, and for a mistyped subcommand.
void parse_config(CommonOptions& common);
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
