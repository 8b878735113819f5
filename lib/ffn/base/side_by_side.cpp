#include "ffn/base/side_by_side.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>

#include "ffn/base/thread_team.hpp"

namespace ffn {

namespace {

// The process's team: a study's many short pieces of work would spend more on starting threads than on themselves. Never deleted: its
// threads may outlive main.
ThreadTeam* shared_team = nullptr;
std::atomic<bool> team_is_busy{false};

// A child has none of its parent's threads.
void forget_team() {
  shared_team = nullptr;
  team_is_busy = false;
}

}  // namespace

void side_by_side(std::size_t threads, std::size_t count, const std::function<void(std::size_t)>& work) {
  const auto part = [&](std::size_t i, std::size_t) { work(i); };
  // Work within work: the outer one has the team.
  if (std::min(threads, count) <= 1 || team_is_busy.exchange(true)) return ThreadTeam().run(1, count, part);
  static const int watches_forks = ::pthread_atfork(nullptr, nullptr, forget_team);
  static_cast<void>(watches_forks);
  struct Release {
    ~Release() { team_is_busy = false; }
  } const release;
  if (!shared_team) shared_team = new ThreadTeam;
  shared_team->run(threads, count, part);
}

}  // namespace ffn
