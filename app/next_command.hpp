// The command that a finished study names as its next.
#pragma once

#include <cstddef>
#include <string>

#include "commands.hpp"
#include "ffn/compare/compare.hpp"
#include "ffn/study/plan.hpp"

namespace ffn::app {

/// How a study ended, beside its numbers.
struct StudyEnd {
  std::size_t num_failed = 0;
  bool all_diverged = false;
};

/// The directory of the results and the next command. After failures: the same one. If comparisons are not sure: the same question with
/// fresh seeds until it is decided. If a verdict rests on one learning rate: each variant at its own. Otherwise the report.
/// Never another metric or reference: among several, one wins by chance.
std::string last_lines(const Plan& plan, const Comparison& comparison, const StudyEnd& end, const CommonOptions& common);

/// "a lower train.optimizer.lr such as 0.001 or train.clip_norm=1 may help", without what the run has already.
std::string against_divergence(const RunConfig& config);

/// "next: COMMAND" in one line for `fd` where its terminal is wide enough, and in a log; otherwise the command in lines of its own, which a
/// shell takes as one.
std::string sentence_and_command(const std::string& sentence, const std::string& command, int fd);

}  // namespace ffn::app
