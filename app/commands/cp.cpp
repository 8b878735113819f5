// ffn-train cp NAME FILE: a shipped config as a file of one's own.
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "../commands.hpp"
#include "../load_config.hpp"
#include "../next_command.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/shell.hpp"

namespace ffn::app {
namespace fs = std::filesystem;

namespace {

// The text as it is. What it extends is named as every config can name it, and the schema, which lies beside the original, is not.
std::string own_text(const std::string& path) {
  std::string text = shipped_files().at(path);
  const Json extends = parse_document(text, path, "").tree().value("extends", Json());
  for (const auto& base : extends.is_array() ? extends : extends.is_null() ? Json::array() : Json::array({extends})) {
    const fs::path shipped = (fs::path(path).parent_path() / base.get<std::string>()).lexically_normal();
    const std::string quoted = dump_json(base);
    text.replace(text.find(quoted, text.find("\"extends\"")), quoted.size(), dump_json(Json(shipped.string())));
  }
  if (const auto schema = text.find("  \"$schema\""); schema != std::string::npos) text.erase(schema, text.find('\n', schema) + 1 - schema);
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
  auto command = program.subcommand("cp", "a shipped config as a file of your own");
  auto name = std::make_shared<std::string>(), to = std::make_shared<std::string>();
  command.option("name", *name, "config or experiment, as `ffn-train list configs` and `list experiments` have them")
      .required()
      .type("SHIPPED");
  command.option("file", *to, "new file, or the directory that it goes to").required().type("FILE");
  add_output_options(command, common);
  command.run([name, to] { return copy(*name, *to); });
}

}  // namespace ffn::app
