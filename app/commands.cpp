#include "commands.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <new>
#include <nlohmann/json.hpp>
#include <sstream>

#include "ffn/base/files.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/base/text.hpp"
#include "ffn/report/layout.hpp"
#include "load_config.hpp"

namespace ffn::app {

Error current_error() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const ReadError& error) {
    return DataError(error.what(), "nothing was judged without it; start again when it can be read");
  } catch (const std::bad_alloc&) {
    return SystemError("not enough memory", "a smaller batch_size, d_model or d_ff needs less");
  } catch (const std::filesystem::filesystem_error& error) {
    const std::string path = error.path1().string();
    return SystemError((path.empty() ? "the file system refuses" : path) + ": " + error.code().message());
  } catch (const std::ios_base::failure&) {
    return SystemError("cannot write to stdout");  // nor before: the reason went with the first write
  } catch (const std::exception& error) {
    return SystemError(reason_of(error), "this is a bug in ffn-train; please report it with the command you ran");
  }
}

// Folded on a terminal; one line per problem in a pipe or log.
int report_error(const Error& error) {
  const int width = ::isatty(STDERR_FILENO) ? terminal_width_of(STDERR_FILENO) : 0;
  std::cerr << wrapped(std::string("error: ") + error.what() + "\n", width, 2);
  if (!error.hint().empty()) std::cerr << wrapped("hint: " + error.hint() + "\n", width, 2);
  return static_cast<int>(error.code());
}

LogOptions log_options(int verbosity, bool color, std::function<void()> before_line) {
  LogOptions options{verbosity, color, nullptr, std::move(before_line)};
  if (!is_terminal(STDERR_FILENO)) return options;
  options.folded = [](const std::string& text) {
    const int width = terminal_width_of(STDERR_FILENO);
    std::string out;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const bool laid_out = line.rfind("  ", 0) == 0;  // a command in lines of its own
      out += (out.empty() ? "" : "\n") + (laid_out ? line : join(wrapped_lines(line, width, 2), "\n"));
    }
    return out;
  };
  return options;
}

LogOptions log_options(const CommonOptions& common) {
  return log_options(common.verbosity, color_enabled(color_mode(common), STDERR_FILENO));
}

void print_json(const Json& json) { std::cout << dump_json_lossy(json, 2) << "\n"; }

void print_table(const Table& table, const CommonOptions& common) {
  std::cout << laid_out(table, terminal_width_of(1), color_enabled(color_mode(common), 1));
}

void print_text(const std::string& lines, int hanging) { std::cout << wrapped(lines, terminal_width_of(1), hanging); }

bool may_remove(const std::string& what, bool yes, const CommonOptions& common) {
  if (yes) return true;
  if (common.json || !is_terminal(0) || !is_terminal(1))
    throw UsageError("nothing was removed: " + what + " would be", "--yes removes them");
  std::cout << "remove these " << what << "? [y/N] " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  if (answer == "y" || answer == "Y" || answer == "yes") return true;
  std::cout << "nothing was removed\n";
  return false;
}

ColorMode color_mode(const CommonOptions& common) {
  return common.color == "always" ? ColorMode::always : common.color == "never" ? ColorMode::never : ColorMode::automatic;
}

Option add_output_options(CommandLine command, CommonOptions& common) {
  const auto json = command.flag("--json", common.json, "one JSON document on stdout");
  const auto verbose = command.flag(
      "-v,--verbose", [&common](std::int64_t n) { common.verbosity += static_cast<int>(n); }, "say more");
  command
      .flag(
          "-q,--quiet", [&common](std::int64_t n) { common.verbosity -= static_cast<int>(n); }, "say less: results and warnings only")
      .excludes(verbose);
  command.option("--color", common.color, "auto, always or never (NO_COLOR also counts)")
      .type("WHEN")
      .one_of({"auto", "always", "never"}, /*listed_in_help=*/false);
  return json;
}

void add_compute_options(CommandLine command, CommonOptions& common) {
  command.option("--engine", common.engine, "what trains: auto, cpu or torch").type("NAME").one_of({"auto", "cpu", "torch"}, false);
  command.option("--device", common.device, "cpu, cuda or cuda:N").type("NAME");
  command.option("--init-from", common.init_from, "start from the weights of this run (model.init_from)").type("RUN").directory();
  command
      .option("--threads", common.threads,
              "threads of each run of the cpu engine; otherwise the cores that no worker needs. Results do not depend on it")
      .integer_in(1, 4096)
      .type("N");
}

Option add_config_options(CommandLine command, CommonOptions& common) {
  command.option("words", common.overrides, "a config (a file, the name of a shipped one, or - for stdin) and key=value changes to it")
      .type("CONFIG KEY=VALUE");
  return command.option("--config", common.config, "the same as CONFIG").type("FILE");
}

namespace {

constexpr const char* kNoConfigHint = "`ffn-train list configs` shows those that are shipped; a file of yours will do, too";

// A file's name may contain "=", as the runs of a study do.
bool is_override(const std::string& word) { return word.find('=') != std::string::npos && !names_config(word); }

}  // namespace

bool is_command(const std::string& word, const CommonOptions& common) {
  const auto& all = common.description.subcommands;
  return std::any_of(all.begin(), all.end(), [&](const auto& command) { return command.name == word; });
}

void require_command(const std::string& word, const CommonOptions& common) {
  if (word.empty() || word[0] == '-' || is_override(word) || names_config(word)) return;
  struct Elsewhere {
    std::vector<const char*> words;
    const char* hint;
  };
  static const Elsewhere elsewhere[] = {
      {{"train", "run", "start"}, "training needs none: `ffn-train xor`, `ffn-train my.json`"},
      {{"resume", "continue"}, "the command that began the training goes on with it: type it again, for example `ffn-train xor`"},
      {{"remove", "delete"}, "`ffn-train rm DIR` removes results, `ffn-train clean DIR` what was moved aside"},
      {{"ls"}, "`ffn-train runs` lists runs, `ffn-train list` what ffn-train ships"},
      {{"tune", "sweep"}, "a config does it: `ffn-train xor model.ffn.activation=relu,gelu seeds=10 tune.train.optimizer.lr=0.01,0.03`"},
  };
  for (const auto& [words, hint] : elsewhere) {
    if (std::find(words.begin(), words.end(), word) != words.end()) throw UsageError("no command '" + word + "'", hint);
  }
  std::vector<std::string> names;
  for (const auto& command : common.description.subcommands) names.push_back(command.name);
  const auto meant = did_you_mean(word, names);
  if (!meant.empty()) throw UsageError("no command and no config '" + word + "'" + meant, "`ffn-train --help` shows the commands");
}

namespace {

// Moves the overrides to `common`; the remaining words are configs.
void parse_overrides(std::vector<std::string>& words, CommonOptions& common) {
  const auto configs_end = std::stable_partition(words.begin(), words.end(), [](const std::string& word) { return !is_override(word); });
  common.overrides.insert(common.overrides.end(), configs_end, words.end());
  words.erase(configs_end, words.end());
  for (auto& word : words) word = expand_home(word);
}

}  // namespace

void add_configs_options(CommandLine command, std::vector<std::string>& configs) {
  command.option("words,--config", configs, "configs (files, or the names of shipped ones) and key=value changes to them")
      .type("CONFIG... KEY=VALUE");
}

void require_configs(std::vector<std::string>& configs, CommonOptions& common) {
  parse_overrides(configs, common);
  if (configs.empty()) throw UsageError("no config is named", kNoConfigHint);
}

void parse_config(CommonOptions& common) {
  std::vector<std::string> words;
  words.swap(common.overrides);
  parse_overrides(words, common);
  common.config = expand_home(common.config);
  if (words.empty()) return;
  if (common.config.empty()) {
    require_command(words[0], common);
    common.config = words[0];
    words.erase(words.begin());
  }
  if (words.empty()) return;
  if (names_config(words[0]) || names_config(common.config))
    throw UsageError("'" + words[0] + (names_config(words[0]) ? "' is a second config" : "' is neither key=value nor a config"),
                     "one command trains one config, which may be a study of many runs; changes to it are written key=value");
}

void require_config(CommonOptions& common) {
  parse_config(common);
  if (common.config.empty()) throw UsageError("no config is named", kNoConfigHint);
}

std::vector<std::string> all_overrides(const CommonOptions& common) {
  auto overrides = common.overrides;
  // In quotes: an override's comma would make a sweep, and an option names one.
  if (common.engine) overrides.push_back("compute.engine=" + dump_json_lossy(*common.engine));
  if (common.device) overrides.push_back("compute.device=" + dump_json_lossy(*common.device));
  if (common.init_from)
    overrides.push_back("model.init_from=" + dump_json_lossy(std::filesystem::absolute(expand_home(*common.init_from)).string()));
  if (common.threads > 0) overrides.push_back("compute.threads=" + std::to_string(common.threads));
  return overrides;
}

void add_commands(CommandLine program, CommonOptions& common) {
  // In the order of the help.
  for (AddCommand* add :
       {add_train,  add_search,      add_compare, add_judge,  add_report, add_curves,  add_watch,   add_check,  add_plan,      add_validate,
        add_params, add_coord_check, add_list,    add_schema, add_bench,  add_inspect, add_predict, add_sample, add_verify,    add_merge,
        add_slurm,  add_cp,          add_runs,    add_diff,   add_note,   add_clean,   add_rm,      add_export, add_completion})
    add(program, common);
}

}  // namespace ffn::app
