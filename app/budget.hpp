// --budget: how many seeds of a study fit into a time, from a probe before any of its runs is trained or looked at.
#pragma once

#include "ffn/base/json_document.hpp"
#include "ffn/config/study_config.hpp"
#include "train.hpp"

namespace ffn::app {

/// "90s", "30m", "1h", "2h30m" or "1d" in seconds. Throws UsageError for another text.
double budget_seconds(const std::string& text);

/// Seeds that fit into a time.
struct AffordableSeeds {
  double budget = 0;         ///< seconds
  std::size_t seeds = 0;     ///< that fit; at most `most`
  std::size_t most = 0;      ///< 1,000, or as many as a study can have
  double seconds = 0;        ///< that they take
  std::size_t asked = 0;     ///< seeds of the study as it is
  double asked_seconds = 0;  ///< that these take
  double probe_seconds = 0;  ///< that finding out took: part of the budget
};

/// Why a study that was begun keeps its number of seeds; "" for a new one. Throws UsageError for seeds that are listed, given, or a
/// sequential design's.
std::string keeps_seeds(const Document& document, const std::string& name, const CommonOptions& common);

/// From nothing: runs that are there already count as if they were not. Probes are part of the time, and a tenth of it is kept in reserve.
AffordableSeeds affordable_seeds(const Document& document, const Study& study, double budget, const CommonOptions& common);

/// "74 seeds fit into 1 h: …", and what would fit otherwise.
std::string affordable_text(const AffordableSeeds& fitting, const Study& study);

/// The study with as many seeds as fit; with those that it has where it was begun before. Throws UsageError where not one fits, and where
/// the seeds are listed or given.
Document within_budget(Document document, const std::string& budget, const TrainOptions& options, const CommonOptions& common);

}  // namespace ffn::app
