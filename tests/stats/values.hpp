// Values and words that several tests of the statistics share.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "ffn/stats/paired.hpp"

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr auto kLower = ffn::stats::Direction::lower_is_better;
constexpr std::nullopt_t kDiverged = std::nullopt, kNever = std::nullopt;

// shared reference, comparisons.md §1.5
inline const std::vector<double> kD{.31, .12, -.05, .44, .27, .08, .19, -.11, .36, .22, .15, .40, -.02, .29, .17, .33, .05, .25, -.07, .21};
