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
#include "ffn/config/schema.hpp"
#include "ffn/config/study_config.hpp"

namespace ffn::app {
namespace fs = std::filesystem;

namespace {

constexpr char kSchema[] = "ffn-train.schema.json";

// The text as it is. What it extends is named as every config can name it; the schema is the file that comes with the copy.
std::string own_text(const std::string& path) {
  std::string text = shipped_files().at(path);
  const Json extends = parse_document(text, path, "").tree().value("extends", Json());
  for (const auto& base : extends.is_array() ? extends : extends.is_null() ? Json::array() : Json::array({extends})) {
    const fs::path shipped = (fs::path(path).parent_path() / base.get<std::string>()).lexically_normal();
    const std::string quoted = dump_json(base);
    text.replace(text.find(quoted, text.find("\"extends\"")), quoted.size(), dump_json(Json(shipped.string())));
  }
  if (const auto schema = text.find("  \"$schema\""); schema != std::string::npos) text.erase(schema, text.find('\n', schema) + 1 - schema);
  return text.insert(text.find('\n') + 1, std::string("  \"$schema\": \"./") + kSchema + "\",\n");
}

// Throws where it is there already.
void require_new(const fs::path& file) {
  std::error_code error;
  if (path_exists(file) || fs::is_symlink(fs::symlink_status(file, error)))
    throw UsageError(file.string() + " exists and is not overwritten", "name another file, or move that one away");
}

void write_new(const fs::path& file, const std::string& text) {
  if (file.has_parent_path()) make_directories(file.parent_path());
  write_file_atomically(file, text);
}

// The shipped table that a shipped config names, by its path beside the config; "" if there is none.
std::string table_of(const std::string& path) {
  const Json task = parse_document(shipped_files().at(path), path, "").tree().value("task", Json::object());
  const std::string file = task.value("file", "");
  return shipped_tables().count((fs::path(path).parent_path() / file).string()) ? file : "";
}

int copy(const std::string& name, const std::string& to) {
  const std::string path = shipped_path(name);
  fs::path target = expand_home(to);
  std::error_code error;
  if (fs::is_directory(target, error)) target /= fs::path(path).filename();
  require_new(target);
  const std::string table = table_of(path);
  const fs::path table_target = target.parent_path() / table;
  if (!table.empty()) {
    require_new(table_target);
    write_new(table_target, shipped_tables().at((fs::path(path).parent_path() / table).string()));
  }
  write_new(target, own_text(path));
  write_file_atomically(target.parent_path() / kSchema, dump_json(json_schema(describe_document), 2) + "\n");
  print_text(target.string() + (table.empty() ? " is yours to change. " : " and " + table_target.string() + " are yours to change. ") +
             kSchema + " beside it lets editors complete and check keys.");
  std::cout << sentence_and_command("train it:", "ffn-train " + shell_word(target.string()), STDOUT_FILENO) << "\n";
  return 0;
}

}  // namespace

void add_cp(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("cp", "copy a shipped config to a file");
  auto name = std::make_shared<std::string>(), to = std::make_shared<std::string>();
  command.option("name", *name, "config or experiment, as `ffn-train list configs` and `list experiments` have them")
      .required()
      .type("SHIPPED");
  command.option("file", *to, "new file, or the directory that it goes to").required().type("FILE");
  add_output_options(command, common);
  command.run([name, to] { return copy(*name, *to); });
}

}  // namespace ffn::app
