// The options that `compare` and `report` share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "ffn/compare/compare.hpp"

namespace ffn::app {

struct CompareQuestion {
  std::vector<std::string> directories;
  CompareRequest request;
  bool all = false;     ///< also runs that a study does not list
  bool judges = false;  ///< rather than shows
  std::string target;   ///< that is asked for now that the runs are trained; empty: their own
  static bool never() { return false; }
  std::function<bool()> alpha_given = never, min_effect_given = never, scale_given = never, pairs_given = never, interaction_given = never;
};

/// Both: `question` has to live as long as the command runs.
void add_question_options(CommandLine command, CompareQuestion& question);
/// Which runs, and what makes variants of them, alone: for a command that judges nothing.
void add_grouping_options(CommandLine command, CompareQuestion& question);

/// A single study's own comparison fills in what the options leave open. `on_found` hears of the runs that were found.
Comparison answer_to(const CompareQuestion& question, const std::function<void(const FoundRuns&)>& on_found = {});

}  // namespace ffn::app
