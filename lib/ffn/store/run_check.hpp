// Whether a run that nobody is about to train is as it was written. Depends on run_standing.
#pragma once

#include <string>
#include <vector>

#include "ffn/store/run_directory.hpp"

namespace ffn {

/// What is wrong with a run that nobody is about to train, and what the command that trained it would do about it.
struct RunCheck {
  enum class Verdict {
    whole,       ///< finished, and everything is as it was written
    unfinished,  ///< goes on where its checkpoint is, or begins
    marred,      ///< finished, and the results are as they were written; what is told beside them is not
    mendable,    ///< finished; what is damaged is written again from what is intact
    repeated,    ///< has to be trained again
    unreadable,  ///< there is something that cannot be read
    old,         ///< finished under version 0.1, without checksums: nothing visible is wrong
    misplaced,   ///< another run's directory
  };
  Verdict verdict = Verdict::whole;
  std::vector<std::string> damage;  ///< file and what is wrong with it, one line each
};

/// Reads everything that the run left.
RunCheck check_run(const RunDirectory& directory);

/// For whoever uses what was trained: throws DataError where config or weights are not those that the run's summary vouches for.
void require_as_trained(const RunDirectory& directory);

}  // namespace ffn
