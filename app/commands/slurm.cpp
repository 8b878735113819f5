// ffn-train slurm CONFIG: the study as a Slurm job array; prints the script or submits it.
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "../load_config.hpp"
#include "../train.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/shell.hpp"
#include "ffn/config/search_config.hpp"
#include "ffn/store/log.hpp"
#include "ffn/study/compare_plan.hpp"
#include "ffn/study/sequential_design.hpp"
#include "ffn/study/slurm_script.hpp"

namespace ffn::app {
namespace fs = std::filesystem;

namespace {

struct SlurmOptions {
  SlurmJob job;
  int tasks = 4, workers = 1;
  std::string more;
  bool shards = false, submit = false;
};

fs::path absolute(const fs::path& path) {
  const fs::path normal = absolute_path(path).lexically_normal();
  return normal.has_filename() ? normal : normal.parent_path();
}

SlurmJob job_of(const SlurmOptions& options, const CommonOptions& common) {
  if (common.config == "-") throw UsageError("a job cannot read its config from stdin", "write it to a file that all nodes see");
  const std::string config = resolve_config(common.config);
  SlurmJob job = options.job;
  job.arguments = all_overrides(common);
  std::istringstream words(options.more);
  for (std::string word; words >> word;) job.options.push_back(word);
  const auto document = load_with_overrides(config, job.arguments);
  if (is_search(document))
    throw UsageError(common.config + " is a search, and an array is for a study",
                     "let several jobs start the same ffn-train search with one -o: they share its runs");
  if (!is_study(document))
    throw UsageError(common.config + " is a single run, and an array is for many", "seeds=10 behind it makes it a study");
  auto study = read_study(document, config);
  take_first_seeds(study);
  warn_of_few_inputs(study);
  check_study(study, config, job.arguments.empty());
  if (study.sequential_seeds && options.shards)
    throw UsageError("shards are equal parts of a known number of runs, and this study adds seeds until it is decided",
                     "leave --shards out: the tasks share the runs; or give a number of seeds");

  job.program = fs::read_symlink("/proc/self/exe");
  job.config = path_exists(config) ? absolute(config) : fs::path(config);
  job.out = absolute(common.out);
  job.working_directory = current_directory();
  job.name = study.name;
  job.directory = job.out / study.name;
  record_to_go_on(study, job.out);
  const std::size_t runs = (study.sequential_seeds ? study.sequential_seeds->max : study.seeds.size()) * study.variants.size();
  job.tasks = std::min(static_cast<std::size_t>(options.tasks), runs);
  job.workers = static_cast<std::size_t>(options.workers);
  for (const auto& variant : study.variants) {
    if (const auto& threads = variant.config.compute.threads) job.threads = std::max(job.threads, static_cast<std::size_t>(*threads));
  }
  job.shards = options.shards;
  return job;
}

int slurm(const SlurmOptions& options, const CommonOptions& common) {
  const SlurmJob job = job_of(options, common);
  const std::string script = slurm_script(job);
  if (!options.submit) {
    std::cout << script;
    return 0;
  }
  const fs::path file = slurm_directory(job) / (job.name + ".sh");
  make_directories(slurm_directory(job));
  write_file_atomically(file, script);
  std::cout << std::flush;
  const int status = std::system(("bash " + shell_word(file.string())).c_str());
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
  throw SystemError("sbatch did not take " + file.string(),
                    "what it said stands above; the script stays there: bash " + shell_word(file.string()));
}

}  // namespace

void add_slurm(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("slurm", "train a study as a Slurm job array: print the script, or submit it");
  auto options = std::make_shared<SlurmOptions>();
  add_config_options(command, common);
  command.option("-o,--out", common.out, "where results go; all nodes have to see it").type("DIR").shows_default().directory();
  command.option("--tasks", options->tasks, "tasks of the array, which share the study's runs")
      .integer_in(1, 100000)
      .type("N")
      .shows_default();
  command
      .option("-j,--jobs", options->workers,
              "worker processes of each task, which gets a core for each; with --threads as many as the threads of all")
      .integer_in(1, 4096)
      .type("N")
      .shows_default();
  command.option("--time", options->job.time, "time limit of a task, which is queued again when it is over").type("TIME");
  command.option("--partition", options->job.partition, "where to run").type("NAME");
  command.option("--gres", options->job.gres, "what each task needs beside cores, for example gpu:1").type("LIST");
  command.option("--sbatch", options->more, "more options of sbatch's, for example --sbatch=\"--account=ml --mem=4G\"").type("OPTIONS");
  command.flag("--shards", options->shards, "give each task a part of its own (--shard): where locks do not reach all nodes");
  command.flag("--submit", options->submit, "submit it, and print how to follow it");
  add_compute_options(command, common);
  command.run([&common, options] {
    require_config(common);
    return slurm(*options, common);
  });
}

}  // namespace ffn::app
