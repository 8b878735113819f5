// Config files and overrides from the command line, as a document or a run.
#pragma once

#include "ffn/base/json_document.hpp"
#include "ffn/config/run_config.hpp"
#include "ffn/store/run_directory.hpp"

namespace ffn::app {

/// The configs and experiments that are part of the program: "configs/xor.json" → text. Written by the build (CMakeLists.txt).
const ShippedFiles& shipped_files();

/// The tables that they name: "configs/data/iris.csv" → text. `ffn-train cp` writes them.
const ShippedFiles& shipped_tables();

/// The short name of a shipped file: "xor"; "experiments/facts" where a config has the short name.
std::string short_name(const std::string& path);

/// The path of the shipped file of that name. Throws UsageError if there is none.
std::string shipped_path(const std::string& name);

/// The path that is meant: `config` itself if there is such a file, or the config or experiment of that name, on disk here or shipped.
/// Throws UsageError for a name that is nearly one of them.
std::string resolve_config(const std::string& config);

/// Whether it is a file, the name of a config or experiment, or stdin.
bool names_config(const std::string& config);

/// The config, its bases and the overrides.
Document load_with_overrides(const std::string& config, const std::vector<std::string>& overrides);

/// Throws UsageError for a config of another program's runs: what `command` looks at is not known of them.
void refuse_program(const Document& document, const char* command);

/// The run that is named; of a directory that is none, the one run below it. Throws UsageError where there is none or there are several,
/// naming one.
RunDirectory named_run(const std::string& path);

/// The config of a run that has weights. Throws DataError for one that is not trained yet.
RunConfig trained_config(const RunDirectory& directory, const std::filesystem::path& weights);

}  // namespace ffn::app
