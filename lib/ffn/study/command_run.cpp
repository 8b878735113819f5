#include "ffn/study/command_run.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "ffn/base/duration.hpp"
#include "ffn/base/files.hpp"
#include "ffn/data/run_identity.hpp"
#include "ffn/store/log.hpp"
#include "ffn/study/command_metrics.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

using CommandClock = std::chrono::steady_clock;

/// A program that is to run, as a child can use it without allocating.
struct Program {
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;  ///< that is set
  std::string workdir;
  Descriptor in, out, err;
};

/// How it came to its end.
struct CommandEnd {
  int status = 0;  ///< as of waitpid
  bool is_late = false, is_stopped = false, is_known = false;
  double seconds = 0;
};

constexpr int kNotFound = 127;  // as shells have it

[[noreturn]] void become(const Program& program) {
  std::vector<char*> argv;
  for (const auto& argument : program.arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  for (const auto& [name, value] : program.environment) ::setenv(name.c_str(), value.c_str(), 1);
  ::dup2(program.in.get(), 0);
  ::dup2(program.out.get(), 1);
  ::dup2(program.err.get(), 2);
  const bool is_there = ::chdir(program.workdir.c_str()) == 0;
  if (is_there) ::execvp(argv[0], argv.data());
  ::dprintf(2, "cannot run %s: %s\n", is_there ? argv[0] : program.workdir.c_str(), std::strerror(errno));
  ::_exit(kNotFound);
}

extern "C" void end_group(int) { ::kill(0, SIGKILL); }

// Between us and the program: the leader of its group, which ends the group when this process is killed, and tells how the program ended.
[[noreturn]] void supervise(const Program& program, pid_t parent, int result) {
  ::setpgid(0, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGINT, SIGPIPE, SIGCONT}) ::signal(signal, SIG_DFL);
  ::signal(SIGTERM, SIG_IGN);  // the program's to answer
  ::signal(SIGHUP, end_group);
  ::prctl(PR_SET_PDEATHSIG, SIGHUP);
  if (::getppid() != parent) ::_exit(1);
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (const int signal : {SIGTERM, SIGHUP}) ::signal(signal, SIG_DFL);
    become(program);
  }
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (child > 0) (void)!::write(result, &status, sizeof status);
  ::_exit(0);
}

CommandEnd run_to_end(const Program& program, std::optional<double> timeout, TrainObserver& observer) {
  constexpr double kGrace = 5;  // seconds from SIGTERM to SIGKILL
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw SystemError(std::string("cannot start a program: ") + std::strerror(errno));
  Descriptor result(ends[0]), writes(ends[1]);
  const auto begun = CommandClock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(CommandClock::now() - begun).count(); };
  const pid_t parent = ::getpid(), group = ::fork();
  if (group < 0) throw SystemError(std::string("cannot start a program: ") + std::strerror(errno));
  if (group == 0) supervise(program, parent, writes.get());
  writes.close();
  ::setpgid(group, group);
  CommandEnd out;
  double asked = -1;  // when it was asked to end
  for (;;) {
    pollfd ready{result.get(), POLLIN, 0};
    if (::poll(&ready, 1, 50) > 0) break;
    if (asked < 0) {
      out.is_stopped = observer.stop_requested();
      out.is_late = !out.is_stopped && timeout && elapsed() > *timeout;
      if (!out.is_stopped && !out.is_late) continue;
      asked = elapsed();
      for (const int signal : {SIGTERM, SIGCONT}) ::kill(-group, signal);
    } else if (elapsed() > asked + kGrace) {
      ::kill(-group, SIGKILL);
    }
  }
  out.is_known = ::read(result.get(), &out.status, sizeof out.status) == sizeof out.status;
  out.seconds = elapsed();
  ::kill(-group, SIGKILL);  // what the program left running
  while (::waitpid(group, nullptr, 0) < 0 && errno == EINTR) continue;
  return out;
}

Descriptor opened(const fs::path& path, int flags) {
  Descriptor file(::open(path.c_str(), flags | O_CLOEXEC, 0666));
  if (!file.is_open()) throw SystemError("cannot open " + path.string() + ": " + std::strerror(errno));
  return file;
}

std::string printed_in(const fs::path& file) {
  auto text = read_file_if_there(file, "a program's output", ExitCode::data, std::uintmax_t{1} << 32).value_or("");
  std::replace(text.begin(), text.end(), '\r', '\n');  // of progress bars
  return text;
}

std::string last_line(const std::string& text) {
  std::istringstream lines(text);
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  }
  return dump_json_lossy(Json(last.substr(0, 200)));
}

std::string failure_of(const CommandEnd& end, const CommandConfig& command, const std::string& errors) {
  if (end.is_late) return "it took longer than engine.timeout, " + command.timeout;
  if (!end.is_known) return "its process group was killed";
  if (WIFEXITED(end.status) && WEXITSTATUS(end.status) == 0) return "";
  return (WIFEXITED(end.status) ? "exit code " + std::to_string(WEXITSTATUS(end.status))
                                : "killed by signal " + std::to_string(WTERMSIG(end.status)) + ", " + ::strsignal(WTERMSIG(end.status))) +
         (errors.empty() ? "" : ": " + last_line(errors));
}

// Its numbers, unless it failed.
RunResult result_of_command(const CommandEnd& end, const RecordedRun& run, TrainObserver& observer) {
  const auto& command = *run.config.command;
  const CommandOutput output{run.directory.output_path(),
                             {printed_in(run.directory.path() / kCommandFiles[1]), printed_in(run.directory.path() / kCommandFiles[2])}};
  RunResult out;
  out.train_seconds = end.seconds;
  out.reason = failure_of(end, command, output.printed[1]);
  out.end = out.reason.empty() ? RunEnd::done : RunEnd::failed;
  if (out.end == RunEnd::failed) return out;
  try {
    const auto evaluations = read_command_metrics(command.sources(), output);
    out.steps = evaluations.back().step;
    const std::string main = command.main_metric();
    for (auto evaluation : evaluations) {
      evaluation.time_s = out.steps > 0 ? end.seconds * static_cast<double>(evaluation.step) / static_cast<double>(out.steps) : end.seconds;
      observer.evaluated(0, evaluation);
      for (const auto& [name, value] : evaluation.metrics) {
        if (name == main) out.reason = std::isfinite(value) ? "" : name + " is not finite";
      }
    }
    if (!out.reason.empty()) out.end = RunEnd::diverged;
  } catch (const DataError& error) {
    out.end = RunEnd::failed;
    out.reason = error.what();
  }
  return out;
}

Json record_of_command(const Program& program, const CommandEnd& end, const std::string& files_hash,
                       const std::vector<std::string>& files) {
  Json environment = Json::object(), hashes = Json::object();
  for (const auto& [name, value] : program.environment) environment[name] = value;
  if (const char* gpus = std::getenv("CUDA_VISIBLE_DEVICES")) environment["CUDA_VISIBLE_DEVICES"] = gpus;
  std::istringstream each(files_hash);
  for (const auto& file : files) {
    std::string hash;
    std::getline(each, hash, ',');
    hashes[file] = hash;
  }
  return {{"command", program.arguments},
          {"workdir", program.workdir},
          {"environment", environment},
          {"exit_code", end.is_known && WIFEXITED(end.status) ? Json(WEXITSTATUS(end.status)) : Json()},
          {"signal", end.is_known && WIFSIGNALED(end.status) ? Json(WTERMSIG(end.status)) : Json()},
          {"timed_out", end.is_late},
          {"seconds", end.seconds},
          {"sha256", hashes}};
}

}  // namespace

void require_command(const RunConfig& config) {
  const auto& command = *config.command;
  if (!directory_exists(command.workdir)) throw UsageError("engine.workdir: no directory " + command.workdir);
  const std::string program = command.arguments({})[0];
  std::istringstream path(program.find('/') == std::string::npos && std::getenv("PATH") ? std::getenv("PATH") : "");
  bool is_there = program.find('/') != std::string::npos && ::access((fs::path(command.workdir) / program).c_str(), X_OK) == 0;
  for (std::string directory; !is_there && std::getline(path, directory, ':');)
    is_there = ::access((fs::path(directory) / program).c_str(), X_OK) == 0;
  if (!is_there)
    throw UsageError("engine.command: there is no program " + program,
                     "name one in PATH, or by its path from " + command.workdir + ", that may be executed");
}

void run_command(const RecordedRun& run, TrainObserver& observer) {
  const auto& command = *run.config.command;
  const auto& directory = run.directory;
  const fs::path output = absolute_path(directory.output_path());
  std::error_code error;
  fs::remove_all(output, error);  // of an attempt that did not end; links in it are not followed
  if (error) throw SystemError("cannot empty " + output.string() + ": " + error.message());
  make_directory(output);
  Program program;
  program.arguments = command.arguments({{"seed", std::to_string(run.config.seed)}, {"run_dir", output.string()}});
  for (const auto& item : command.environment->items()) program.environment.emplace_back(item.key(), item.value().get<std::string>());
  program.environment.emplace_back("FFN_RUN_DIR", output.string());
  program.workdir = command.workdir;
  program.in = opened("/dev/null", O_RDONLY);
  program.out = opened(directory.path() / kCommandFiles[1], O_WRONLY | O_CREAT | O_TRUNC);
  program.err = opened(directory.path() / kCommandFiles[2], O_WRONLY | O_CREAT | O_TRUNC);
  const auto timeout = command.timeout.empty() ? std::nullopt : seconds_in(command.timeout);
  const CommandEnd end = run_to_end(program, timeout, observer);
  RunResult result;
  result.end = RunEnd::interrupted;
  if (!end.is_stopped) {
    result = result_of_command(end, run, observer);
    const Json record = record_of_command(program, end, data_hash_now(run.config), command.program_files());
    write_file_atomically(directory.path() / kCommandFiles[0], dump_json_lossy(record, 2) + "\n");
    result.files.assign(std::begin(kCommandFiles), std::end(kCommandFiles));
    result.computed_by = {EngineInfo{"command", program.arguments[0]}.text()};
    if (result.end == RunEnd::failed) log_warning(directory.path().string() + " failed: " + result.reason);
  }
  observer.finished(0, result);
  if (run.config.keep != "summary" || result.end == RunEnd::failed || end.is_stopped) return;
  directory.remove_results();
  fs::remove_all(output, error);
}

}  // namespace ffn
