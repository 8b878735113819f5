// The group-sequential sign-flip test at several levels at once, which sequential_test, its verdicts and its interval rest on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "ffn/stats/sequential.hpp"

namespace ffn::stats::detail {

/// Flips of all paths for differences of any number up to that asked for.
struct Flips {
  std::size_t words_per_path, num_paths;
  std::vector<std::uint64_t> words;
  Flips(const SignPaths& paths, std::size_t n);
};

/// The sign paths of the design.
SignPaths paths_of(const SequentialDesign& design);

using Spent = std::function<double(std::size_t num_seeds)>;

enum class Until { crossed, end };

/// The test at one or more levels, which share the statistics: the interim analyses of each, to the end or until the observed path has
/// crossed at all levels.
std::vector<std::vector<InterimAnalysis>> run_interim_analyses(const std::vector<double>& differences,
                                                               const std::vector<std::size_t>& sample_sizes,
                                                               const std::vector<Spent>& spent, const Flips& flips, Side side,
                                                               const TestRule& rule, Until until = Until::crossed);

/// Seeds at which the observed path crossed, or never.
constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
std::size_t crossing(const std::vector<InterimAnalysis>& analyses);

}  // namespace ffn::stats::detail
