// The weights that runs start from (model.init_from), and whether they may.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "ffn/config/run_config.hpp"

namespace ffn {

/// Reads each file once, and asks once for each data whether it was trained on them.
class Starts {
 public:
  /// For a run with its seed, which may start from anything: finds its own start where init_from has one per seed. Throws DataError where
  /// there is none, or where it was trained on what this run holds out. `data`: data_hash_now().
  void take(RunConfig& config, const std::string& data);

 private:
  struct Start {
    std::string hash;
    std::map<std::string, std::string> metadata;
    std::optional<RunConfig> trained;   ///< none where the file does not say
    std::map<std::string, bool> is_of;  ///< data → whether it was trained on them
  };
  Start& read(const std::string& path);
  std::map<std::string, Start> known_;
};

/// Why weights of this metadata mean other columns, classes or characters than a task of that one; empty if they do not.
std::string other_names(const std::map<std::string, std::string>& start, const std::map<std::string, std::string>& task);

}  // namespace ffn
