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

}  // namespace ffn
