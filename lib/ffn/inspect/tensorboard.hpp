// TensorBoard's event files of runs that are there: one for each run, and of each variant with several seeds its mean and interval.
#pragma once

#include <filesystem>

#include "ffn/report/export_runs.hpp"

namespace ffn::exports {

struct TensorBoardFiles {
  std::filesystem::path directory;
  std::size_t num_runs = 0, num_variants = 0;  ///< whose files were written
  std::size_t most_points = 0;                 ///< of one curve
};

/// Points of a curve that TensorBoard keeps unless it is told otherwise (--samples_per_plugin scalars=N).
inline constexpr std::size_t kTensorBoardPoints = 1000;

/// Writes `directory`/(path of the run below the common directory)/ with a run's scalars and hparams, the variant being the group; and
/// <variant>/mean, low and high: the mean over its seeds and the 95 % interval, or where some have diverged or failed the median and the
/// quartiles of all. With `histograms` also those of histograms_of(). Adds to `notes` what cannot be read.
TensorBoardFiles write_tensorboard(const Selection& selection, const std::filesystem::path& directory, bool histograms,
                                   std::vector<std::string>& notes);

}  // namespace ffn::exports
