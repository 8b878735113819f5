// The memory that workers hold, and what is said of it beforehand.
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <memory>
#include <vector>

#include "ffn/study/estimate.hpp"
#include "ffn/study/train_cohort.hpp"
#include "store/scratch.hpp"
#include "study/studies.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

double resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  double total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

using Bytes = std::unique_ptr<char[]>;

Bytes bytes(std::size_t count) {
  Bytes out(new char[count]);
  for (std::size_t i = 0; i < count; i += 1024) out[i] = 1;
  return out;
}

// Between what lives on: the allocator has to keep these addresses, but not their memory.
std::vector<Bytes> leave_holes(std::size_t holes, std::size_t each) {
  std::vector<Bytes> kept, freed;
  for (std::size_t i = 0; i < holes; ++i) {
    freed.push_back(bytes(each));
    kept.push_back(bytes(5000));
  }
  return kept;
}

class Resting : public Engine {
 public:
  EngineInfo info(const RunConfig&) override { return {"cpu", "cpu"}; }
  void prepare(const RunConfig&) override {}
  void set_worker(std::size_t) override {}
  void set_threads(ThreadCount threads) override { threads_ = std::move(threads); }
  void train(const Cohort&, TrainObserver&) override { at_start = resident_bytes(); }
  double at_start = 0;

 protected:
  ThreadCount threads_;
};

constexpr double kThreadBytes = 20e6;

// As long a run as is wanted, and as much memory as it has threads.
class PerThread final : public Resting {
 public:
  void train(const Cohort&, TrainObserver& observer) override {
    const auto held = bytes(threads_() * static_cast<std::size_t>(kThreadBytes));
    for (std::int64_t step = 0; !observer.stop_requested(); ++step) {
      observer.evaluated(0, {});
      observer.stepped(step + 1, 1);
    }
  }
};

// Steps that take this much of a core's time.
class Working final : public Resting {
 public:
  static constexpr double kStepSeconds = 0.005;
  void train(const Cohort&, TrainObserver& observer) override {
    const auto used = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
    for (std::int64_t step = 0; !observer.stop_requested(); ++step) {
      for (const double start = used(); used() - start < kStepSeconds;) {
      }
      observer.evaluated(0, {});
      observer.stepped(step + 1, 1);
    }
  }
};

}  // namespace

TEST_CASE("a cohort begins without the memory that earlier ones freed") {
  const ScratchDirectory scratch;
  const Plan plan = make_plan(study_of(R"({"name": "s", "seeds": 1})"), scratch.path());
  constexpr std::size_t kHoles = 400, kEach = 100'000;  // below the size from which the system has each back at once
  const double before = resident_bytes();
  const auto kept = leave_holes(kHoles, kEach);
  REQUIRE(resident_bytes() - before > 0.8 * kHoles * kEach);
  Resting engine;
  train_cohort(plan, {0}, engine, {}, {});
  CHECK(engine.at_start - before < 0.2 * kHoles * kEach);
}

TEST_CASE("the memory of a worker is that with all the cores, which the last one at work has") {
  const ScratchDirectory scratch;
  const Plan plan = make_plan(study_of(R"({"name": "s", "seeds": 4, "train": {"steps": 1000000000}})"), scratch.path());
  PerThread engine;
  const auto no_more = [](const RunConfig&) { return 0.0; };
  const double alone = estimate_use(plan, {{0}, {1}}, 2, 2, engine, no_more).peak_bytes;
  const double at_last = estimate_use(plan, {{0}, {1}}, 2, 4, engine, no_more).peak_bytes;
  CHECK(at_last - alone > 1.8 * kThreadBytes);
  CHECK(at_last - alone < 2.2 * kThreadBytes);
}

TEST_CASE("the memory of a run that saves its state holds the state twice more") {
  const ScratchDirectory scratch;
  Resting engine;
  const auto needed = [&](const std::string& more) {
    const Plan plan = make_plan(study_of(R"({"name": "s", "seeds": 1, )" + more + "}"), scratch.path());
    return estimate_use(plan, {{0}}, 1, 1, engine, [](const RunConfig&) { return 1e9; }).peak_bytes;
  };
  CHECK(needed(R"("keep": "state", "train": {"steps": 100})") >= 2e9);
  CHECK(needed(R"("train": {"steps": 1000000})") >= 2e9);
  CHECK(needed(R"("train": {"steps": 100})") < 1e9);
}

TEST_CASE("workers beyond the cores take turns, and no time is saved by them") {
  const ScratchDirectory scratch;
  constexpr double kSteps = 1e6;
  const Plan plan =
      make_plan(study_of(R"({"name": "s", "seeds": 16, "train": {"steps": 1000000, "eval_every": 1000000}})"), scratch.path());
  std::vector<PlannedCohort> each;
  for (std::size_t run = 0; run < 16; ++run) each.push_back({run});
  Working engine;
  const auto no_more = [](const RunConfig&) { return 0.0; };
  const double of_all = 16 * kSteps * Working::kStepSeconds;
  for (const std::size_t jobs : {1, 2, 4, 16})
    CHECK(estimate_use(plan, each, jobs, 2, engine, no_more).seconds > 0.8 * of_all / static_cast<double>(std::min<std::size_t>(jobs, 2)));
}
