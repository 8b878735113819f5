#include "ffn/base/side_by_side.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

namespace ffn {

namespace {

// Threads that stay for the next piece of work: a study's many short ones would spend more on starting threads than on themselves.
// They live as long as the process and take no signals, so that those keep interrupting the main thread.
class Helpers {
 public:
  static Helpers& get() {
    static const bool watching =
        ::pthread_atfork(nullptr, nullptr, [] { one_ = nullptr; }) == 0;  // a child has none of its parent's threads
    static std::mutex mutex;
    const std::lock_guard<std::mutex> lock(mutex);
    if (!one_) one_ = new Helpers;  // never deleted: its threads may outlive main
    static_cast<void>(watching);
    return *one_;
  }

  // Calls `part` here and on up to `count` helpers at once; returns when all have. False, with nothing done, while they are at work
  // for another caller.
  bool run(std::size_t count, const std::function<void()>& part) {
    if (busy_.exchange(true)) return false;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      grow(count);
      part_ = &part;
      wanted_ = std::min(count, threads_);
    }
    wake_.notify_all();
    part();
    std::unique_lock<std::mutex> lock(mutex_);
    wanted_ = 0;  // helpers that have not woken by now would find nothing to do
    ended_.wait(lock, [this] { return at_work_ == 0; });
    busy_ = false;
    return true;
  }

 private:
  void grow(std::size_t count) {
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      for (; threads_ < count; ++threads_) std::thread([this] { serve(); }).detach();
    } catch (const std::system_error&) {
      // No more threads to be had: those that are here do it.
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  [[noreturn]] void serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return wanted_ > 0; });
      --wanted_;
      ++at_work_;
      lock.unlock();
      (*part_)();
      lock.lock();
      if (--at_work_ == 0) ended_.notify_one();
    }
  }

  static Helpers* one_;
  std::atomic<bool> busy_{false};
  std::mutex mutex_;
  std::condition_variable wake_, ended_;
  const std::function<void()>* part_ = nullptr;
  std::size_t threads_ = 0, wanted_ = 0, at_work_ = 0;
};

Helpers* Helpers::one_ = nullptr;

}  // namespace

void side_by_side(std::size_t threads, std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr first_error;
  const std::function<void()> take_part = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(mutex);
        if (!first_error) first_error = std::current_exception();
      }
    }
  };
  const std::size_t helpers = std::min(threads, count);
  // Work within work: the outer one has the helpers.
  if (helpers <= 1 || !Helpers::get().run(helpers - 1, take_part)) take_part();
  if (first_error) std::rethrow_exception(first_error);
}

}  // namespace ffn
