// A study's plan: every run with its place and identity, and the cohorts that train together. Torch-free.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "ffn/config/accounting.hpp"
#include "ffn/config/study_config.hpp"
#include "ffn/store/shorter_run.hpp"

namespace ffn {

struct PlannedRun {
  std::size_t variant;  ///< index into the study's variants
  RunConfig config;     ///< with its seed, named after the study
  std::string identity;
  std::filesystem::path directory;
  RunsBeside beside = {};  ///< when the plan was made
};

struct Plan {
  Study study;
  std::filesystem::path directory;  ///< the study's
  std::vector<PlannedRun> runs;     ///< seed-major: the first seed of every variant, then the second, …

  std::vector<std::string> identities() const;  ///< of the runs
};

/// Runs that the directory has already are found there, under whatever name of their variant.
Plan make_plan(Study study, const std::filesystem::path& directory);

/// Indices into Plan::runs that one worker trains together.
using PlannedCohort = std::vector<std::size_t>;

/// Groups runs of equal shape. A cohort is as large as a worker trains in a few seconds,
/// small enough that every one of `jobs` workers has something to do, and takes its runs seed by seed, so that a study
/// that is stopped half-way has the same seeds for every variant. `largest` bounds the size further; 0 does not.
std::vector<PlannedCohort> make_cohorts(const Plan& plan, const std::vector<std::size_t>& pending, std::size_t jobs,
                                        std::size_t largest = 0);

}  // namespace ffn
