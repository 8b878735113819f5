// What is seen of a study while it trains.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "commands.hpp"
#include "ffn/report/progress.hpp"
#include "ffn/study/plan.hpp"
#include "ffn/study/worker_pool.hpp"

namespace ffn::app {

/// One bar over all run-steps of the study, one line per finished cohort, and on a terminal the comparison so far. Takes the log for as
/// long as it lives.
class StudyDisplay {
 public:
  /// `runs`: those that are trained here; `found`: how far each run of the plan has come.
  StudyDisplay(const Plan& plan, const std::vector<std::size_t>& runs, const std::vector<Progress>& found, const CommonOptions& common);
  ~StudyDisplay();
  StudyDisplay(const StudyDisplay&) = delete;
  StudyDisplay& operator=(const StudyDisplay&) = delete;

  void receive(const WorkerMessage& message, const std::vector<PlannedCohort>& cohorts);

 private:
  using Clock = std::chrono::steady_clock;

  void take_off_screen();
  // The comparison so far, above the bar; read from disk again when a cohort has come in, at most every two seconds and in a twentieth of
  // the time.
  void show_standing();
  std::string standing() const;
  std::string cohort_line(const PlannedCohort& cohort, const WorkerMessage& message, std::size_t total) const;

  const Plan& plan_;
  int verbosity_;
  bool color_, animate_ = false;
  std::string standing_;
  int standing_lines_ = 0;
  std::size_t shown_cohorts_ = 0;
  Clock::time_point next_standing_;
  std::unique_ptr<ProgressBar> bar_;
  std::map<std::size_t, std::int64_t> running_;  // run-steps of cohorts in progress
  std::int64_t done_steps_ = 0;
  std::size_t finished_cohorts_ = 0;
  double loss_ = 0;
};

}  // namespace ffn::app
