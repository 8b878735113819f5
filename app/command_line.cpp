#include "command_line.hpp"

#include <CLI/CLI.hpp>
#include <iostream>

#include "commands.hpp"
#include "ffn/core/error.hpp"
#include "ffn/version.hpp"

namespace ffn::app {

Option Option::required() { return Option(*option_->required()); }
Option Option::type(const char* name) { return Option(*option_->type_name(name)); }
Option Option::shows_default() { return Option(*option_->capture_default_str()); }
Option Option::value_if_bare(const char* value) { return Option(*option_->expected(0, 1)->default_str(value)); }
Option Option::integer_in(std::int64_t low, std::int64_t high) { return Option(*option_->check(CLI::Range(low, high))); }
Option Option::real_in(double low, double high) { return Option(*option_->check(CLI::Range(low, high))); }
Option Option::non_negative() { return Option(*option_->check(CLI::NonNegativeNumber)); }
Option Option::one_of(std::vector<std::string> words, bool listed_in_help) {
  CLI::Validator is_member = CLI::IsMember(std::move(words));
  if (!listed_in_help) is_member.description("");
  return Option(*option_->check(is_member));
}
Option Option::excludes(const Option& other) { return Option(*option_->excludes(other.option_)); }
bool Option::given() const { return option_->count() > 0; }

CommandLine CommandLine::subcommand(const char* name, const char* doc) { return {*app_->add_subcommand(name, doc), *chosen_}; }

Option CommandLine::option(const char* names, std::string& value, const char* doc) { return Option(*app_->add_option(names, value, doc)); }
Option CommandLine::option(const char* names, std::optional<std::string>& value, const char* doc) {
  const auto take = [&value](const std::string& given) { value = given; };
  return Option(*app_->add_option_function<std::string>(names, take, doc));
}
Option CommandLine::option(const char* names, std::vector<std::string>& value, const char* doc) {
  return Option(*app_->add_option(names, value, doc));
}
Option CommandLine::option(const char* names, int& value, const char* doc) { return Option(*app_->add_option(names, value, doc)); }
Option CommandLine::option(const char* names, std::int64_t& value, const char* doc) { return Option(*app_->add_option(names, value, doc)); }
Option CommandLine::option(const char* names, double& value, const char* doc) { return Option(*app_->add_option(names, value, doc)); }
Option CommandLine::flag(const char* names, bool& value, const char* doc) { return Option(*app_->add_flag(names, value, doc)); }
Option CommandLine::flag(const char* names, std::function<void(std::int64_t)> count, const char* doc) {
  return Option(*app_->add_flag_function(names, std::move(count), doc));
}

void CommandLine::run(Action action) {
  app_->callback([app = app_, chosen = chosen_, action = std::move(action)] {
    if (app->get_subcommands().empty()) *chosen = action;
  });
}

std::string CommandLine::help() const { return app_->help(); }

int run_command_line(int argc, char** argv) {
  CLI::App app("ffn-train: which feed-forward layer, and how sure are we?", "ffn-train");
  app.set_version_flag("--version", std::string("ffn-train ") + kVersion + " (" + kGitCommit + ")");
  app.set_help_flag("-h,--help", "this text");
  app.get_formatter()->column_width(34);
#if CLI11_VERSION_MAJOR > 2 || (CLI11_VERSION_MAJOR == 2 && CLI11_VERSION_MINOR >= 5)
  app.get_formatter()->enable_footer_formatting(false);  // examples are lines, not a paragraph
#endif
  app.require_subcommand(0, 1);
  CommonOptions common;
  common.argv.assign(argv, argv + argc);
  Action chosen;
  add_commands(CommandLine(app, chosen), common);
  // After the commands: those added later would inherit it.
  app.footer(
      "Examples:\n"
      "  ffn-train --config configs/xor.json\n"
      "  ffn-train --config configs/xor.json model.ffn.activation=silu train.optimizer.lr=3e-3\n"
      "  ffn-train --config configs/text.json task.file=my-notes.txt && ffn-train sample runs/text/seed-0\n"
      "  ffn-train list keys model.ffn");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11's own codes (100 and up) would mean nothing to a script.
    return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::usage);
  }
  return chosen();
}

}  // namespace ffn::app
