// Declares the options of a command. A thin layer over CLI11, which only command_line.cpp includes: it would cost every command several
// seconds of compiling.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ffn::app {

/// The command line for completion: the same declarations that parse it.
struct OptionDescription {
  std::vector<std::string> names;  ///< "-o", "--out"; none for a word without a name
  std::string value;               ///< name of the value in the help: "DIR"; empty for a flag
  std::vector<std::string> words;  ///< the accepted values, if there is a list
  std::string doc;
  bool takes_word = false;  ///< also without its name
  bool many = false;
};
struct CommandDescription {
  std::string name, doc;
  std::vector<OptionDescription> options;
  std::vector<CommandDescription> subcommands;
};

/// A command's action; returns the exit code. Errors are thrown.
using Action = std::function<int()>;

/// Data that CLI11 does not keep.
struct Declarations;

/// An option that was declared. Each call narrows what it accepts or adds to its help.
class Option {
 public:
  Option(CLI::Option& option, Declarations& declarations) : option_(&option), declarations_(&declarations) {}

  Option required();
  Option type(const char* name);  ///< the name of the value in its help
  Option shows_default();
  Option integer_in(std::int64_t low, std::int64_t high = std::numeric_limits<std::int64_t>::max());
  Option real_in(double low, double high = std::numeric_limits<double>::max());
  Option one_of(const std::vector<std::string>& words, bool listed_in_help = true);
  Option excludes(const Option& other);
  /// A directory: "~/" is the home directory where no shell saw to it.
  Option directory();
  Option may_be_empty();

  bool given() const;  ///< on the command line; known when the action runs

 private:
  CLI::Option* option_;
  Declarations* declarations_;
};

/// The program's command line or one subcommand's. A handle: copies mean the same command. Values are written before the
/// action runs and have to live until then.
class CommandLine {
 public:
  CommandLine(CLI::App& app, Declarations& declarations) : app_(&app), declarations_(&declarations) {}

  CommandLine subcommand(const char* name, const char* doc);

  /// `names` as in "-o,--out", or without dashes for a positional argument.
  /// An empty text is refused, unless it may be empty.
  template <class Value>  // text, optional text, texts, int, int64 or double
  Option option(const char* names, Value& value, const char* doc);
  Option flag(const char* names, bool& value, const char* doc);
  /// A flag that may be repeated; `count` hears how often.
  Option flag(const char* names, std::function<void(std::int64_t count)> count, const char* doc);

  /// The action if this command is given.
  void run(Action action);

  std::string help() const;
  CommandDescription description() const;

 private:
  CLI::App* app_;
  Declarations* declarations_;
};

/// Parses the command line and runs its command. Returns the exit code. Throws errors.
int run_command_line(int argc, char** argv);

}  // namespace ffn::app
