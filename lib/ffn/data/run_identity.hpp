// What makes two runs the same. Stands here because a text counts by its content: configs describe, and read no data.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "ffn/base/json.hpp"
#include "ffn/config/run_config.hpp"

namespace ffn {

/// What the identity is taken of, but for the seed. `text`: stands for the path of a text.
Json identity_json(const RunConfig& config, const std::string& text);

/// SHA-256 (first 16 hex digits) of what a run is: the resolved config without its name, paths and what computes it, with the
/// content hash of a text instead of its path. Throws DataError for a text that cannot be read.
std::string run_identity(const RunConfig& config);
/// The same where the text may not be at hand: `text` is its content hash.
std::string run_identity(const RunConfig& config, const std::string& text);

/// What all seeds of a config have in common, whatever text they learn: the same without seed and text.
std::string config_identity(const RunConfig& config);

/// SHA-256 of the text that a config names, as it stands now; empty for other tasks.
std::string text_now(const RunConfig& config);

/// The same config with each of these seeds; `text` as above.
std::vector<std::string> run_identities(const RunConfig& config, const std::string& text, const std::vector<std::int64_t>& seeds);

}  // namespace ffn
