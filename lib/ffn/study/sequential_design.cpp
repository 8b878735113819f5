#include "ffn/study/sequential_design.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ffn/base/files.hpp"
#include "ffn/config/json_writer.hpp"
#include "ffn/stats/sequential.hpp"
#include "ffn/store/run_directory.hpp"
#include "ffn/store/seen_runs.hpp"
#include "ffn/store/study_file.hpp"
#include "ffn/study/compare_plan.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

static_assert(SequentialSeeds::kFewest == stats::kFirstSampleSize,
              "a sequential design starts with the seeds of its first interim analysis");

constexpr const char* kNewStudyHint = "name=… makes another study beside it; --fresh renames this one and begins again";

bool is_finished_run(const fs::path& run) {
  try {
    const auto record = read_record(run);
    return record && record->summary;
  } catch (const Error&) {
    return false;
  }
}

// A study's runs stand two levels below it.
bool holds_finished_runs(const fs::path& directory) {
  for (const auto& variant : entries_of(directory)) {
    for (const auto& run : entries_of(variant.path)) {
      if (is_run_directory_name(run.path.filename().string()) && is_finished_run(run.path)) return true;
    }
  }
  return false;
}

// The content of study.json. If it is lost, its runs may have been analysed, and a sequential design cannot continue.
std::optional<StudyFile> study_there(const Study& study, const fs::path& directory) {
  std::string lost = study_file_path(directory).string() + ": missing";
  try {
    auto there = read_study_file(directory);
    if (there) return there;
  } catch (const VersionError&) {
    throw;
  } catch (const DataError& error) {
    lost = error.what();
  }
  const auto compared = read_file_if_there(comparison_path(directory), "comparison", ExitCode::data, 64 << 20);
  const bool was_sequential = study.sequential_seeds || (compared && compared->find("\"sequential\"") != std::string::npos);
  if (!was_sequential || !holds_finished_runs(directory)) return std::nullopt;
  throw DataError(lost +
                      "; finished runs are there, and what their interim analyses have used up of the error that "
                      "verdicts may make is not known",
                  std::string("put the file back from where you keep a copy; ") + kNewStudyHint);
}

bool any_finished(const StudyFile& study, const fs::path& directory) {
  const auto runs = study.run_directories(directory);
  return std::any_of(runs.begin(), runs.end(), is_finished_run);
}

void require_same_question(const Study& study, const StudyFile& there, const fs::path& directory) {
  std::vector<std::string> differ;
  const auto require = [&](bool is_same, const std::string& what) {
    if (!is_same) differ.push_back(what);
  };
  const auto names = [](const auto& variants) {
    std::string all;
    for (const auto& variant : variants) all += " " + variant.name;
    return all;
  };
  const std::string before = names(there.variants), now = names(study.variants);
  require(before == now, "variants:" + before + " →" + now);
  require(before != now || there.keys == variant_keys(study), "the config of its runs");
  const Json ours = write_json(comparison_of(study)), theirs = write_json(there.compare);
  for (const auto& item : ours.items())
    require(theirs[item.key()] == item.value(),
            "compare." + item.key() + ": " + shortened(theirs[item.key()]) + " → " + shortened(item.value()));
  const std::int64_t first = there.seeds.empty() ? 0 : there.seeds[0];
  require(first == study.sequential_seeds->first,
          "seeds.first: " + std::to_string(first) + " → " + std::to_string(study.sequential_seeds->first));
  if (differ.empty()) return;
  std::string text;
  for (const auto& line : differ) text += "\n  " + line;
  throw UsageError(directory.string() + " was analysed with another question, and its error rate is that question's:" + text,
                   kNewStudyHint);
}

SequentialRecord record_of(const Study& study, const std::optional<StudyFile>& there, const fs::path& out) {
  const fs::path directory = out / study.name;
  SequentialRecord fresh{{study.sequential_seeds->max}, compare_before(study, out).num_comparisons, {}};
  if (!there || (!there->sequential && !any_finished(*there, directory))) return fresh;
  if (!there->sequential)
    throw UsageError(directory.string() + " was declared with " + std::to_string(there->seeds.size()) +
                         " seeds: its verdicts have used up the error that they may make, so none is left for interim analyses",
                     kNewStudyHint);
  SequentialRecord record = *there->sequential;
  if (record.sample_sizes.empty() && !any_finished(*there, directory)) return fresh;
  require_same_question(study, *there, directory);
  if (study.sequential_seeds->max > record.maxima.back()) record.maxima.push_back(study.sequential_seeds->max);
  return record;
}

}  // namespace

std::optional<SequentialRecord> record_to_go_on(const Study& study, const fs::path& out) {
  const fs::path directory = out / study.name;
  const auto there = study_there(study, directory);
  if (study.sequential_seeds) return record_of(study, there, out);
  if (there && there->sequential && !there->sequential->sample_sizes.empty())
    throw UsageError(directory.string() + " adds seeds until decided and was analysed with " +
                         std::to_string(there->sequential->sample_sizes.back()) + "; judging " + std::to_string(study.seeds.size()) +
                         " seeds as if there had been no interim analysis makes more errors than it says",
                     std::string("seeds=auto goes on with it; ") + kNewStudyHint);
  return std::nullopt;
}

std::size_t last_analysis(const SequentialSeeds& seeds, const SequentialRecord& record) {
  std::size_t last = record.sample_sizes.empty() ? SequentialSeeds::kFewest : record.sample_sizes.back();
  for (const std::size_t analysis : stats::interim_sample_sizes(record.maxima)) {
    if (analysis <= seeds.max) last = std::max(last, analysis);
  }
  return last;
}

std::size_t first_analysis(const SequentialSeeds& seeds, const SequentialRecord& record) {
  const std::size_t before = record.sample_sizes.empty() ? 0 : record.sample_sizes.back();
  const auto analyses = stats::interim_sample_sizes(record.maxima);
  const std::size_t wanted = std::max(before, std::min(seeds.min, last_analysis(seeds, record)));
  return *std::lower_bound(analyses.begin(), analyses.end(), wanted);
}

void take_first_seeds(Study& study) {
  if (study.sequential_seeds)
    study.seeds = study.sequential_seeds->seeds(first_analysis(*study.sequential_seeds, {{study.sequential_seeds->max}, 0, {}}));
}

bool has_come_further(const Plan& plan) {
  const auto& ours = *plan.study.sequential;
  try {
    const auto there = read_study_file(plan.directory);
    if (!there || !there->sequential || there->sequential->maxima.front() != ours.maxima.front()) return false;
    return there->seeds.size() > plan.study.seeds.size() || there->sequential->sample_sizes.size() > ours.sample_sizes.size() ||
           there->sequential->maxima.size() > ours.maxima.size();
  } catch (const Error&) {
    return false;
  }
}

}  // namespace ffn
