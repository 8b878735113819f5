// ffn-train cp NAME FILE: copies a shipped config to a file of the user's own.
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <regex>

#include "../commands.hpp"
#include "../load_config.hpp"
#include "../next_command.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/shell.hpp"

namespace ffn::app {
namespace fs = std::filesystem;

namespace {

// The file as it is. A base gets its shipped name, which configs extend wherever they stand; the place of the schema is not known.
std::string own_text(const std::string& path) {
  std::string text = std::regex_replace(shipped_files().at(path), std::regex(R"( *"\$schema": "[^"]*",\n)"), "");
  std::smatch base;
  if (std::regex_search(text, base, std::regex(R"re("extends": "([^"]*)")re")))
    text.replace(static_cast<std::size_t>(base.position(1)), static_cast<std::size_t>(base.length(1)),
                 (fs::path(path).parent_path() / base[1].str()).lexically_normal().string());
  return text;
}

int copy(const std::string& name, const std::string& to) {
  const std::string path = shipped_path(name);
  fs::path target = expand_home(to);
  std::error_code error;
  if (fs::is_directory(target, error)) target /= fs::path(path).filename();
  if (path_exists(target) || fs::is_symlink(fs::symlink_status(target, error)))
    throw UsageError(target.string() + " exists and is not overwritten", "name another file, or move that one away");
  if (target.has_parent_path()) make_directories(target.parent_path());
  write_file_atomically(target, own_text(path));
  print_text(target.string() + " is yours to change.");
  std::cout << sentence_and_command("train it:", "ffn-train " + shell_word(target.string()), STDOUT_FILENO) << "\n";
  return 0;
}

}  // namespace

void add_cp(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("cp", "copy a shipped config to a file of your own");
  auto name = std::make_shared<std::string>(), to = std::make_shared<std::string>();
  command.option("name", *name, "config or experiment, as `ffn-train list configs` and `list experiments` have them")
      .required()
      .type("SHIPPED");
  command.option("file", *to, "new file, or the directory that it goes to").required().type("FILE");
  add_output_options(command, common);
  command.run([name, to] { return copy(*name, *to); });
}

}  // namespace ffn::app
