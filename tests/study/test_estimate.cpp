// How long a study is said to take, from trying a little of it.
#include <chrono>
#include <filesystem>
#include <thread>

#include "ffn/study/estimate.hpp"
#include "study/pretending.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

TEST_CASE("an estimate is of all cohorts, divided among workers, and leaves nothing behind") {
  const ScratchDirectory scratch;
  const Plan plan = make_plan(study_of(R"({"name": "s", "seeds": 4})"), scratch.path() / "s");
  const auto estimate = [&](std::size_t jobs, int milliseconds) {
    Pretending engine([milliseconds](const RunConfig&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
      return 1.0;
    });
    return estimate_use(plan, {{0}, {1}, {2}, {3}}, jobs, 4, engine, [](const RunConfig&) { return 0.0; }).seconds;
  };
  CHECK(estimate(1, 50) >= 4 * 0.05);
  CHECK(estimate(2, 50) >= 2 * 0.05);
  CHECK(estimate(4, 50) >= 0.05);
  CHECK(estimate(4, 500) < estimate(1, 500));
  CHECK(std::filesystem::is_empty(scratch.path()));
}
