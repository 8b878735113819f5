// Finds runs, and what the studies around them say.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "ffn/compare/compare.hpp"
#include "ffn/store/study_file.hpp"

namespace ffn {

/// One place, and what the study around it says belongs there.
struct FoundPlace {
  std::filesystem::path path;
  bool listed_only = false;  // by a study.json; nothing is there
  bool extra = false;        // it lies in a study's directory, and the study does not list it
  std::shared_ptr<const StudyFile> study = nullptr;
  std::size_t index = 0;  // among the study's runs

  const StudyFile::Variant& variant() const { return study->variants[index % study->variants.size()]; }
  const std::string& identity() const { return variant().identities[index / study->variants.size()]; }
};

struct RunSearch {
  std::vector<FoundPlace> all;
  std::vector<std::filesystem::path> studies;
  std::vector<std::string> damaged_studies;
};

/// Each directory once, however often it is reached. Throws DataError for a directory that is not there, and for more than 50,000 without a
/// run.
RunSearch search_runs(const std::vector<std::filesystem::path>& directories, TuningRuns tuning);

}  // namespace ffn
