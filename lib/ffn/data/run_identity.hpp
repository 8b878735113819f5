// A run's identity. It is in this room because a text counts by its content, and configs read no data.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "ffn/base/json.hpp"
#include "ffn/config/run_config.hpp"

namespace ffn {

/// A file whose content is part of the run's identity.
struct DataFile {
  std::string key;  ///< of the task, which names it
  std::string path;
};
/// The files that a task reads: its fields that are paths.
std::vector<DataFile> data_files(TaskConfig task);

/// The values that the identity hashes: keys that differ from their defaults (config/config_values.hpp), by path. `data_hash`:
/// data_hash_now(), in place of the paths of data files.
Json identity_json(const RunConfig& config, const std::string& data_hash);

/// SHA-256 (first 16 hex digits) of what a run is: the resolved config without its name, paths and what computes it, with the
/// content hashes of data files instead of their paths. Throws DataError for one that cannot be read.
std::string run_identity(const RunConfig& config);
/// The same where the files may not be at hand: `data_hash` is data_hash_now().
std::string run_identity(const RunConfig& config, const std::string& data_hash);

/// SHA-256 of each data file of a task, or file of a program, as it is now, with commas between them; empty without one.
std::string data_hash_now(const RunConfig& config);

/// The same config with each of these seeds; `data_hash` as above.
std::vector<std::string> run_identities(const RunConfig& config, const std::string& data_hash, const std::vector<std::int64_t>& seeds);

}  // namespace ffn
