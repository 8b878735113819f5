// Runs the program of a run whose config has one ("engine"): in a process group of its own, without a shell.
#pragma once

#include "ffn/store/run_recorder.hpp"

namespace ffn {

/// Throws UsageError where the program or its working directory is not there.
void require_command(const RunConfig& config);

/// Runs the program to its end, its timeout, or until the observer wants to stop, and tells the observer of its numbers and its end. The
/// program begins with an empty output directory. Whatever it has started ends with it, and it ends with this process.
void run_command(const RecordedRun& run, TrainObserver& observer);

}  // namespace ffn
