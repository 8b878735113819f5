// Verdicts on runs that other trainers made, from tables of their results.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ffn/compare/compare.hpp"
#include "ffn/compare/run_table.hpp"

namespace ffn {

struct JudgeQuestion {
  std::vector<std::string> files;  ///< "-" is stdin
  RunColumns columns;
  std::string take = "last";
  CompareConfig config;                ///< reference, alpha, min_effect, scale and pairs
  std::optional<std::size_t> maximum;  ///< of a sequential design that is declared now
  std::vector<std::string> claims;     ///< "gelu is better"
  std::string record_directory;        ///< of the record of looks; empty: beside the first file by name
};

/// An answer, or the declaration of a design before there are runs.
struct JudgeAnswer {
  std::optional<Comparison> comparison;
  std::string declared;
};

/// Runs are paired by seed if all variants have the same seeds; otherwise they are not paired (stats/unpaired.hpp). In a sequential design
/// runs are paired by seed, or at random. Throws UsageError and DataError as run_table.hpp does, and where there are no
/// runs.
JudgeAnswer judge_files(const JudgeQuestion& question);

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
