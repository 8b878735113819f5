#include "load_config.hpp"

#include <algorithm>
#include <filesystem>

#include "ffn/config/study_config.hpp"
#include "ffn/core/files.hpp"
#include "ffn/core/suggest.hpp"

namespace ffn::app {
namespace fs = std::filesystem;

std::vector<std::string> shipped_files(const std::string& what) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  std::vector<std::string> files;
  std::vector<fs::path> folders{what};
  // Here, in the installation, or in the source tree that the program was built in (build/release/bin).
  if (const fs::path bin = program.parent_path(); !error) {
    folders.push_back(bin.parent_path() / "share" / "ffn-train" / what);
    folders.push_back(bin.parent_path().parent_path().parent_path() / what);
  }
  for (const fs::path& folder : folders) {
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      if (entry.path().extension() == ".json" && entry.path().filename() != "schema.json") files.push_back(entry.path().string());
    }
    if (!files.empty()) break;
  }
  std::sort(files.begin(), files.end());
  return files;
}

// "xor" → "configs/xor.json", if the name is no file itself.
std::string resolve_config(const std::string& config) {
  std::error_code error;
  const bool named = path_exists(config) && !fs::is_directory(config, error);
  if (named || config.empty() || config == "-" || config.find('/') != std::string::npos) return config;
  std::vector<std::string> names;
  for (const char* what : {"configs", "experiments"}) {
    for (const auto& file : shipped_files(what)) {
      const std::string stem = fs::path(file).stem().string();
      if (stem == config || stem + ".json" == config) return file;
      names.push_back(stem);
    }
  }
  const auto remedy = did_you_mean(config, names);
  if (!remedy.empty() && !path_exists(config))
    throw UsageError("no config at " + config + remedy, "`ffn-train list configs` shows those that are shipped");
  return config;
}

Document load_with_overrides(const std::string& config, const std::vector<std::string>& overrides) {
  Document document = load_document(resolve_config(config));
  for (const auto& override_text : overrides) {
    if (override_text.find('=') == std::string::npos && path_exists(override_text)) {
      throw UsageError("'" + override_text + "' is a file, not an override",
                       "give one config with --config; a study or several calls train several");
    }
  }
  apply_overrides(document, overrides);
  return document;
}

}  // namespace ffn::app
