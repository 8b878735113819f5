// ffn-train rm DIR...: removes runs and studies, after asking: the files that ffn-train writes, and no other.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "../commands.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/marked_names.hpp"
#include "ffn/base/text.hpp"
#include "ffn/report/format.hpp"
#include "ffn/store/cleanup.hpp"
#include "ffn/store/run_check.hpp"
#include "ffn/study/study_lock.hpp"

namespace ffn::app {
namespace fs = std::filesystem;

namespace {

// True while a study or merge works in it or around it, or a process trains one of its runs.
bool is_in_use(const fs::path& directory, const Removal& removal) {
  fs::path around = directory;
  for (int level = 0; level < 4; ++level, around = around.parent_path()) {  // STUDY/tuning/LABEL/RUN
    if (is_study_locked(around)) return true;
  }
  return std::any_of(removal.runs.begin(), removal.runs.end(),
                     [](const fs::path& run) { return path_exists(run.parent_path() / ".lock") && !claim_run(run); });
}

Removal asked_removal(const std::string& given) {
  fs::path directory = absolute_path(named_directory(given)).lexically_normal();
  if (!directory.has_filename()) directory = directory.parent_path();  // "runs/xor/" would follow a link
  const auto type = link_type_of(directory);
  if (type == fs::file_type::symlink)
    throw UsageError(given + " is a link; nothing was removed", "name the directory that it leads to; plain rm removes the link");
  if (type != fs::file_type::directory) throw UsageError("no directory " + given, "name a run or a study; `ffn-train runs` lists them");
  if (!is_results_directory(directory))
    throw UsageError(given + " is no run's and no study's directory; nothing was removed",
                     holds_results(directory) ? "name those below it; `ffn-train runs` lists them" : "plain rm removes other directories");
  const auto here = current_directory().lexically_relative(directory);
  if (!here.empty() && *here.begin() != "..")
    throw UsageError("this shell is in " + given + "; nothing was removed", "go to another directory first");
  auto removal = removal_of(directory);
  if (is_in_use(directory, removal))
    throw Error(ExitCode::interrupted, "another process is at work in " + given + "; nothing was removed",
                "wait until it has ended, or stop it");
  return removal;
}

int rm(const std::vector<std::string>& directories, bool yes, const CommonOptions& common) {
  std::vector<Removal> removals;
  for (const auto& given : directories) removals.push_back(asked_removal(given));
  std::size_t runs = 0;
  double bytes = 0;
  Json list = Json::array();
  for (std::size_t i = 0; i < removals.size(); ++i) {
    const auto& one = removals[i];
    runs += one.runs.size();
    bytes += static_cast<double>(one.bytes);
    std::vector<std::string> others;
    for (const auto& path : one.others)
      others.push_back((named_directory(directories[i]) / path.lexically_relative(one.directories.back())).string());
    list.push_back({{"path", directories[i]}, {"runs", one.runs.size()}, {"bytes", one.bytes}, {"removed", yes}, {"others", others}});
    if (common.json) continue;
    print_text(
        printable(format_bytes(static_cast<double>(one.bytes)) + "  " + directories[i] + ": " + format_counted(one.runs.size(), "run")));
    for (const auto& path : others) print_text(printable("  stays: " + path + ", no file of this study or run"));
  }
  const std::string what = format_counted(runs, "run") + " (" + format_bytes(bytes) + ")";
  if (common.json) print_json(list);
  if (!may_remove(what, yes, common)) return 0;
  for (const auto& one : removals) remove_results(one);
  if (!common.json) print_text("removed " + what);
  return 0;
}

}  // namespace

void add_rm(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("rm", "remove runs and studies; asks first");
  auto directories = std::make_shared<std::vector<std::string>>();
  auto yes = std::make_shared<bool>(false);
  command.option("directories", *directories, "studies or runs; files that ffn-train does not write stay")
      .required()
      .type("DIR...")
      .directory();
  command.flag("--yes", *yes, "do not ask");
  add_output_options(command, common);
  command.run([&common, directories, yes] { return rm(*directories, *yes, common); });
}

}  // namespace ffn::app
