// ffn-train merge A B... -o C: one directory of a study whose parts were trained on several machines.
#include "ffn/study/merge.hpp"

#include <unistd.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "../commands.hpp"
#include "../next_command.hpp"
#include "ffn/base/marked_names.hpp"
#include "ffn/base/shell.hpp"
#include "ffn/report/format.hpp"
#include "ffn/store/log.hpp"

namespace ffn::app {

namespace {

// "a: 12 runs; b: 8 runs"
std::string counts_text(const std::map<std::string, std::size_t>& counts) {
  std::string text;
  for (const auto& [name, n] : counts) text += (text.empty() ? "" : "; ") + name + ": " + format_count(n) + (n == 1 ? " run" : " runs");
  return text;
}

Json counts_json(const std::map<std::string, std::size_t>& counts) {
  Json json = Json::object();
  for (const auto& [name, n] : counts) json[name] = n;
  return json;
}

int merge(const std::vector<std::string>& directories, const std::string& out, const CommonOptions& common) {
  const auto result = merge_studies({directories.begin(), directories.end()}, out);
  for (const auto& note : result.notes) log_warning(note);
  if (result.versions.size() > 1) log_warning("trained by different versions of ffn-train: " + counts_text(result.versions));
  if (result.computed_by.size() > 1)
    log_warning("computed in different ways, so that last bits may differ from those of one machine: " + counts_text(result.computed_by));
  const std::size_t missing = result.planned - std::min(result.planned, result.finished + result.unfinished);
  if (common.json) {
    const Json json = {{"directory", out},
                       {"planned", result.planned},
                       {"finished", result.finished},
                       {"unfinished", result.unfinished},
                       {"beside", result.beside},
                       {"copied", counts_json(result.copied)},
                       {"computed_by", counts_json(result.computed_by)},
                       {"versions", counts_json(result.versions)},
                       {"notes", result.notes}};
    print_json(json);
    return 0;
  }
  print_text(out + ": " + format_count(result.finished) + " finished, " + format_count(result.unfinished) + " begun, " +
             format_count(missing) + " not begun of " + format_count(result.planned) + " runs");
  if (!result.copied.empty()) print_text("copied from " + counts_text(result.copied));
  log_info(sentence_and_command("next:", "ffn-train compare " + shell_word(out), STDERR_FILENO));
  return 0;
}

}  // namespace

void add_merge(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("merge", "put the directories of one study that several machines trained together");
  auto directories = std::make_shared<std::vector<std::string>>();
  auto out = std::make_shared<std::string>();
  command.option("directories", *directories, "directories of the study; they are read, never changed").required().type("DIR...");
  command.option("-o,--out", *out, "where the whole goes: a new directory, or one of the same study").required().type("DIR").directory();
  add_output_options(command, common);
  command.run([&common, directories, out] {
    to_named_directories(*directories);
    return merge(*directories, *out, common);
  });
}

}  // namespace ffn::app
