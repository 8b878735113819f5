// A study as a Slurm job array. Text alone: nothing is submitted here.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace ffn {

struct SlurmJob {
  std::filesystem::path program, config, out;  ///< absolute
  std::filesystem::path directory;             ///< the study's: out/<study>, absolute
  std::filesystem::path working_directory;     ///< where relative paths in overrides start
  std::string name;                            ///< the study's
  std::vector<std::string> arguments;          ///< of the training command, behind --config: overrides
  std::size_t tasks = 1;                       ///< of the array
  std::size_t workers = 1, threads = 1;        ///< processes of a task, and threads of each: a core for every one
  bool shards = false;                         ///< each task trains a part of its own, instead of claiming runs
  std::string time, partition, gres;           ///< as sbatch takes them; empty: the cluster's default
  std::vector<std::string> options;            ///< more of sbatch's, "--account=x"
};

/// The directory of the script and the jobs' logs.
std::filesystem::path slurm_directory(const SlurmJob& job);

/// A bash script. `bash SCRIPT` submits the array and a job that compares when the array has ended; `sbatch SCRIPT` the array
/// alone. Tasks share the study's directory: they claim runs, so that one that is killed leaves its work to the others. Before
/// the time limit a task checkpoints and is queued again. Throws UsageError for text that cannot stand in a script.
std::string slurm_script(const SlurmJob& job);

}  // namespace ffn
