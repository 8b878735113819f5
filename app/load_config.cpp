#include "load_config.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "ffn/base/files.hpp"
#include "ffn/base/marked_names.hpp"
#include "ffn/base/shell.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/config/study_config.hpp"
#include "ffn/store/run_check.hpp"

namespace ffn::app {
namespace fs = std::filesystem;

namespace {

bool is_file(const std::string& path) { return path_exists(path) && !directory_exists(path); }

// A run's record, whose config can be trained again; by the path of its directory, too. Empty where there is none.
std::string record_of(const std::string& path) {
  const fs::path given = expand_home(path);
  try {
    const RunDirectory run(named_directory(given));
    return path.empty() || !path_exists(run.record_path()) ? "" : run.record_path().string();
  } catch (const UsageError&) {  // several: whoever reads the config says so
    return "";
  }
}

enum class Where { here_or_shipped, shipped };

// "xor" → "configs/xor.json", "experiments/facts" → "experiments/facts.json"; "" if there is none.
std::string path_of_name(const std::string& name, Where where = Where::here_or_shipped) {
  const std::string normal = fs::path(name).lexically_normal().string();
  const std::string file = fs::path(normal).extension() == ".json" ? normal : normal + ".json";
  for (const char* folder : {"", "configs/", "experiments/", "experiments/texts/"}) {
    const std::string path = folder + file;
    const bool has_folder = path.find('/') != std::string::npos;
    if (has_folder && (shipped_files().count(path) || (where == Where::here_or_shipped && is_file(path)))) return path;
  }
  return "";
}

std::vector<std::string> short_names() {
  std::vector<std::string> names;
  for (const auto& [path, text] : shipped_files()) names.push_back(short_name(path));
  return names;
}

}  // namespace

std::string shipped_path(const std::string& name) {
  const std::string path = path_of_name(name, Where::shipped);
  if (path.empty())
    throw UsageError("no shipped config '" + name + "'" + did_you_mean(name, short_names()),
                     "`ffn-train list configs` and `ffn-train list experiments` show them");
  return path;
}

std::string short_name(const std::string& path) {
  const fs::path stem = fs::path(path).stem();
  return path_of_name(stem.string(), Where::shipped) == path ? stem.string() : (fs::path(path).parent_path() / stem).string();
}

bool names_config(const std::string& config) {
  return config == "-" || is_file(expand_home(config)) ||
         (!config.empty() && (!path_of_name(config).empty() || !record_of(config).empty()));
}

std::string resolve_config(const std::string& config) {
  if (config.empty() || config == "-" || is_file(config)) return config;
  const std::string path = path_of_name(config);
  if (!path.empty()) return path;
  if (const std::string record = record_of(config); !record.empty()) return record;
  const auto remedy = did_you_mean(config, short_names());
  if (!remedy.empty() && !path_exists(config))
    throw UsageError("no config at " + config + remedy, "`ffn-train list configs` shows those that are shipped");
  return config;
}

// A person's config may be called run.json, too.
static bool is_record(const fs::path& file) {
  if (file.filename() != "run.json" || !is_file(file)) return false;
  const Json json = parse_json(read_file(file, "config", ExitCode::usage, 64 << 20));
  return json.is_object() && json.contains("identity") && json.contains("config");
}

static Document document_of_record(const fs::path& file) {
  const auto record = read_record(file.parent_path());
  if (!record) throw DataError("no run at " + file.string());
  return parse_document(dump_json_lossy(*record->config), file.string(), file.parent_path().string());
}

Document load_with_overrides(const std::string& config, const std::vector<std::string>& overrides) {
  const std::string path = resolve_config(config);
  if (const auto extension = fs::path(path).extension(); is_file(path) && (extension == ".csv" || extension == ".tsv")) {
    std::vector<std::string> command{"ffn-train", "table", "task.file=" + path};
    const auto says_what = [](const std::string& word) { return word.rfind("task.label=", 0) == 0 || word.rfind("task.target=", 0) == 0; };
    if (std::none_of(overrides.begin(), overrides.end(), says_what)) command.emplace_back("task.label=COLUMN");
    command.insert(command.end(), overrides.begin(), overrides.end());
    throw UsageError(path + " is a table, not a config", "train on it: " + shell_command(command));
  }
  try {
    Document document = is_record(path) ? document_of_record(path) : load_document(path, shipped_files());
    apply_overrides(document, overrides);
    return document;
  } catch (const ConfigError& error) {
    const auto extension = fs::path(path).extension();
    if (extension != ".yaml" && extension != ".yml") throw;
    const std::string json = fs::path(path).replace_extension(".json").string();
    throw ConfigError(path, error.problems(),
                      "configs are JSON; this converts it: python3 -c 'import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin), "
                      "indent=2))' < " +
                          shell_word(path) + " > " + shell_word(json));
  }
}

namespace {

// Up to two runs below a directory, as a run (xor/seed-0), a study and a directory of both have them. Where much else lies, it is not
// looked through.
void find_two_runs(const fs::path& directory, int depth, std::size_t& looked_at, std::vector<fs::path>& found) {
  constexpr std::size_t kMost = 10'000;
  for (const auto& [child, type] : entries_of(directory)) {
    if (found.size() == 2 || ++looked_at > kMost) return;
    if (is_no_result(child.filename().string()) ||
        (type != fs::file_type::directory && (type != fs::file_type::symlink || !directory_exists(child))))
      continue;
    const RunDirectory run{child};
    if (path_exists(run.record_path()) && path_exists(run.weights_path())) found.push_back(child);
    else if (depth > 1) find_two_runs(child, depth - 1, looked_at, found);
  }
}

}  // namespace

RunDirectory named_run(const std::string& path) {
  RunDirectory named{named_directory(expand_home(path))};
  if (path_exists(named.record_path())) return named;
  std::vector<fs::path> found;
  std::size_t looked_at = 0;
  find_two_runs(named.path(), 3, looked_at, found);
  if (found.empty()) throw UsageError("no run at " + path, "name the directory that a training ended with, for example runs/text/seed-0");
  if (found.size() == 1) return RunDirectory{found[0]};
  throw UsageError("there are several runs in " + path, "name one of them, for example " + found[0].string());
}

void refuse_program(const Document& document, const char* command) {
  if (has_command(document))
    throw UsageError(std::string(command) + " is about networks of ffn-train, and this config runs a program (engine.command)",
                     "compare, report, curves, runs and export work on its results");
}

RunConfig trained_config(const RunDirectory& directory, const fs::path& weights) {
  if (const auto record = read_record(directory.path()); record && record->config->contains("engine"))
    throw UsageError(directory.path().string() + " is a run of another program (engine.command): ffn-train has no weights of it",
                     "what the program left is in " + directory.output_path().string());
  return config_of(require_trained(directory, weights), directory);
}

}  // namespace ffn::app
