#include "command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <limits>
#include <map>
#include <sstream>
#include <type_traits>

#include "commands.hpp"
#include "completion.hpp"
#include "ffn/base/error.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/base/text.hpp"
#include "ffn/base/version.hpp"
#include "ffn/config/names.hpp"
#include "ffn/kernels/isa.hpp"
#include "ffn/report/layout.hpp"
#include "ffn/report/terminal.hpp"
#include "ffn/store/log.hpp"

namespace ffn::app {

struct Declarations {
  Action chosen;
  std::map<const CLI::Option*, std::vector<std::string>> words;  // an option's values
};

Option Option::required() {
  option_->required();
  return *this;
}
Option Option::type(const char* name) {
  option_->type_name(name);
  return *this;
}
Option Option::shows_default() {
  option_->capture_default_str();
  return *this;
}

namespace {

// A value between two bounds; `high` may be the largest there is. A NaN fails.
template <class Number>
void require(CLI::Option& option, Number low, Number high, const char* noun, const char* type) {
  std::ostringstream bounds, help;
  help << type;
  if (high < std::numeric_limits<Number>::max()) {
    bounds << noun << " from " << low << " to " << high;
    help << " in [" << low << " - " << high << "]";
  } else {
    bounds << noun << " of at least " << low;
  }
  const auto refuses = [low, high, expected = bounds.str()](std::string& given) {
    Number value = 0;
    const bool fits = CLI::detail::lexical_cast(given, value) && value >= low && value <= high;
    return fits ? std::string() : "expected " + expected + ", got '" + given + "'";
  };
  option.check(CLI::Validator(refuses, help.str()));
}

}  // namespace

Option Option::integer_in(std::int64_t low, std::int64_t high) {
  require(*option_, low, high, "an integer", "INT");
  return *this;
}
Option Option::real_in(double low, double high) {
  require(*option_, low, high, "a number", "FLOAT");
  return *this;
}
Option Option::one_of(const std::vector<std::string>& words, bool listed_in_help) {
  declarations_->words[option_] = words;
  const auto refuses = [words](std::string& given) {
    const bool known = std::find(words.begin(), words.end(), given) != words.end();
    return known ? std::string() : "expected one of " + join(words) + ", got '" + given + "'" + did_you_mean(given, words);
  };
  option_->check(CLI::Validator(refuses, listed_in_help ? CLI::IsMember(words).get_description() : ""));
  return *this;
}
Option Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}
Option Option::directory() {
  const auto expand = [](std::string& given) {
    given = expand_home(given);
    if (!given.empty() && given[0] == '-') given = "./" + given;  // commands that are printed name it, and would take it for an option
    return std::string();
  };
  option_->transform(CLI::Validator(expand, ""));
  return *this;
}
bool Option::given() const { return option_->count() > 0; }

namespace {

constexpr const char* kNotEmpty = "not empty";

// An empty text, often from an unset shell variable, would count as an option left out. Commands of many words check each themselves.
CLI::Option& not_empty(CLI::Option& option) {
  if (option.get_positional() && option.get_items_expected_max() > 1) return option;
  return *option.check(
      [&option](const std::string& given) {
        if (!given.empty()) return std::string();
        const std::string name = option.get_positional() ? option.get_type_name() : option.get_name();
        throw UsageError(name + " is empty", "leave it out, or give it a value");
      },
      "", kNotEmpty);
}

}  // namespace

Option Option::may_be_empty() {
  option_->get_validator(kNotEmpty)->active(false);
  return *this;
}

CommandLine CommandLine::subcommand(const char* name, const char* doc) { return {*app_->add_subcommand(name, doc), *declarations_}; }

template <class Value>
Option CommandLine::option(const char* names, Value& value, const char* doc) {
  auto& option = *app_->add_option(names, value, doc);
  if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
    if (!option.get_positional()) option.allow_extra_args(false);  // "--where a=b DIR": one value each time
  }
  return {std::is_arithmetic_v<Value> ? option : not_empty(option), *declarations_};
}
template Option CommandLine::option(const char*, std::string&, const char*);
template Option CommandLine::option(const char*, std::optional<std::string>&, const char*);
template Option CommandLine::option(const char*, std::vector<std::string>&, const char*);
template Option CommandLine::option(const char*, int&, const char*);
template Option CommandLine::option(const char*, std::int64_t&, const char*);
template Option CommandLine::option(const char*, double&, const char*);
Option CommandLine::flag(const char* names, bool& value, const char* doc) { return {*app_->add_flag(names, value, doc), *declarations_}; }
Option CommandLine::flag(const char* names, std::function<void(std::int64_t)> count, const char* doc) {
  return {*app_->add_flag_function(names, std::move(count), doc), *declarations_};
}

void CommandLine::run(Action action) {
  app_->callback([app = app_, chosen = &declarations_->chosen, action = std::move(action)] {
    if (app->get_subcommands().empty()) *chosen = action;
  });
}

std::string CommandLine::help() const { return app_->help(); }

namespace {

OptionDescription description_of(const CLI::Option& option, const Declarations& declarations) {
  OptionDescription out;
  for (const auto& name : option.get_snames()) out.names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) out.names.push_back("--" + name);
  const std::string value = option.get_type_size_max() == 0 ? "" : option.get_type_name();
  out.value = value.substr(0, value.find(':'));  // a check's description stands behind
  if (const auto found = declarations.words.find(&option); found != declarations.words.end()) out.words = found->second;
  out.doc = option.get_description();
  out.takes_word = option.get_positional();
  out.many = option.get_items_expected_max() > 1;
  return out;
}

CommandDescription description_of(const CLI::App& app, const Declarations& declarations) {
  CommandDescription out{app.get_name(), app.get_description(), {}, {}};
  for (const auto* option : app.get_options()) out.options.push_back(description_of(*option, declarations));
  for (const auto* command : app.get_subcommands({})) out.subcommands.push_back(description_of(*command, declarations));
  return out;
}

}  // namespace

CommandDescription CommandLine::description() const { return description_of(*app_, *declarations_); }

namespace {

constexpr int kHelpColumn = 34;  // of the meanings of options

// CLI11's help within the terminal.
class Formatter : public CLI::Formatter {
 public:
  explicit Formatter(int width) : width_(width), column_(static_cast<std::size_t>(std::min(kHelpColumn, width / 2))) {
    column_width(column_);
#if CLI11_VERSION_MAJOR > 2 || (CLI11_VERSION_MAJOR == 2 && CLI11_VERSION_MINOR >= 5)
    right_column_width(static_cast<std::size_t>(width_) - column_);
    enable_footer_formatting(false);  // examples are lines, not a paragraph
#endif
  }

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    std::istringstream lines(CLI::Formatter::make_help(app, std::move(name), mode));
    std::string out;
    for (std::string line; std::getline(lines, line);)
      out += display_width(line) > static_cast<std::size_t>(width_) ? broken(line) : line + "\n";
    return out;
  }

 private:
  std::string broken(const std::string& line) const {
    const std::string before = line.substr(0, column_);
    const bool meaning_only = before.find_first_not_of(' ') == std::string::npos;
    if (meaning_only || before.back() != ' ') return wrapped(line, width_, meaning_only ? 0 : 2);
    const std::string meaning = wrapped(std::string(column_, ' ') + line.substr(column_), width_);
    return before + meaning.substr(column_);
  }

  int width_;
  std::size_t column_;
};

// As CLI11 takes them: "-o=DIR" is "-o DIR", and an optional number is none of the words that follow.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  for (std::size_t i = 0; i < words.size(); ++i) {
    auto& word = words[i];
    if (word.size() > 3 && word[0] == '-' && std::isalpha(static_cast<unsigned char>(word[1])) && word[2] == '=') word.erase(2, 1);
    const bool number_follows =
        i + 1 < words.size() && !words[i + 1].empty() && words[i + 1].find_first_not_of("-0123456789") == std::string::npos;
    if (word == kFastDevRun && !number_follows) word += std::string("=") + kFastDevRunSteps;
  }
  return words;
}

// An unknown option is often a key of the config.
[[noreturn]] void refuse_option(const CLI::App& app, const std::string& option, const std::vector<std::string>& words) {
  const auto equals = option.find('=');
  const std::string flag = option.substr(0, equals), name = flag.substr(flag.find_first_not_of('-'));
  std::string value = equals == std::string::npos ? "" : option.substr(equals + 1);
  if (const auto at = std::find(words.begin(), words.end(), option); value.empty() && at != words.end() && at + 1 != words.end())
    value = at[1];
  if (value.empty() || value[0] == '-') value = "VALUE";

  const bool takes_keys = app.get_option_no_throw("words") != nullptr;
  const auto paths = takes_keys ? paths_ending_in(name) : std::vector<std::string>{};
  std::vector<std::string> names;
  for (const auto* known : app.get_options()) {
    for (const auto& long_name : known->get_lnames()) names.push_back("--" + long_name);
  }
  const std::string what = "unknown option " + flag;
  const std::string command = app.get_parent() ? "ffn-train " + app.get_name() : "ffn-train";
  if (paths.empty()) throw UsageError(what + did_you_mean(flag, names), "`" + command + " --help` shows the options");
  constexpr std::size_t kMost = 4;
  std::vector<std::string> meant;
  for (std::size_t i = 0; i < std::min(kMost, paths.size()); ++i) meant.push_back(paths[i] + "=" + value);
  throw UsageError(what + "; did you mean " + join(meant, " or ") + "?", "keys of the config are set without dashes: key=value");
}

// "DIR" of an option whose help has "DIR... REQUIRED".
std::string value_name(const CLI::Option& option, const Declarations& declarations) {
  if (const auto words = declarations.words.find(&option); words != declarations.words.end()) return "one of " + join(words->second);
  const std::string type = option.get_type_name();
  return type.substr(0, std::min(type.find(':'), type.find("...")));
}

std::string problem_of(const CLI::App& command, const CLI::ParseError& error, const Declarations& declarations) {
  const std::string text = error.what(), name = text.substr(0, text.find_first_of(": "));
  const auto* option = command.get_option_no_throw(name);
  const std::string who = command.get_parent() ? command.get_name() : "ffn-train";
  if (option && dynamic_cast<const CLI::RequiredError*>(&error)) {
    return who + " needs " + (option->get_positional() ? "" : name + " ") + value_name(*option, declarations) +
           (declarations.words.count(option) ? "" : ": " + option->get_description());
  }
  if (option && dynamic_cast<const CLI::ArgumentMismatch*>(&error) && text.find("missing") != std::string::npos)
    return name + " needs a value: " + value_name(*option, declarations);
  if (dynamic_cast<const CLI::ExcludesError*>(&error)) {
    const auto other = text.rfind(' ');
    return name + " and " + text.substr(other == std::string::npos ? 0 : other + 1) + " exclude each other";
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&error)) {
    return "more than " + who + " takes: " + join(command.remaining(true), " ");
  }
  return option && option->get_positional() ? who + text.substr(name.size()) : text;
}

// Errors of CLI11 in the form of all others.
int refuse(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& words, const Declarations& declarations) {
  if (dynamic_cast<const CLI::Success*>(&error)) return app.exit(error);
  const auto& command = app.get_subcommands().empty() ? app : *app.get_subcommands()[0];
  for (const auto& left : app.remaining(true)) {
    if (left.size() < 2 || left[0] != '-' || left.find_first_not_of('-') == std::string::npos) continue;
    refuse_option(command, left, words);
  }
  const std::string name = command.get_parent() ? command.get_name() + " " : "";
  throw UsageError(problem_of(command, error, declarations), "`ffn-train " + name + "--help` shows what there is");
}

}  // namespace

int run_command_line(int argc, char** argv) {
  CLI::App app("ffn-train: which feed-forward layer, and how sure are we?", "ffn-train");
  app.set_version_flag("--version", std::string("ffn-train ") + kVersion + " (" + kGitCommit + ")");
  app.set_help_flag("-h,--help", "this text");
  app.formatter(std::make_shared<Formatter>(terminal_width_of(1)));
  app.require_subcommand(0, 1);
  CommonOptions common;
  common.argv.assign(argv, argv + argc);
  Declarations declarations;
  const CommandLine program(app, declarations);
  add_commands(program, common);
  common.description = program.description();
  // After the commands: those added later would inherit it.
  app.footer(kHelpFooter);
  if (std::getenv(kCompleteVariable)) return print_completions(common.description, {argv + 1, argv + argc});
  auto words = words_of(argc, argv);
  if (!words.empty() && words[0] == "help") {  // "help plan" is "plan --help"
    words.erase(words.begin());
    words.push_back("--help");
  }
  if (!words.empty() && !is_command(words[0], common)) require_command(words[0], common);
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    return refuse(app, error, words, declarations);
  }
  set_up_log(log_options(common));
  check_chosen_build();
  return declarations.chosen();
}

}  // namespace ffn::app
