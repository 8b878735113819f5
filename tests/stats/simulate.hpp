// Simulated studies: paired runs of a variant and a reference that share their seed's luck.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <iomanip>
#include <iostream>
#include <string>

#include "ffn/stats/paired.hpp"
#include "ffn/stats/random.hpp"

namespace ffn::stats::simulate {

/// Uniform in (0, 1).
inline double uniform(SplitMix64& random) { return (static_cast<double>(random.next() >> 11) + 0.5) * 0x1p-53; }

/// Standard normal (Box & Muller 1958).
inline double normal(SplitMix64& random) {
  constexpr double kTwoPi = 6.283185307179586;
  const double radius = std::sqrt(-2.0 * std::log(uniform(random)));
  return radius * std::cos(kTwoPi * uniform(random));
}

/// FFN_STUDIES in the environment, for more than fits into every day's tests; otherwise the number given.
inline std::size_t num_studies(std::size_t usual) {
  const char* asked = std::getenv("FFN_STUDIES");
  return asked ? static_cast<std::size_t>(std::strtoull(asked, nullptr, 10)) : usual;
}

inline void print(const std::string& what, std::size_t n, double share) {
  std::cout << "calibration: " << std::left << std::setw(52) << what << " n = " << std::right << std::setw(2) << n << "  " << std::fixed
            << std::setprecision(3) << share << '\n';
}

/// One run's outcome, from the luck of its seed and its own noise, both standard normal.
using Metric = std::function<Outcome(double luck, double noise, SplitMix64& random)>;

inline Outcome normal_metric(double luck, double noise, SplitMix64&) { return luck + noise; }
inline Outcome rounded_metric(double luck, double noise, SplitMix64&) { return std::round(luck + noise); }
inline Outcome lognormal_metric(double luck, double noise, SplitMix64&) { return std::exp(luck + noise); }
inline Outcome sometimes_diverging_metric(double luck, double noise, SplitMix64& random) {
  return uniform(random) < 0.1 ? std::nullopt : Outcome(luck + noise);
}

/// `n` paired runs without any difference between the two sides.
struct Study {
  std::vector<Outcome> variant, reference;
};

inline Study study(std::size_t n, const Metric& metric, SplitMix64& random) {
  Study result;
  for (std::size_t i = 0; i < n; ++i) {
    const double luck = normal(random);
    result.variant.push_back(metric(luck, normal(random), random));
    result.reference.push_back(metric(luck, normal(random), random));
  }
  return result;
}

/// Outcomes read as times to a target with this budget; a later one, or none, is never.
inline std::vector<Hit> hits(const std::vector<Outcome>& times, double budget) {
  std::vector<Hit> result;
  for (const Outcome& time : times) result.push_back({time && *time <= budget ? time : std::nullopt, budget});
  return result;
}

}  // namespace ffn::stats::simulate
