// A study that adds seeds until its comparisons are settled: train up to the next look, judge, go on.
#include <algorithm>

#include "ffn/base/hash.hpp"
#include "ffn/report/format.hpp"
#include "ffn/store/log.hpp"
#include "ffn/study/growing.hpp"
#include "train.hpp"

namespace ffn::app {

namespace {

static_assert(GrowingSeeds::kFewest == stats::kFirstLook, "a growing study starts with the seeds of its first look");

// The last look that a start trains up to: a max below what was declared ends it earlier, and changes no verdict.
std::size_t last_look(const GrowingSeeds& growing, const SequentialRecord& record) {
  std::size_t last = record.looks.empty() ? GrowingSeeds::kFewest : record.looks.back();
  for (const std::size_t look : stats::sequential_looks(record.maxima)) {
    if (look <= growing.max) last = std::max(last, look);
  }
  return last;
}

std::size_t first_look(const GrowingSeeds& growing, const SequentialRecord& record) {
  const std::size_t before = record.looks.empty() ? 0 : record.looks.back();
  const auto looks = stats::sequential_looks(record.maxima);
  const std::size_t wanted = std::max(before, std::min(growing.min, last_look(growing, record)));
  return *std::lower_bound(looks.begin(), looks.end(), wanted);
}

// What a person should know before hours of training.
void announce(const Study& study, const SequentialRecord& record) {
  const std::size_t first = first_look(*study.growing, record), last = last_look(*study.growing, record);
  log_info("until settled: from " + format_count(static_cast<std::int64_t>(first)) + " to at most " + format_counted(last, "seed") + "; " +
           std::to_string(record.comparisons) + (record.comparisons == 1 ? " comparison" : " comparisons"));
  if (study.growing->max < record.maxima.back())
    log_info("seeds.max " + std::to_string(study.growing->max) + " is below the " + std::to_string(record.maxima.back()) +
             " declared before: training goes no further than " + format_counted(last, "seed") +
             ", and verdicts stay those of the larger maximum");
  if (study.config.compare.min_effect == 0)
    log_info(
        "without compare.min_effect, variants that do not differ stay undecided up to the maximum; the smallest difference that matters "
        "lets them settle as equal");
}

// What all looks have in common: processes that are at different ones work side by side.
std::string fingerprint_of(Study study, const SequentialRecord& record, const CommonOptions& common) {
  study.seeds = study.growing->seeds(GrowingSeeds::kFewest);
  std::string all = "looks up to " + std::to_string(record.maxima.front());
  for (const auto& run : make_plan(std::move(study), common.out).runs) all += run.identity + run.config.compute.engine;
  return sha256_hex(all);
}

// Counts of all looks so far; a run that an earlier look trained is found finished by the later ones.
void add_earlier(const StudyOutcome& earlier, StudyOutcome& now) {
  now.trained += earlier.trained;
  now.diverged += earlier.diverged;
  now.reused -= std::min(now.reused, earlier.trained);
}

std::string look_line(const Comparison& c, std::size_t seeds) {
  const std::size_t settled = c.num_comparisons - c.sequential->open;
  return "look at " + format_counted(seeds, "seed") + ": " + std::to_string(settled) + " of " + std::to_string(c.num_comparisons) +
         (c.num_comparisons == 1 ? " comparison" : " comparisons") + " settled";
}

}  // namespace

void take_first_seeds(Study& study) {
  if (study.growing) study.seeds = study.growing->seeds(first_look(*study.growing, {{study.growing->max}, 0, {}}));
}

std::optional<SequentialRecord> looks_so_far(const Study& study, const std::filesystem::path& directory, bool fresh) {
  if (!fresh) require_looks(study, directory);
  if (!study.growing) {
    if (!fresh) refuse_fixed_seeds(study, directory);
    return std::nullopt;
  }
  Study one_seed = study;
  one_seed.seeds.resize(1);
  const auto comparison = compare_plan(make_plan(std::move(one_seed), directory.parent_path()), 1, FromDisk::no);
  if (fresh) return SequentialRecord{{study.growing->max}, comparison.num_comparisons, {}};
  return record_to_go_on(study, comparison.num_comparisons, directory);
}

TrainedStudy train_until_settled(Study study, const TrainOptions& options, const CommonOptions& common) {
  if (!options.shard.empty())
    throw UsageError("--shard takes an equal part of a known number of runs, and this study adds seeds until it is settled",
                     "start the same command wherever the directory is seen: processes share the runs; or give a number of seeds");
  study.sequential = looks_so_far(study, std::filesystem::path(common.out) / study.name, options.fresh);
  auto& record = *study.sequential;
  announce(study, record);

  TrainOptions next = options;
  next.fingerprint = fingerprint_of(study, record, common);
  StudyOutcome earlier;
  for (std::size_t seeds = first_look(*study.growing, record);;) {
    study.seeds = study.growing->seeds(seeds);
    auto trained = train_tuned(study, next, common);
    auto& outcome = trained.outcome;
    add_earlier(earlier, outcome);
    if (!trained.is_tuned || outcome.interrupted || outcome.directory_lost || !outcome.failed.empty()) return trained;

    const auto comparison = compare_plan(trained.plan, 1, FromDisk::yes, /*verdicts_only=*/true);
    record.looks = comparison.sequential->looks;
    trained.plan.study.sequential = record;
    keep_study_file(trained.plan, outcome.trained > 0);
    log_info(look_line(comparison, seeds));
    const auto more = stats::next_look(record.maxima, seeds);
    if (comparison.sequential->open == 0 || !more || *more > last_look(*study.growing, record)) return trained;
    earlier = outcome;
    seeds = *more;
    next.fresh = false;
    next.goes_on = true;
  }
}

}  // namespace ffn::app
