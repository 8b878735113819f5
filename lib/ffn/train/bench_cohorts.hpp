// The part of `bench` that trains: time and memory of cohorts.
#pragma once

#include "ffn/train/libtorch.hpp"

namespace ffn {

/// A run of XOR to be trained in cohorts. `us`: about what a step takes.
struct BenchRun {
  std::string name;
  RunConfig config;
  double us;
};

/// XOR by cohorts of R runs: time per step of one run, and memory. Figures to be compared are measured in turn.
void bench_cohorts(const BenchRequest& request, const std::vector<BenchRun>& rivals, const std::function<void(const Measurement&)>& emit);

}  // namespace ffn
