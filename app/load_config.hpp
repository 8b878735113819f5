// Config files and overrides from the command line, as a document or a run.
#pragma once

#include "ffn/config/run_config.hpp"
#include "ffn/core/json_document.hpp"

namespace ffn::app {

/// The file (a shipped config may be named without path and .json), its bases and the overrides.
Document load_with_overrides(const std::string& config, const std::vector<std::string>& overrides);

/// The file that is meant: `config` itself, or the shipped one of that name.
std::string resolve_config(const std::string& config);

/// Directories with shipped configs or experiments: ./configs, and those of the installation. `what` is the folder's name.
std::vector<std::string> shipped_files(const std::string& what);

}  // namespace ffn::app
