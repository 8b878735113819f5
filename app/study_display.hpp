// A study on the terminal while it trains.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands.hpp"
#include "ffn/report/curves.hpp"
#include "ffn/report/progress.hpp"
#include "ffn/study/train_study.hpp"

namespace ffn::app {

/// One bar over all run-steps of the study, one line per finished cohort, and on a terminal the comparison so far. Takes the log while runs
/// train.
class StudyDisplay final : public StudyObserver {
 public:
  /// `part`: "shard 2 of 4"; empty for the whole.
  StudyDisplay(std::string part, const CommonOptions& common) : part_(std::move(part)), common_(common) {}
  ~StudyDisplay() override { trained(); }
  StudyDisplay(const StudyDisplay&) = delete;
  StudyDisplay& operator=(const StudyDisplay&) = delete;

  void renamed(const std::filesystem::path& earlier_results) override;
  void tuning(const Study& study) override;
  void sequential(const Study& study, const SequentialRecord& record, std::size_t first, std::size_t last) override;
  void interim_analysis(const Comparison& comparison, std::size_t seeds) override;
  void training(const Plan& plan, const std::vector<std::size_t>& runs, const std::vector<Progress>& found) override;
  void message(const WorkerMessage& message, const std::vector<PlannedCohort>& cohorts) override;
  void trained() override;

 private:
  using Clock = std::chrono::steady_clock;

  /// State of one plan; a start may train several: tuning, the study itself, more seeds.
  struct Shown {
    const Plan& plan;
    std::unique_ptr<ProgressBar> bar;
    bool animate = false;
    std::map<std::size_t, std::int64_t> running = {};  // run-steps of cohorts in progress
    std::int64_t done_steps = 0;
    std::size_t finished_cohorts = 0, shown_cohorts = 0;
    std::string standing = {};
    int standing_lines = 0;
    Clock::time_point next_standing = {};
    double loss = 0;
  };

  void say_how_it_trains(const Plan& plan, const std::vector<std::size_t>& runs, const std::vector<Progress>& found);
  void take_off_screen();
  // The comparison so far, above the bar; read from disk again when a cohort has come in, at most every two seconds and in a twentieth of
  // the time.
  void show_standing();
  std::string standing() const;
  bool is_short() const;
  std::string cohort_line(const PlannedCohort& cohort, const WorkerMessage& message, std::size_t total) const;

  std::string part_;
  const CommonOptions& common_;
  bool has_said_how_ = false;
  const Clock::time_point begun_ = Clock::now();
  std::optional<Shown> shown_;
};

/// The groups alone, a dozen of them, with their intervals as bars and, where there are `curves`, how they went.
std::string progress_text(const Comparison& comparison, const report::CurveSet* curves, int width);

}  // namespace ffn::app
