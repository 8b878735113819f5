#include "ffn/base/thread_team.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <system_error>

namespace ffn {

namespace {

constexpr int kSpins = 2000;  // some 20 to 50 µs

inline void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

// True once `done` says so; false after kSpins attempts.
template <class Done>
bool spin_until(const Done& done) {
  for (int i = 0; i < kSpins; ++i) {
    if (done()) return true;
    pause_briefly();
  }
  return false;
}

}  // namespace

ThreadTeam::~ThreadTeam() {
  leaving_ = true;
  ++round_;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    wake_.notify_all();
  }
  for (auto& helper : helpers_) helper.join();
}

void ThreadTeam::grow(std::size_t helpers) {
  if (helpers_.size() >= helpers) return;
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    while (helpers_.size() < helpers) {
      helpers_.emplace_back([this, thread = helpers_.size() + 1, seen = round_.load()] { serve(thread, seen); });
    }
  } catch (const std::system_error&) {
    // No more threads to be had: those that are here do it.
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void ThreadTeam::run(std::size_t threads, std::size_t count, const std::function<void(std::size_t, std::size_t)>& work) {
  const std::size_t wanted = std::min(threads, count);
  if (wanted > 1) grow(wanted - 1);
  count_ = count;
  work_ = &work;
  error_ = nullptr;
  next_ = 0;
  called_ = wanted > 1 ? std::min(wanted - 1, helpers_.size()) : 0;
  if (called_ > 0) {
    at_work_ = helpers_.size();  // all of them answer to a round, also those that have no part in it
    ++round_;                    // before sleeping_ is read: a helper that sleeps after that sees the new round
    if (sleeping_ > 0) {
      const std::lock_guard<std::mutex> lock(mutex_);
      wake_.notify_all();
    }
  }
  take_part(0);
  if (called_ > 0 && !spin_until([this] { return at_work_ == 0; })) {
    std::unique_lock<std::mutex> lock(mutex_);
    waiting_ = true;
    ended_.wait(lock, [this] { return at_work_ == 0; });
    waiting_ = false;
  }
  if (error_) std::rethrow_exception(error_);
}

void ThreadTeam::take_part(std::size_t thread) {
  for (std::size_t part = next_++; part < count_; part = next_++) {
    try {
      (*work_)(part, thread);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }
}

void ThreadTeam::end_part() {
  if (--at_work_ > 0) return;
  if (waiting_) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_.notify_one();
  }
}

// `seen` rounds were over before it was there.
void ThreadTeam::serve(std::size_t thread, unsigned seen) {
  if (on_start_) on_start_();
  while (true) {
    const auto called = [&] { return round_ != seen; };
    if (!spin_until(called)) {
      std::unique_lock<std::mutex> lock(mutex_);
      ++sleeping_;
      wake_.wait(lock, called);
      --sleeping_;
    }
    ++seen;
    if (leaving_) return;
    if (thread <= called_) take_part(thread);
    end_part();
  }
}

}  // namespace ffn
