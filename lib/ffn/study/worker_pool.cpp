#include "ffn/study/worker_pool.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <new>
#include <set>

#include "ffn/base/descriptor.hpp"
#include "ffn/base/error.hpp"
#include "ffn/store/log.hpp"
#include "ffn/store/run_check.hpp"
#include "ffn/train/devices.hpp"

namespace ffn {

namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// The number of workers at work, in memory that they share with their parent.
class Shared {
 public:
  Shared() {
    void* at = ::mmap(nullptr, sizeof(std::atomic<std::size_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at != MAP_FAILED) workers_at_work_ = new (at) std::atomic<std::size_t>(0);
  }
  ~Shared() {
    if (workers_at_work_) ::munmap(workers_at_work_, sizeof *workers_at_work_);
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  void set_at_work(std::size_t workers) {
    if (workers_at_work_) *workers_at_work_ = workers;
  }
  /// `all` if memory cannot be shared.
  std::size_t at_work(std::size_t all) const { return workers_at_work_ ? workers_at_work_->load() : all; }

 private:
  std::atomic<std::size_t>* workers_at_work_ = nullptr;
};

struct Child {
  pid_t pid = -1;
  Descriptor commands, messages;
  std::size_t cohort = kNone;
};

class Pool {
 public:
  Pool(const Plan& plan, const std::vector<PlannedCohort>& cohorts, Engine& engine, const PoolOptions& options)
      : plan_(plan), cohorts_(cohorts), engine_(engine), options_(options), attempts_(cohorts.size(), 0) {
    for (std::size_t c = 0; c < cohorts.size(); ++c) queue_.push_back(c);
  }

  PoolResult run() {
    const std::size_t count = std::min(options_.jobs, cohorts_.size());
    start_workers(count);
    for (auto& child : children_) assign(child);
    while (busy()) {
      wait_for_messages();
      if (!stopping_ && options_.stop && options_.stop()) {
        result_.interrupted = true;
        stop_all();
      }
      if (stopping_) kill_when_late();
    }
    for (auto& child : children_) child.commands.close();  // the worker's read ends, and so does the worker
    for (const auto& child : children_) {
      if (child.pid > 0) end_idle(child.pid);
    }
    return std::move(result_);
  }

 private:
  // As many as there can be: where processes are limited, fewer do the same work.
  void start_workers(std::size_t count) {
    try {
      while (children_.size() < count) children_.push_back(start(children_.size()));
    } catch (const SystemError& error) {
      if (children_.empty()) throw;
      log_warning(std::string(error.what()) + "; the study goes on with " + std::to_string(children_.size()) + " of " +
                  std::to_string(count) + " workers");
    }
  }

  Child start(std::size_t index) {
    auto [commands, to_worker] = new_pipe();
    auto [from_worker, messages] = new_pipe();
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) throw cannot_start();
    if (pid == 0) {
      if (!end_with(parent, options_.stop)) ::_exit(1);
      children_.clear();  // their pipes are the parent's
      to_worker.close();
      from_worker.close();
      if (options_.in_worker) options_.in_worker();
      engine_.set_worker(index);
      if (plan_.runs[0].config.command) take_gpu(index);
      engine_.set_threads([this] { return thread_share(options_.cores, shared_.at_work(options_.jobs)); });
      serve_as_worker({plan_, cohorts_, engine_, options_.argv, options_.stop}, commands.get(), messages.get());
    }
    return {pid, std::move(to_worker), std::move(from_worker)};
  }

  // (read end, write end)
  static std::pair<Descriptor, Descriptor> new_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw cannot_start();
    return {Descriptor(ends[0]), Descriptor(ends[1])};
  }

  static SystemError cannot_start() {
    const int problem = errno;
    const bool files = problem == EMFILE || problem == ENFILE;
    const char* hint = files ? "no more open files are allowed (ulimit -n shows the limit): raise it, or take fewer workers with -j"
                             : "no more processes, which threads are as well, are allowed or have room (ulimit -u shows the limit): raise "
                               "it, or take fewer workers with -j";
    return SystemError(std::string("cannot start a worker: ") + std::strerror(problem), hint);
  }

  void assign(Child& child) {
    child.cohort = kNone;
    if (queue_.empty() || stopping_) return count_at_work();
    const std::size_t cohort = queue_.front();
    if (!write_whole(child.commands.get(), &cohort, sizeof cohort)) return;  // it has died; reap() will find out
    queue_.pop_front();
    ++attempts_[cohort];
    child.cohort = cohort;
    count_at_work();
  }

  void count_at_work() {
    shared_.set_at_work(
        static_cast<std::size_t>(std::count_if(children_.begin(), children_.end(), [](const Child& c) { return c.cohort != kNone; })));
  }

  bool busy() const {
    bool any_alive = false;
    for (const auto& child : children_) {
      if (child.cohort != kNone) return true;
      any_alive = any_alive || child.pid > 0;
    }
    return any_alive && !queue_.empty() && !stopping_;
  }

  void wait_for_messages() {
    std::vector<pollfd> fds;
    for (const auto& child : children_) fds.push_back({child.messages.get(), POLLIN, 0});
    if (::poll(fds.data(), fds.size(), 100) <= 0) return;
    for (std::size_t i = 0; i < fds.size(); ++i) {
      if (fds[i].revents == 0) continue;
      WorkerMessage message;
      if (read_whole(children_[i].messages.get(), &message, sizeof message)) receive(children_[i], message);
      else reap(children_[i]);
    }
  }

  void receive(Child& child, const WorkerMessage& message) {
    using Kind = WorkerMessage::Kind;
    if (message.kind == Kind::run_finished && message.end != RunEnd::interrupted) {
      ++result_.trained;
      result_.ended.insert(message.run);
      if (message.end == RunEnd::diverged) diverged_.insert(message.run);
      if (message.end == RunEnd::failed && options_.fail_fast) stop_all();
    }
    if (message.kind == Kind::run_failed) {
      result_.failed.insert(message.run);
      result_.trained -= result_.ended.erase(message.run);  // it failed after its end
      diverged_.erase(message.run);
    }
    result_.diverged = diverged_.size();
    if (options_.on_message) options_.on_message(message);
    if (message.kind == Kind::cohort_finished) {
      result_.elsewhere += message.outcome.elsewhere;
      if (message.outcome.failed > 0 && options_.fail_fast) stop_all();
      assign(child);
    } else if (message.kind == Kind::cohort_failed && message.unreadable) {
      result_.unreadable = message.reason;
      assign(child);
    } else if (message.kind == Kind::cohort_failed) {
      log_error("a cohort failed: " + std::string(message.reason));
      mark_failed(message.cohort, message.reason);  // whatever it had not begun is not begun again for ever
      fail(message.cohort);
      assign(child);
    }
  }

  // A worker ended without being asked to: killed, crashed, out of memory.
  void reap(Child& child) {
    int status = 0;
    ::waitpid(child.pid, &status, 0);
    const std::size_t cohort = child.cohort;
    const std::string reason = WIFSIGNALED(status) ? std::string("its worker was killed by ") + ::strsignal(WTERMSIG(status))
                                                   : "its worker ended with code " + std::to_string(WEXITSTATUS(status));
    child = Child();
    if (cohort == kNone || stopping_) {
      // Nothing to do again: its runs go on from their checkpoints in the next session.
    } else if (attempts_[cohort] < 2) {
      log_warning("a cohort is trained again: " + reason);
      queue_.push_front(cohort);
    } else {
      log_error("a cohort failed twice: " + reason);
      mark_failed(cohort, reason + ", twice");
      fail(cohort);
    }
    if (!queue_.empty() && !stopping_) replace(child);
  }

  // With another worker; where none can be started, those that are left do its work.
  void replace(Child& child) {
    try {
      child = start(static_cast<std::size_t>(&child - children_.data()));
      assign(child);
    } catch (const SystemError& error) {
      if (std::none_of(children_.begin(), children_.end(), [](const Child& c) { return c.pid > 0; })) throw;
      log_warning(std::string(error.what()) + "; the study goes on with those that are left");
      for (auto& other : children_) {
        if (other.pid > 0 && other.cohort == kNone) assign(other);
      }
    }
  }

  void mark_failed(std::size_t cohort, const std::string& reason) {
    for (const auto index : cohorts_[cohort]) {
      const auto& run = plan_.runs[index];
      const RunDirectory directory(run.directory);
      try {
        const auto claim = claim_run(run.directory);
        auto check = check_run(directory, run.identity);
        if (!claim || check.is_whole() || check.verdict == RunCheck::Verdict::damaged) continue;
        RunRecord record = check.record ? *check.record : new_record(run.config, run.identity);
        record.state = RunState::failed;
        record.reason = reason;
        make_directory(run.directory);
        directory.write_record(record, Durability::flushed);
      } catch (const SystemError& error) {
        log_error(error.what());
      }
    }
  }

  void fail(std::size_t cohort) {
    for (const auto index : cohorts_[cohort]) {
      if (progress_of(plan_.runs[index]) != Progress::finished) result_.failed.insert(index);
    }
    if (options_.fail_fast) stop_all();
  }

  void stop_all() {
    if (stopping_) return;
    stopping_ = true;
    stop_time_ = std::chrono::steady_clock::now();
    signal_all(SIGTERM);
    signal_all(SIGCONT);  // one that somebody has stopped would never hear the other
  }

  // Steps and evaluations may be long, and what a worker that is killed loses are the steps since its last checkpoint. But a
  // worker that hangs must not keep the study from ending.
  void kill_when_late() {
    const auto waited = std::chrono::steady_clock::now() - stop_time_;
    const auto seconds = [](std::chrono::steady_clock::duration d) {
      return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(d).count()) + " s";
    };
    if (!said_waiting_ && waited > options_.patience / 6) {
      said_waiting_ = true;
      signal_all(SIGCONT);
      log_warning("workers have not come to the end of their step within " + seconds(waited) + "; they are killed after " +
                  seconds(options_.patience) + ", and their runs go on from their last checkpoints");
    }
    if (!killed_ && waited > options_.patience) {
      killed_ = true;
      log_warning("workers that did not stop within " + seconds(options_.patience) + " are killed");
      signal_all(SIGKILL);
    }
  }

  void signal_all(int signal) {
    for (const auto& child : children_) {
      if (child.pid > 0) ::kill(child.pid, signal);
    }
  }

  // It has nothing left to do, and nothing to lose.
  static void end_idle(pid_t pid) {
    ::kill(pid, SIGCONT);
    for (int i = 0; i < 10'000; ++i) {  // 2 s
      if (::waitpid(pid, nullptr, WNOHANG) != 0) return;
      ::usleep(200);
    }
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }

  const Plan& plan_;
  const std::vector<PlannedCohort>& cohorts_;
  Engine& engine_;
  const PoolOptions& options_;
  std::vector<int> attempts_;
  std::deque<std::size_t> queue_;
  std::set<std::size_t> diverged_;
  std::vector<Child> children_;
  Shared shared_;
  bool stopping_ = false, said_waiting_ = false, killed_ = false;
  std::chrono::steady_clock::time_point stop_time_;
  PoolResult result_;
};

}  // namespace

std::size_t thread_share(std::size_t cores, std::size_t workers) {
  return std::max<std::size_t>(1, cores / std::max<std::size_t>(1, workers));
}

PoolResult run_pool(const Plan& plan, const std::vector<PlannedCohort>& cohorts, Engine& engine, const PoolOptions& options) {
  return Pool(plan, cohorts, engine, options).run();
}

}  // namespace ffn
