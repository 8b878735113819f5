// What makes two runs the same. Stands here because a text counts by its content: configs describe, and read no data.
#pragma once

#include <vector>

#include "ffn/config/run_config.hpp"

namespace ffn {

/// SHA-256 (first 16 hex digits) of what a run is: the resolved config without its name, paths and what computes it, with the
/// content hash of a text instead of its path. Throws DataError for a text that cannot be read.
std::string run_identity(const RunConfig& config);

/// The same config with each of these seeds.
std::vector<std::string> run_identities(const RunConfig& config, const std::vector<std::int64_t>& seeds);

}  // namespace ffn
