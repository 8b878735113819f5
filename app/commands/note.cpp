// ffn-train note RUN [TEXT]: a person's words about a run or a study, kept beside it.
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "../commands.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/marked_names.hpp"
#include "ffn/base/text.hpp"
#include "ffn/compare/compare.hpp"
#include "ffn/store/note_file.hpp"
#include "ffn/store/run_directory.hpp"
#include "ffn/store/study_file.hpp"

namespace ffn::app {
namespace fs = std::filesystem;

namespace {

// The run or the study; of a directory that is neither, the one run below it.
fs::path noted_directory(const std::string& given) {
  const fs::path directory = named_directory(given);
  if (!directory_exists(directory)) throw UsageError("no directory " + given, "name a run or a study; `ffn-train runs` lists them");
  if (holds_run(directory) || has_study_file(directory)) return directory;
  const auto runs = find_run_places({directory}).there;
  if (runs.size() == 1) return runs[0];
  throw UsageError(given + " is no run and no study",
                   runs.empty() ? "`ffn-train runs` lists them" : "name one, for example " + runs[0].string());
}

int note(const std::string& given, const std::optional<std::string>& text, const CommonOptions& common) {
  const fs::path directory = noted_directory(given);
  if (text && text->empty()) remove_note(directory);
  if (text) {
    std::vector<std::string> lines;
    std::istringstream all(*text);
    for (std::string line; std::getline(all, line);) lines.push_back(line);
    add_to_note(directory, lines);
  }
  const auto lines = read_note(directory);
  if (common.json) print_json({{"path", directory.string()}, {"note", lines}});
  else if (lines.empty()) print_text(printable(directory.string()) + ": no note");
  else {
    for (const auto& line : lines) print_text(printable(line));
  }
  return 0;
}

}  // namespace

void add_note(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("note", "add a note to a run or a study; `runs` shows it");
  auto directory = std::make_shared<std::string>();
  auto text = std::make_shared<std::optional<std::string>>();
  command.option("directory", *directory, "the run or the study").required().type("RUN|STUDY").directory();
  command.option("text", *text, "added to its note; \"\" removes the note; without it, the note is shown").type("TEXT").may_be_empty();
  add_output_options(command, common);
  command.run([&common, directory, text] { return note(*directory, *text, common); });
}

}  // namespace ffn::app
