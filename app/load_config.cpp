#include "load_config.hpp"

#include <filesystem>

#include "ffn/config/study_config.hpp"
#include "ffn/core/files.hpp"
#include "ffn/core/suggest.hpp"
#include "ffn/record/run_standing.hpp"

namespace ffn::app {
namespace fs = std::filesystem;

namespace {

bool is_file(const std::string& path) {
  std::error_code error;
  return path_exists(path) && !fs::is_directory(path, error);
}

enum class Where { here_or_shipped, shipped };

// "xor" → "configs/xor.json", "experiments/gated" → "experiments/gated.json"; "" if there is none.
std::string path_of_name(const std::string& name, Where where = Where::here_or_shipped) {
  const std::string normal = fs::path(name).lexically_normal().string();
  const std::string file = fs::path(normal).extension() == ".json" ? normal : normal + ".json";
  for (const char* folder : {"", "configs/", "experiments/"}) {
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
  if (path.empty()) throw UsageError("no shipped config '" + name + "'" + did_you_mean(name, short_names()), "`ffn-train list configs` and `ffn-train list experiments` show them");
  return path;
}

std::string short_name(const std::string& path) {
  const fs::path stem = fs::path(path).stem();
  return path_of_name(stem.string(), Where::shipped) == path ? stem.string() : (fs::path(path).parent_path() / stem).string();
}

bool names_config(const std::string& config) {
  return config == "-" || is_file(expand_home(config)) || (!config.empty() && !path_of_name(config).empty());
}

std::string resolve_config(const std::string& config) {
  if (config.empty() || config == "-" || is_file(config)) return config;
  const std::string path = path_of_name(config);
  if (!path.empty()) return path;
  const auto remedy = did_you_mean(config, short_names());
  if (!remedy.empty() && !path_exists(config))
    throw UsageError("no config at " + config + remedy, "`ffn-train list configs` shows those that are shipped");
  return config;
}

Document load_with_overrides(const std::string& config, const std::vector<std::string>& overrides) {
  Document document = load_document(resolve_config(config), shipped_files());
  apply_overrides(document, overrides);
  return document;
}

RunConfig trained_config(const RunDirectory& directory) {
  const std::string run = directory.path().string(), config = directory.config_path().string();
  if (!path_exists(directory.config_path())) throw UsageError("no run at " + run, "name the directory that a training ended with, for example runs/text/seed-0");
  if (!path_exists(directory.weights_path())) throw DataError(run + " has no trained weights yet", "finish the training first, with the command that started it");
  require_as_trained(directory);
  return read_run_config(load_document(config), config);
}

}  // namespace ffn::app
