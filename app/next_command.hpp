// What a finished study names as the command to try next.
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

/// Where the results lie, and what to try next. Where runs failed: the same command. Where one seed is too few: as many as a verdict takes.
/// Where comparisons are not sure: the same question with another name and seeds that nobody has looked at, until it is settled, and with a
/// smallest difference where none was named; never another metric or reference: whoever looks at several finds one that wins. At a tenth
/// of the rate where every run diverged, else the report.
std::string last_lines(const Plan& plan, const Comparison& comparison, const StudyEnd& end, const CommonOptions& common);

/// "a lower train.optimizer.lr such as 0.001 or train.clip_norm=1 may help": what the run does not have already.
std::string against_divergence(const RunConfig& config);

/// "next: COMMAND" in one line for `fd` where its terminal is wide enough, and in a log; otherwise the command in lines of its own, which a
/// shell takes as one.
std::string sentence_and_command(const std::string& sentence, const std::string& command, int fd);

}  // namespace ffn::app
