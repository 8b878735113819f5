#include "ffn/study/worker.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>

#include "ffn/base/error.hpp"

namespace ffn {

namespace {

pid_t parent_of_this = 0;
volatile sig_atomic_t parent_is_gone = 0;
const std::function<bool()>* asked_to_stop = nullptr;

// A parent that ends although it waits for its workers to stop was told to stop at once.
extern "C" void on_continue(int) {
  if (::getppid() == parent_of_this) return;
  if (*asked_to_stop && (*asked_to_stop)()) ::_exit(1);
  parent_is_gone = 1;
}

class Worker {
 public:
  Worker(const WorkerTask& task, int commands, int messages) : task_(task), commands_(commands), messages_(messages) {}

  [[noreturn]] void serve() {
    std::size_t cohort;
    while (read_whole(commands_, &cohort, sizeof cohort)) train(cohort);
    ::_exit(0);  // no destructors: the parent owns what was inherited
  }

 private:
  void train(std::size_t cohort) {
    WorkerMessage end;
    end.cohort = cohort;
    try {
      end.kind = WorkerMessage::Kind::cohort_finished;
      end.outcome = train_cohort(task_.plan, task_.cohorts[cohort], task_.engine, task_.argv, hooks(cohort));
    } catch (const std::exception& error) {
      end.unreadable = dynamic_cast<const ReadError*>(&error) != nullptr;
      end.kind = WorkerMessage::Kind::cohort_failed;
      std::strncpy(end.reason, reason_of(error).c_str(), sizeof end.reason - 1);
    }
    send(end);
  }

  CohortHooks hooks(std::size_t cohort) {
    using Kind = WorkerMessage::Kind;
    CohortHooks hooks;
    hooks.started = [this, cohort](std::size_t run, std::int64_t step) { send({Kind::run_started, cohort, run, step}); };
    hooks.stepped = [this, cohort](std::int64_t step, double loss) {
      const auto now = std::chrono::steady_clock::now();
      if (now - last_step_message_ < std::chrono::milliseconds(100)) return;
      last_step_message_ = now;
      send({Kind::stepped, cohort, 0, step, loss});
    };
    hooks.finished = [this, cohort](std::size_t run, const RunResult& result, double val_loss) {
      send({Kind::run_finished, cohort, run, result.steps, val_loss, result.end});
    };
    hooks.failed = [this, cohort](std::size_t run) { send({Kind::run_failed, cohort, run}); };
    hooks.stop = [this] { return orphaned_ || parent_is_gone || (task_.stop && task_.stop()); };
    return hooks;
  }

  // A worker without a parent checkpoints and ends.
  void send(const WorkerMessage& message) { orphaned_ = !write_whole(messages_, &message, sizeof message) || orphaned_; }

  const WorkerTask task_;
  int commands_, messages_;
  bool orphaned_ = false;
  std::chrono::steady_clock::time_point last_step_message_ = std::chrono::steady_clock::now();
};

}  // namespace

void serve_as_worker(const WorkerTask& task, int commands, int messages) { Worker(task, commands, messages).serve(); }

bool end_with(pid_t parent, const std::function<bool()>& stop) {
  parent_of_this = parent;
  asked_to_stop = &stop;
  struct sigaction action = {};
  action.sa_handler = on_continue;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGCONT, &action, nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGCONT);
  return ::getppid() == parent;
}

bool write_whole(int fd, const void* data, std::size_t size) {
  ssize_t written;
  do written = ::write(fd, data, size);
  while (written < 0 && errno == EINTR);
  return written == static_cast<ssize_t>(size);
}

bool read_whole(int fd, void* data, std::size_t size) {
  auto* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = ::read(fd, at, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace ffn
