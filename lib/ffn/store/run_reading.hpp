// What the files of a run still say where some of them are damaged. Internal to ffn/record.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ffn/store/run_directory.hpp"

namespace ffn::record_detail {

/// One of a run's small files: what it says, or what is wrong with it. Neither: it is not there.
template <class T>
struct Read {
  std::optional<T> value;
  std::string damage;
};

/// Throw ReadError for what cannot be read now.
Read<RunStatus> status_or_damage(const std::filesystem::path& run);
Read<RunSummary> summary_or_damage(const std::filesystem::path& run);

/// Empty for a file that is not there or is none.
std::string read_or_nothing(const std::filesystem::path& path);

/// What differs from what a summary vouches for, one line each: "metrics.jsonl: 120 bytes instead of 4096". `except` is not
/// looked at.
std::vector<std::string> file_differences(const RunDirectory& directory, const RunSummary& summary, const std::string& except = {});

}  // namespace ffn::record_detail
