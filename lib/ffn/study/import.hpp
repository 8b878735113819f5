// Results of earlier versions: six files a run, tuning beside the study.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace ffn {

struct ImportResult {
  std::size_t imported = 0;        ///< finished runs
  std::size_t already = 0;         ///< that were there
  std::size_t lost_studies = 0;    ///< whose study.json and its copy are both damaged or missing: left out whole
  std::vector<std::string> notes;  ///< what was left out, and why
};

/// Copies the finished runs of version 0.1 and 0.2 below `old` to where this version looks for them below `out`: their study's command,
/// started with `out`, finds them. Reads `old` only; throws UsageError where one of the two lies in the other.
ImportResult import_results(const std::filesystem::path& old, const std::filesystem::path& out);

}  // namespace ffn
