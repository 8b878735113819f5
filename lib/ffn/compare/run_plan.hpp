// How many runs an effect needs.
#pragma once

#include "ffn/compare/judge.hpp"

namespace ffn {

/// Runs that an effect needs, for a verdict with a chance of stats::kDefaultPower.
struct RunPlan {
  struct Row {
    std::string design;    ///< "unpaired", "paired, correlation 0.5"
    std::size_t num_runs;  ///< of each variant; 0: more than kMostPlanned
  };
  double sd = 0;                      ///< of a run
  std::optional<double> correlation;  ///< of runs of one seed, where `noise` has variants that share them
  bool is_relative = false;           ///< sd and effect are shares of the mean
  std::vector<Row> rows;
  std::vector<std::string> notes;
};
constexpr std::size_t kMostPlanned = 100000;

/// `effect` and `sd`: "0.5%" or a number, both of one kind. Without an sd it is that of the runs in `noise.files`.
RunPlan plan_runs(const std::string& effect, const std::string& sd, const JudgeQuestion& noise);

}  // namespace ffn
