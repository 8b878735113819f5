#include "ffn/study/compare_plan.hpp"

#include <map>
#include <nlohmann/json.hpp>

#include "ffn/base/error.hpp"
#include "ffn/base/files.hpp"
#include "ffn/compare/expect.hpp"
#include "ffn/data/task.hpp"
#include "ffn/store/log.hpp"
#include "ffn/store/study_file.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

// The study's runs in the study's order: as they stand on disk, or as pending where nothing of this identity is there.
std::vector<FoundRun> planned_runs(const Plan& plan, FoundRuns on_disk) {
  std::map<fs::path, FoundRun> found;
  for (auto& run : on_disk.runs) found[run.path] = std::move(run);
  std::vector<FoundRun> runs;
  for (const auto& planned : plan.runs) {
    const auto at = found.find(planned.directory.lexically_normal());
    const bool same = at != found.end() && at->second.identity == planned.identity;
    runs.push_back(same ? std::move(at->second) : pending_run(planned.config, planned.directory));
  }
  return runs;
}

}  // namespace

Comparison compare_plan(const Plan& plan, std::size_t resamples, FromDisk from_disk, bool verdicts_only) {
  CompareRequest request;
  request.config = comparison_of(plan.study);
  request.resamples = resamples;
  request.in_given_order = true;
  request.tuned = plan.study.tuned;
  request.ladder = plan.study.config.ladder;
  if (const auto& record = plan.study.sequential)
    request.sequential = SequentialRequest{record->maxima, record->comparisons, verdicts_only};
  FoundRuns found;
  if (from_disk == FromDisk::yes && path_exists(plan.directory)) found = find_runs({plan.directory});
  FoundRuns lacking;
  lacking.left_out = found.left_out;
  auto comparison = compare_runs(planned_runs(plan, std::move(found)), request);
  for (auto& note : notes_about(lacking)) comparison.notes.push_back(std::move(note));
  return comparison;
}

Comparison compare_before(Study study, const fs::path& out) {
  study.seeds.resize(1);  // all seeds of a variant have the same keys
  const fs::path directory = out / study.name;
  return compare_plan(make_plan(std::move(study), directory), 1, FromDisk::no);
}

std::size_t check_study(const Study& study, const std::string& source, bool whole) {
  for (const auto& variant : study.variants) task_shape(variant.config.task);  // a missing text is an error, too
  const auto comparison = compare_before(study, "runs");
  const auto& ladder = study.config.ladder;
  for (const auto& facet : comparison.facets)
    for (const auto& [key, value] : facet.keys)
      if (ladder && key != ladder->key)
        throw UsageError(source + ": the ladder's groups are its sizes alone, and " + key + " makes more",
                         "compare.by=variant compares all that vary at each size");
  check_expectations(*study.config.expect, comparison, source, whole);
  return comparison.num_comparisons;
}

void save_comparison(const Plan& plan, const Json& comparison) {
  try {
    NamedFile(comparison_path(plan.directory), kComparisonFile, Chosen::by_program).write(dump_json_lossy(comparison, 2) + "\n");
  } catch (const Error& error) {
    log_warning(error.what());  // a study can be looked at where nothing can be written
  }
}

}  // namespace ffn
