#include "ffn/compare/run_search.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <set>

#include "ffn/base/files.hpp"
#include "ffn/base/marked_names.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/store/run_directory.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

/// A directory by its inode: links may lead back, and one run may be reached twice. Empty where there is none.
std::string inode_of(const fs::path& directory) {
  struct stat status = {};
  return ::stat(directory.c_str(), &status) == 0 ? std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino) : "";
}

constexpr std::size_t kMostDirectories = 50'000;  // that hold no run themselves

class Search {
 public:
  explicit Search(TuningRuns tuning) : tuning_(tuning) {}

  RunSearch found;

  void below(const fs::path& directory) { look_in(directory, nullptr); }

  /// The same directory, reached twice.
  void drop_copies() {
    std::set<std::string> seen;
    const auto is_copy = [&](const FoundPlace& place) { return !place.listed_only && !seen.insert(inode_of(place.path)).second; };
    found.all.erase(std::remove_if(found.all.begin(), found.all.end(), is_copy), found.all.end());
  }

  /// For a run or a variant that is named by itself, the study around it says what belongs there, too.
  void find_studies_above() {
    std::map<fs::path, std::map<fs::path, std::size_t>> listed;
    std::map<fs::path, std::shared_ptr<const StudyFile>> known;
    for (auto& place : found.all) {
      if (place.study || place.extra || place.listed_only) continue;
      const fs::path path = fs::absolute(place.path).lexically_normal(), study = path.parent_path().parent_path();
      if (known.find(study) == known.end()) {
        known[study] = nullptr;
        try {
          if (auto file = read_study_file(study)) {
            const auto runs = file->run_directories(study);
            for (std::size_t i = 0; i < runs.size(); ++i) listed[study].emplace(runs[i], i);
            known[study] = std::make_shared<const StudyFile>(std::move(*file));
          }
        } catch (const Error&) {  // whoever names the study hears of it
        }
      }
      const auto at = listed[study].find(path);
      if (at == listed[study].end()) continue;
      place.study = known[study];
      place.index = at->second;
    }
  }

 private:
  using Listed = std::map<fs::path, bool>;  // whether there is a run

  // `around`: what the study around this directory lists, if there is one.
  void look_in(const fs::path& directory, const Listed* around) {
    const auto known = around ? around->find(directory) : Listed::const_iterator();
    const bool listed = around && known != around->end();  // then it stands among the places already
    if (listed ? known->second : holds_run(directory)) {
      if (!listed) found.all.push_back({directory, false, around != nullptr});
      return;
    }
    if (!searched_.insert(inode_of(directory)).second) return;
    if (searched_.size() > kMostDirectories + found.all.size())
      throw DataError("more than " + std::to_string(kMostDirectories) + " directories to search; the last one was " + directory.string(),
                      "name the directory that results went to");
    Listed of_study;
    if (take_study(directory, of_study)) around = &of_study;
    for (const auto& [path, type] : entries_of(directory)) {
      const std::string name = path.filename().string();
      const bool is_directory = type == fs::file_type::directory || (type == fs::file_type::symlink && directory_exists(path));
      const bool tunes = name == kTuningDirectory && around == &of_study && tuning_ == TuningRuns::leave_out;
      if (is_directory && !is_no_result(name) && !tunes) look_in(path, around);
    }
  }

  // Whether this is a study's directory, and its runs.
  bool take_study(const fs::path& directory, Listed& of_study) {
    try {
      auto file = read_study_file(directory);
      if (!file && path_exists(comparison_path(directory)))
        throw DataError(study_file_path(directory).string() + ": missing", kLostStudyRemedy);
      if (!file) return false;
      const auto study = std::make_shared<const StudyFile>(std::move(*file));
      const auto runs = study->run_directories(directory);
      for (std::size_t i = 0; i < runs.size(); ++i) {
        const bool is_there = holds_run(runs[i]);
        if (of_study.emplace(runs[i], is_there).second) found.all.push_back({runs[i], !is_there, false, study, i});
      }
      found.studies.push_back(directory);
      return true;
    } catch (const Error& error) {
      found.damaged_studies.push_back(
          std::string(error.what()) +
          "; not known without it: which runs are the study's, its reference, smallest difference that matters, "
          "tuning and interim analyses; every run below it counts instead; " +
          error.hint());
      return false;
    }
  }

  TuningRuns tuning_;
  std::set<std::string> searched_;
};

}  // namespace

RunSearch search_runs(const std::vector<fs::path>& directories, TuningRuns tuning) {
  Search search(tuning);
  for (const auto& given : directories) {
    const fs::path directory = named_directory(given);
    if (!directory_exists(directory)) {
      std::vector<std::string> names;
      for (const auto& entry : entries_of(directory.has_parent_path() ? directory.parent_path() : "runs"))
        names.push_back(entry.path.filename().string());
      throw DataError("no directory " + directory.string() + did_you_mean(directory.filename().string(), names));
    }
    search.below(directory.lexically_normal());
  }
  search.drop_copies();
  search.find_studies_above();
  return std::move(search.found);
}

}  // namespace ffn
