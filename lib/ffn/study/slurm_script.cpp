#include "ffn/study/slurm_script.hpp"

#include <regex>

#include "ffn/base/error.hpp"
#include "ffn/base/shell.hpp"
#include "ffn/store/study_file.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

// As sbatch reads the words of an #SBATCH line: quotes and backslashes as in a shell, and a line is a line.
std::string sbatch_word(const std::string& word) {
  for (const char c : word) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      throw UsageError("'" + word.substr(0, word.find(c)) + "…' has a control character, which an sbatch script cannot hold");
  }
  if (shell_word(word) == word) return word;
  std::string out = "\"";
  for (const char c : word) out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "\"";
}

// sbatch(1), --time: minutes, M:S, H:M:S, D-H, D-H:M, D-H:M:S, or a word for none.
void require_time(const std::string& time) {
  static const std::regex form(R"(\d+(:\d+){0,2}|\d+-\d+(:\d+){0,2}|UNLIMITED|INFINITE)", std::regex::icase);
  if (!std::regex_match(time, form))
    throw UsageError("--time: '" + time + "' is no time of Slurm's", "minutes, HOURS:MINUTES:SECONDS or DAYS-HOURS: 90, 2:00:00, 1-12");
}

// A path in which sbatch replaces %A, %a and %j.
std::string log_path(const SlurmJob& job, const std::string& name) {
  std::string escaped;
  for (const char c : slurm_directory(job).string()) escaped += c == '%' ? "%%" : std::string(1, c);
  return escaped + "/" + name;
}

}  // namespace

fs::path slurm_directory(const SlurmJob& job) { return job.directory / kSlurmDirectory; }

std::string slurm_script(const SlurmJob& job) {
  const auto line = [](const std::string& option) { return "#SBATCH " + sbatch_word(option) + "\n"; };
  std::string where;  // what both jobs share
  if (!job.partition.empty()) where += " " + shell_word("--partition=" + job.partition);
  for (const auto& option : job.options) where += " " + shell_word(option);

  std::string text = "#!/bin/bash\n";
  text += "# Trains the study " + job.name + ". Submit it with: bash SCRIPT   (or, without the comparison at the end: sbatch SCRIPT)\n";
  text += line("--job-name=" + job.name) + line("--array=1-" + std::to_string(job.tasks)) + line("--ntasks=1") +
          line("--cpus-per-task=" + std::to_string(job.workers * job.threads));
  if (!job.time.empty()) {
    require_time(job.time);
    text += line("--time=" + job.time);
  }
  if (!job.partition.empty()) text += line("--partition=" + job.partition);
  if (!job.gres.empty()) text += line("--gres=" + job.gres);
  for (const auto& option : job.options) text += line(option);
  text += line("--requeue") + line("--signal=B:USR1@60") + line("--open-mode=append");
  text += line("--output=" + log_path(job, "%A_%a.log")) + line("--chdir=" + job.working_directory.string());

  const std::string program = shell_word(job.program.string()), logs = slurm_directory(job).string();
  const std::string compare = shell_command({job.program.string(), "compare", job.directory.string()});
  text += "\nif [ -z \"${SLURM_ARRAY_TASK_ID:-}\" ]; then  # on the login node\n";
  text += "  compare=" + shell_word(compare) + "\n";
  text += "  mkdir -p " + shell_word(logs) + " || exit\n";
  text += "  array=$(sbatch --parsable \"$0\") || exit\n  array=${array%%;*}\n";
  text += "  after=$(sbatch --parsable --dependency=afterany:\"$array\" " + shell_word("--job-name=" + job.name + "-compare") +
          " --ntasks=1 --time=10" + where + " " + shell_word("--output=" + log_path(job, "compare-%j.log")) +
          " --wrap=\"$compare\") || exit\n  after=${after%%;*}\n";
  text += "  printf 'submitted: array job %s with " + std::to_string(job.tasks) +
          " tasks; job %s compares when it has ended\\n' \"$array\" \"$after\"\n";
  text += "  printf 'follow:    squeue -j %s,%s\\n' \"$array\" \"$after\"\n";
  text += "  printf '           tail -F %s%s_*.log\\n' " + shell_word(shell_word(logs + "/")) + " \"$array\"\n";
  text += "  printf 'so far:    %s\\n' \"$compare\"\n";
  text += "  exit 0\nfi\n";

  std::string train = program + " --config " + shell_word(job.config.string()) + " -o " + shell_word(job.out.string()) + " -j " +
                      std::to_string(job.workers);
  if (job.shards) train += " --shard \"$SLURM_ARRAY_TASK_ID/" + std::to_string(job.tasks) + "\"";
  for (const auto& argument : job.arguments) train += " " + shell_word(argument);
  text += R"(
# A minute before the time limit Slurm sends USR1 to this shell: the program checkpoints, and the task is queued again.
warned=
child=
trap 'warned=1; [ -z "$child" ] || kill -USR1 "$child" 2>/dev/null' USR1
)";
  text += train + " &\nchild=$!\n";
  text += R"(wait "$child"
code=$?
while [ "$code" -gt 128 ] && kill -0 "$child" 2>/dev/null; do  # it was the shell that heard a signal
  wait "$child"
  code=$?
done
if [ -n "$warned" ] && [ "$code" -gt 74 ]; then  # 75, or ended by the signal before it listened
  echo "time is up; the task is queued again"
  scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
)";
  return text;
}

}  // namespace ffn
