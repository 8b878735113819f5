// One function for many indices: each once, errors told, work within work, and in a child that has none of its parent's threads.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "ffn/base/side_by_side.hpp"
#include "support/catch_plain.hpp"

namespace {

using ffn::side_by_side;

bool each_once(std::size_t threads, std::size_t count) {
  std::vector<std::atomic<int>> calls(count);
  side_by_side(threads, count, [&](std::size_t i) { ++calls[i]; });
  for (const auto& n : calls) {
    if (n != 1) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("every index is worked on once", "[core]") {
  for (const std::size_t threads : {0, 1, 2, 16}) {
    for (const std::size_t count : {0, 1, 2, 3, 100}) {
      CAPTURE(threads, count);
      for (int again = 0; again < 20; ++again) CHECK(each_once(threads, count));
    }
  }
}

TEST_CASE("an error is told when all have ended", "[core]") {
  std::atomic<int> ended{0};
  const auto work = [&](std::size_t i) {
    ++ended;
    if (i == 3) throw std::runtime_error("three");
  };
  CHECK_THROWS_AS(side_by_side(4, 50, work), std::runtime_error);
  CHECK(ended == 50);
}

TEST_CASE("work may hand out work of its own, and two threads may do so at once", "[core]") {
  std::atomic<int> calls{0};
  const auto both = [&] { side_by_side(4, 8, [&](std::size_t) { side_by_side(4, 8, [&](std::size_t) { ++calls; }); }); };
  std::thread other(both);
  both();
  other.join();
  CHECK(calls == 2 * 64);
}

TEST_CASE("a forked child has helpers of its own", "[core]") {
  REQUIRE(each_once(4, 50));  // the parent has some now
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(each_once(4, 50) && each_once(8, 50) ? 0 : 1);
  int status = 1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(each_once(4, 50));
}
