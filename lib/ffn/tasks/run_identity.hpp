// What makes two runs the same. Stands here because a text counts by its content: configs describe, and read no data.
#pragma once

#include "ffn/config/run_config.hpp"

namespace ffn {

/// SHA-256 (first 16 hex digits) of what a run is: the resolved config without its name, paths and what computes it, with the
/// content hash of a text instead of its path. Throws DataError for a text that cannot be read.
std::string run_identity(const RunConfig& config);

}  // namespace ffn
