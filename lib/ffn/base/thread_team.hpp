// Threads that work on the parts of something short, again and again. Standard library only.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace ffn {

/// The calling thread and some helpers. A helper that has waited for some microseconds sleeps, so that idle ones cost nothing; none is
/// started per piece of work. They take no signals. Not to be used from two threads at once, nor across a fork.
class ThreadTeam {
 public:
  /// `on_start` is the first thing that a helper does.
  explicit ThreadTeam(std::function<void()> on_start = {}) : on_start_(std::move(on_start)) {}
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  /// Calls work(part, thread) for every part < count, each once, in any order, from up to `threads` threads (fewer where there are no
  /// more to be had): thread 0 is the caller's. Returns when all have ended; throws their first error.
  void run(std::size_t threads, std::size_t count, const std::function<void(std::size_t part, std::size_t thread)>& work);

 private:
  void grow(std::size_t helpers);
  void serve(std::size_t thread, unsigned seen);
  void take_part(std::size_t thread);
  void end_part();

  std::function<void()> on_start_;
  std::vector<std::thread> helpers_;
  std::mutex mutex_;
  std::condition_variable wake_, ended_;
  // The piece of work at hand; `round_` counts them.
  std::atomic<unsigned> round_{0};
  std::atomic<std::size_t> sleeping_{0}, at_work_{0}, next_{0};
  std::atomic<bool> waiting_{false}, leaving_{false};
  std::size_t count_ = 0, called_ = 0;  // called_: helpers that take part
  const std::function<void(std::size_t, std::size_t)>* work_ = nullptr;
  std::exception_ptr error_;
};

}  // namespace ffn
