// What an export writes of each run: its curves, its variant, the keys that tell it apart.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ffn/compare/compare.hpp"
#include "ffn/train/interface.hpp"

namespace ffn::exports {

/// The runs below some directories, and what they differ in.
struct Selection {
  std::vector<FoundRun> runs;        ///< keys of what computed them left out
  std::vector<std::string> varying;  ///< keys whose values differ between them
  std::vector<std::string> notes;    ///< what is not among them, and why
};

/// Throws DataError where there is no run.
Selection select_runs(const std::vector<std::filesystem::path>& directories, Extras extras);

/// Everything that a run has measured, oldest first; of a finished run as its summary vouches for it. Throws DataError for a file that
/// is damaged.
std::vector<Evaluation> curve_of(const FoundRun& run);

/// Adds "left out of the curves: problem", unless it is among the notes from another kind of file.
void note_left_out(std::vector<std::string>& notes, const std::string& problem);

}  // namespace ffn::exports
