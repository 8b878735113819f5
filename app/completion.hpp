// Completion of the word that is being typed. The shells' scripts (app/completion) hand the words to the program, which knows its commands,
// the config's keys, the shipped configs and the runs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "command_line.hpp"

namespace ffn::app {

/// The scripts of app/completion, which the build puts into the program: "ffn-train.bash" → text.
const std::map<std::string, std::string>& completion_scripts();

/// Set by the scripts: the arguments are to be completed, not obeyed.
inline constexpr const char* kCompleteVariable = "FFN_TRAIN_COMPLETE";

struct Candidate {
  std::string word;  ///< whole; one that ends in "/", ".", "=" or "," goes on
  std::string doc;
};

/// For the last of `words`, which may be empty; in the order of display.
std::vector<Candidate> completions(const CommandDescription& program, const std::vector<std::string>& words);

/// Prints a line for each: the word, a tab and its meaning. Returns the exit code.
int print_completions(const CommandDescription& program, const std::vector<std::string>& words);

}  // namespace ffn::app
