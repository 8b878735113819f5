// ffn-train man: the manual page, from the declarations that parse the command line.
#include <algorithm>
#include <iostream>
#include <sstream>
#include <utility>

#include "../commands.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/base/version.hpp"

namespace ffn::app {

namespace {

// ExitCode (base/error.hpp) and what signals give, for people.
constexpr std::pair<int, const char*> kExitCodes[] = {
    {0, "done"},
    {1, "a run failed or diverged, or every run of a study diverged"},
    {2, "usage or config"},
    {3, "data or checkpoint"},
    {4, "study finished with some runs failed"},
    {5, "the condition of --fail-if, or a claim (expect) that is refuted or not shown"},
    {75, "interrupted; start again to resume"},
    {130, "stopped by a second SIGINT"},
    {143, "stopped by a second SIGTERM"},
};

// As troff reads it: no dash is a hyphen, and no text a request.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  return !out.empty() && (out[0] == '.' || out[0] == '\'') ? "\\&" + out : out;
}

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(const std::string& text) { return text.empty() ? "" : "\\fI" + roff(text) + "\\fR"; }

// "-o, --out DIR", or for a word what it is called.
std::string head_of(const OptionDescription& option) {
  std::vector<std::string> names;
  for (const auto& name : option.names) names.push_back(bold(name));
  const std::string value = !option.value.empty() ? option.value : option.takes_word ? join(option.words, "|") : "";
  return join(names) + (names.empty() || value.empty() ? "" : " ") + italic(value);
}

std::string option_entry(const OptionDescription& option) {
  std::string out = ".TP\n" + head_of(option) + "\n" + roff(option.doc);
  const bool told = std::all_of(option.words.begin(), option.words.end(),
                                [&](const std::string& word) { return option.doc.find(word) != std::string::npos; });
  if (!told && !option.value.empty()) out += " (" + roff(join(option.words)) + ")";
  if (!option.fallback.empty()) out += "; default " + roff(option.fallback);
  return out + "\n";
}

std::string synopsis_of(const CommandDescription& command, const std::string& name) {
  std::string out = ".br\n" + bold(name);
  const bool has_options =
      std::any_of(command.options.begin(), command.options.end(), [](const auto& option) { return !option.names.empty(); });
  if (has_options) out += " [" + italic("OPTION") + "...]";
  for (const auto& option : command.options) {
    if (!option.takes_word) continue;
    std::istringstream words((!option.value.empty() ? option.value : join(option.words, "|")) +
                             (option.many && option.value.find_last_not_of('.') + 1 == option.value.size() ? "..." : ""));
    for (std::string word; words >> word;) out += option.required ? " " + italic(word) : " [" + italic(word) + "]";
  }
  return out + "\n";
}

std::string option_entries(const CommandDescription& command) {
  std::string out;
  for (const auto& option : command.options) out += option_entry(option);
  return out;
}

std::string lines(const std::string& text) {
  std::string out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out += roff(line) + "\n";
  return out;
}

std::string manual_page(const CommandDescription& program) {
  std::string out = ".TH FFN\\-TRAIN 1 \"\" \"ffn\\-train " + roff(kVersion) + "\" \"User Commands\"\n";
  out += ".SH NAME\nffn\\-train \\- which feed\\-forward layer, and how sure are we?\n.SH SYNOPSIS\n" + synopsis_of(program, program.name);
  for (const auto& command : program.subcommands) out += synopsis_of(command, program.name + " " + command.name);
  out += ".SH DESCRIPTION\nTrains what a config describes, one run or a study of many, and says which variant is better and how surely. " +
         italic("KEY=VALUE") + " changes any key of the config by its dotted path; several values, divided by commas, make a study. " +
         bold("ffn-train list keys") + " shows every key, " + bold("ffn-train list configs") +
         " the configs that are part of the program.\n";
  out += ".SH OPTIONS\n" + option_entries(program) + ".SH COMMANDS\n";
  for (const auto& command : program.subcommands)
    out += ".SS " + bold(command.name) + "\n" + roff(command.doc) + "\n" + option_entries(command);
  out += ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : kExitCodes) out += ".TP\n" + bold(std::to_string(code)) + "\n" + roff(meaning) + "\n";
  out +=
      ".SH ENVIRONMENT\n.TP\n" + bold("NO_COLOR") + "\nNo colour, as with " + bold("--color never") + ".\n.TP\n" +
      bold("FFN_TRAIN_ENGINE") + "\nAbsolute path of the LibTorch engine, where it does not stand beside the program.\n.TP\n" +
      bold("FFN_ISA") +
      "\nThe instruction set of the kernels, where it is not to be the best that the processor has: baseline, v3 (AVX2) or v4 (AVX\\-512).\n";
  return out + ".SH EXAMPLES\n.nf\n" + lines(kExamples) + ".fi\n";
}

}  // namespace

void add_man(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("man", "the manual page; to read it: ffn-train man | man -l -");
  command.run([&common] {
    std::cout << manual_page(common.description);
    return 0;
  });
}

}  // namespace ffn::app
