// Workers that do not do what they are told.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <sstream>

#include "ffn/store/log.hpp"
#include "ffn/study/worker_pool.hpp"
#include "store/scratch.hpp"
#include "study/studies.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

// Never comes to the end of its step, whatever it is asked.
class Hanging final : public Engine {
 public:
  EngineInfo info(const RunConfig&) override { return {"cpu", "cpu"}; }
  void prepare(const RunConfig&) override {}
  void set_worker(std::size_t) override {}
  void set_threads(ThreadCount) override {}
  void train(const Cohort&, TrainObserver&) override {
    for (;;) ::pause();
  }
};

}  // namespace

TEST_CASE("a worker that hangs is killed when its time is over, and the study ends as interrupted") {
  const ScratchDirectory scratch;
  std::ostringstream said;
  set_up_log({0, false, &said, {}});
  const Plan plan = make_plan(study_of(R"({"name": "s", "seeds": 2})"), scratch.path());
  Hanging engine;
  PoolOptions options;
  options.jobs = 2;
  options.patience = std::chrono::milliseconds(600);
  options.in_worker = [] { std::signal(SIGTERM, [](int) {}); };
  std::size_t asked = 0;
  options.stop = [&] { return ++asked > 3; };
  const auto begin = std::chrono::steady_clock::now();
  const auto result = run_pool(plan, {{0}, {1}}, engine, options);
  const auto took = std::chrono::steady_clock::now() - begin;
  set_up_log({});
  CHECK(result.interrupted);
  CHECK(result.trained == 0);
  CHECK(took > std::chrono::milliseconds(500));
  CHECK(took < std::chrono::seconds(30));
  CHECK(said.str().find("go on from their last checkpoints") != std::string::npos);
  CHECK(said.str().find("are killed") != std::string::npos);
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);  // no child is left
}
