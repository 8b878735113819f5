// What a finished study names as the command to try next.
#pragma once

#include <string>

#include "commands.hpp"
#include "ffn/compare/compare.hpp"
#include "ffn/study/plan.hpp"

namespace ffn::app {

/// The command that trained it, with another name and seeds that nobody has looked at, until its own question is settled; nothing where every
/// comparison has a verdict, or where the study adds seeds by itself. Never another metric or reference: whoever looks at several finds one
/// that wins.
std::string settling_command(const Plan& plan, const Comparison& comparison, const CommonOptions& common);

/// Where the results lie, and what to try next: two lines.
std::string last_lines(const Plan& plan, const Comparison& comparison, const CommonOptions& common);

}  // namespace ffn::app
