// ffn-train clean [DIR]: removes earlier results, damaged runs and what killed commands left, after asking, and nothing else.
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "../commands.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/marked_names.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/layout.hpp"
#include "ffn/store/cleanup.hpp"
#include "ffn/study/study_lock.hpp"

namespace ffn::app {
namespace fs = std::filesystem;

namespace {

// "3 (1.2 MB)"
std::string count_and_size(const std::vector<Leftover>& all) {
  double bytes = 0;
  for (const auto& one : all) bytes += static_cast<double>(one.bytes);
  return format_count(static_cast<std::int64_t>(all.size())) + " (" + format_bytes(bytes) + ")";
}

// True for files that a running process may be writing.
bool is_at_work(const fs::path& path) {
  return is_temporary(path.filename().string()) &&
         (is_study_locked(path.parent_path()) || is_study_locked(path.parent_path().parent_path()) ||
          is_study_locked(path.parent_path().parent_path().parent_path()));
}

int clean(const std::string& directory, bool yes, const CommonOptions& common) {
  if (!path_exists(directory)) throw UsageError("no directory " + directory, "name the one that results go to: ffn-train clean DIR");
  std::vector<Leftover> ours;
  Json list = Json::array();
  for (auto& one : find_leftovers(directory)) {
    if (is_at_work(fs::absolute(one.path))) continue;
    const bool removed = yes && one.foreign.empty();
    list.push_back({{"path", one.path.string()}, {"bytes", one.bytes}, {"removed", removed}, {"foreign", one.foreign}});
    if (!common.json) {
      const std::string stays = one.foreign.empty() ? "" : "  stays: it holds " + one.foreign + ", which is not ffn-train's";
      for (const auto& line :
           wrapped_lines(format_bytes(static_cast<double>(one.bytes)) + "  " + one.path.string() + stays, terminal_width_of(1), 2))
        std::cout << line << "\n";
    }
    if (one.foreign.empty()) ours.push_back(std::move(one));
  }
  if (ours.empty()) {
    if (common.json) print_json(list);
    else print_text("nothing to remove below " + directory);
    return 0;
  }
  if (common.json && !yes) print_json(list);
  if (!may_remove(count_and_size(ours), yes, common)) return 0;
  for (const auto& one : ours) remove_leftover(one.path);
  if (common.json) print_json(list);
  else print_text("removed " + count_and_size(ours));
  return 0;
}

}  // namespace

void add_clean(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("clean", "remove earlier results (NAME.old-N) and damaged runs; asks first");
  auto directory = std::make_shared<std::string>("runs");
  auto yes = std::make_shared<bool>(false);
  command.option("directory", *directory, "where results are").type("DIR").shows_default().directory();
  command.flag("--yes", *yes, "do not ask");
  add_output_options(command, common);
  command.run([&common, directory, yes] { return clean(named_directory(*directory).string(), *yes, common); });
}

}  // namespace ffn::app
