#include "ffn/train/bench_cohorts.hpp"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "ffn/train/engine.hpp"

namespace ffn {

namespace {

using BenchClock = std::chrono::steady_clock;

double resident_bytes() {
#if defined(__GLIBC__)
  ::malloc_trim(0);  // what was freed counts no more
#endif
  std::ifstream statm("/proc/self/statm");
  double total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

/// Watches the memory that training holds, and passes a request to stop on.
class MemoryWatch final : public TrainObserver {
 public:
  explicit MemoryWatch(const BenchRequest& request) : request_(request), before_(resident_bytes()) {}
  void finished(std::size_t run, const RunResult&) override {
    if (run == 0) held_ = resident_bytes() - before_;
  }
  bool stop_requested() override { return request_.stop && request_.stop(); }
  double held() const { return held_; }

 private:
  const BenchRequest& request_;
  double before_, held_ = 0;
};

}  // namespace

void bench_cohorts(const BenchRequest& request, const std::vector<BenchRun>& rivals, const std::function<void(const Measurement&)>& emit) {
  constexpr std::size_t kRounds = 5;
  for (const std::size_t runs : {1, 10, 100, 1000}) {
    std::vector<Cohort> cohorts(rivals.size());
    for (std::size_t i = 0; i < rivals.size(); ++i) {
      cohorts[i].runs.assign(runs, rivals[i].config);
      for (std::size_t r = 0; r < runs; ++r) {
        auto& run = cohorts[i].runs[r];
        run.seed = static_cast<std::int64_t>(r);
        run.train.steps =
            std::max<std::int64_t>(20, static_cast<std::int64_t>(request.seconds * 1e6 / rivals[i].us) / static_cast<std::int64_t>(runs));
        run.train.eval_every = run.train.checkpoint_every = run.train.steps;
      }
    }
    std::vector<std::vector<double>> found(rivals.size());
    std::vector<double> held(rivals.size());
    for (std::size_t round = 0; round < kRounds; ++round) {
      for (std::size_t i = 0; i < rivals.size(); ++i) {
        MemoryWatch watch(request);
        const auto start = BenchClock::now();
        training_engine().train(cohorts[i], watch);
        found[i].push_back(std::chrono::duration<double>(BenchClock::now() - start).count());
        if (round > 0) held[i] = std::max(held[i], watch.held());  // the first also takes what a process takes once
        if (request.stop && request.stop()) return;
      }
    }
    for (std::size_t i = 0; i < rivals.size(); ++i) {
      std::nth_element(found[i].begin(), found[i].begin() + kRounds / 2, found[i].end());
      const double per_step = found[i][kRounds / 2] / static_cast<double>(cohorts[i].runs[0].train.steps);
      emit({"steps",
            rivals[i].name + ", " + std::to_string(runs) + (runs == 1 ? " run" : " runs"),
            {{"runs", static_cast<double>(runs)},
             {"us_per_run_and_step", per_step / static_cast<double>(runs) * 1e6},
             {"steps_per_s", 1 / per_step},
             {"runs_times_steps_per_s", static_cast<double>(runs) / per_step},
             {"bytes_per_run", held[i] / static_cast<double>(runs)}}});
    }
  }
}

}  // namespace ffn
