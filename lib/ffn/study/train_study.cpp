#include "ffn/study/train_study.hpp"

#include <algorithm>

#include "ffn/data/run_identity.hpp"
#include "ffn/study/compare_plan.hpp"
#include "ffn/study/sequential_design.hpp"
#include "ffn/study/tuning.hpp"

namespace ffn {

namespace {

std::vector<std::string> texts_of(const Study& study) {
  std::vector<std::string> out;
  for (const auto& variant : study.variants) out.push_back(data_hash_now(variant.config));
  return out;
}

TrainedStudy train_tuned(const Study& study, const StudyRequest& request, StudyObserver& observer) {
  const auto directory = request.out / study.name;
  if (!study.tune) {
    Plan plan = make_plan(study, directory);
    auto outcome = train_plan(plan, request, observer);
    return {std::move(plan), std::move(outcome)};
  }
  const auto texts = texts_of(study);
  auto tuned = tune_study(study, request, observer);
  if (!tuned.study) return {make_plan(study, directory), std::move(tuned.outcome), false};
  if (texts_of(study) != texts)
    throw DataError("a text changed while the study was tuned, and what was chosen on one text is not judged on another",
                    "put the file back, or start again to tune and train on it as it is");
  Plan plan = make_plan(std::move(*tuned.study), directory);
  auto outcome = train_plan(plan, request, observer);
  return {std::move(plan), std::move(outcome)};
}

// Counts of all parts so far; a run that an earlier one trained is found finished by the later ones.
void add_earlier(const StudyOutcome& earlier, StudyOutcome& now) {
  now.trained += earlier.trained;
  now.diverged += earlier.diverged;
  now.reused -= std::min(now.reused, earlier.trained);
}

TrainedStudy train_sequentially(Study study, const StudyRequest& request, StudyObserver& observer) {
  auto& record = *study.sequential;
  std::size_t seeds = first_analysis(*study.sequential_seeds, record);
  const std::size_t last = last_analysis(*study.sequential_seeds, record);
  observer.sequential(study, record, seeds, last);
  for (StudyOutcome earlier;;) {
    study.seeds = study.sequential_seeds->seeds(seeds);
    auto trained = train_tuned(study, request, observer);
    auto& outcome = trained.outcome;
    add_earlier(earlier, outcome);
    if (!trained.is_tuned || outcome.interrupted || !outcome.failed.empty()) return trained;

    const auto comparison = compare_plan(trained.plan, 1, FromDisk::yes, /*verdicts_only=*/true);
    record.sample_sizes = comparison.sequential->sample_sizes;
    trained.plan.study.sequential = record;
    keep_study_file(trained.plan, outcome.trained > 0);
    observer.interim_analysis(comparison, seeds);
    const auto more = stats::next_sample_size(record.maxima, seeds);
    if (comparison.sequential->open == 0 || !more || *more > last) return trained;
    earlier = outcome;
    seeds = *more;
  }
}

}  // namespace

TrainedStudy train_study(Study study, const StudyRequest& request, StudyObserver& observer) {
  if (study.sequential_seeds && request.shard.count > 1)
    throw UsageError("--shard takes an equal part of a known number of runs, and this study adds seeds until it is decided",
                     "start the same command wherever the directory is seen: processes share the runs; or give a number of seeds");
  if (request.fresh) {
    for (const auto& variant : study.variants) request.prepare(variant.config);
    rename_results(request.out / study.name, observer);
  }
  study.sequential = record_to_go_on(study, request.out);
  return study.sequential ? train_sequentially(std::move(study), request, observer) : train_tuned(study, request, observer);
}

}  // namespace ffn
