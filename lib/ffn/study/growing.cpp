#include "ffn/study/growing.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ffn/base/files.hpp"
#include "ffn/config/json_writer.hpp"
#include "ffn/store/differing_keys.hpp"
#include "ffn/store/log.hpp"
#include "ffn/store/moved_aside.hpp"
#include "ffn/store/run_directory.hpp"
#include "ffn/store/study_file.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

constexpr const char* kNewStudyHint = "name=… makes another study beside it; --fresh moves this one's results aside and begins again";

// Nothing where there is none, or where it cannot be understood.
std::optional<StudyFile> study_there(const fs::path& directory) {
  try {
    return read_study_file(directory);
  } catch (const Error& error) {
    log_warning(std::string(error.what()) + "; its looks are taken as this config declares them");
    return std::nullopt;
  }
}

// A study's runs stand two levels below it.
bool holds_finished_runs(const fs::path& directory) {
  for (const auto& variant : entries_of(directory)) {
    for (const auto& run : entries_of(variant.path)) {
      if (!is_no_result(run.path.filename().string()) && holds_ended_run(run.path)) return true;
    }
  }
  return false;
}

// What is left of the files says so.
bool once_grew(const fs::path& directory) {
  for (const auto& file : {study_file_path(directory), study_copy_path(directory), comparison_path(directory)}) {
    try {
      const auto text = read_file_if_there(file, "file", ExitCode::data, 64 << 20);
      if (text && text->find("\"sequential\"") != std::string::npos) return true;
    } catch (const Error&) {  // what cannot be read says nothing
    }
  }
  return false;
}

bool any_finished(const StudyFile& study, const fs::path& directory) {
  const auto runs = study.run_directories(directory);
  return std::any_of(runs.begin(), runs.end(), holds_ended_run);
}

// What was declared before the first look, by its keys.
Json declared_question(const CompareConfig& compare, const std::vector<std::string>& variants, const std::vector<std::int64_t>& seeds) {
  return {{"compare", write_json(compare)}, {"variants", variants}, {"seeds", {{"first", seeds.empty() ? 0 : seeds[0]}}}};
}

void refuse_other_question(const Study& study, const StudyFile& there, const fs::path& directory) {
  std::vector<std::string> before, now;
  for (const auto& variant : there.variants) before.push_back(variant.name);
  for (const auto& variant : study.variants) now.push_back(variant.name);
  const auto differ = differing_keys(declared_question(there.compare, before, there.seeds),
                                     declared_question(comparison_of(study), now, study.seeds), [](const std::string&) { return false; });
  if (differ.empty()) return;
  throw UsageError(directory.string() + " was looked at with another question, and its error rate is that question's:" + indented(differ),
                   kNewStudyHint);
}

}  // namespace

void require_looks(const Study& study, const fs::path& directory) {
  std::string lost = study_file_path(directory).string() + ": missing";
  try {
    if (read_study_file(directory)) return;
  } catch (const DataError& error) {
    lost = error.what();
  }
  if (!holds_finished_runs(directory) || !(study.growing || once_grew(directory))) return;
  throw DataError(
      lost +
          ", and so is its copy; finished runs are there, and what the looks at them have used up of the error that verdicts may make is not known",
      std::string("put the file back from where you keep a copy; ") + kNewStudyHint);
}

SequentialRecord record_to_go_on(const Study& study, std::size_t comparisons, const fs::path& directory) {
  const SequentialRecord fresh{{study.growing->max}, comparisons, {}};
  const auto there = study_there(directory);
  if (!there) return fresh;
  if (!there->sequential) {
    if (!any_finished(*there, directory)) return fresh;
    throw UsageError(directory.string() + " was declared with " + std::to_string(there->seeds.size()) +
                         " seeds: its verdicts have used up the error that they may make, so none is left for further looks",
                     kNewStudyHint);
  }
  SequentialRecord record = *there->sequential;
  if (record.looks.empty() && !any_finished(*there, directory)) return fresh;
  refuse_other_question(study, *there, directory);
  if (study.growing->max > record.maxima.back()) record.maxima.push_back(study.growing->max);
  return record;
}

void refuse_fixed_seeds(const Study& study, const fs::path& directory) {
  std::optional<StudyFile> there;
  try {
    there = read_study_file(directory);
  } catch (const Error&) {  // what cannot be read is nothing to be careful of
  }
  if (!there || !there->sequential || there->sequential->looks.empty()) return;
  throw UsageError(directory.string() + " adds seeds until settled and was looked at with " +
                       std::to_string(there->sequential->looks.back()) + "; judging " + std::to_string(study.seeds.size()) +
                       " seeds as if there had been no look makes more errors than it says",
                   std::string("seeds=auto goes on with it; ") + kNewStudyHint);
}

bool has_come_further(const Plan& plan) {
  const auto& ours = *plan.study.sequential;
  try {
    const auto there = read_study_file(plan.directory);
    if (!there || !there->sequential || there->sequential->maxima.front() != ours.maxima.front()) return false;
    return there->seeds.size() > plan.study.seeds.size() || there->sequential->looks.size() > ours.looks.size() ||
           there->sequential->maxima.size() > ours.maxima.size();
  } catch (const Error&) {
    return false;
  }
}

}  // namespace ffn
