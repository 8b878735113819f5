// "seeds": {"until": "settled"}: a study that adds seeds until every comparison has a verdict.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ffn/base/json.hpp"

namespace ffn {

/// How many seeds a study takes that adds them until its comparisons are settled.
struct GrowingSeeds {
  static constexpr std::size_t kFewest = 8;  ///< no verdict is looked for below
  static constexpr std::int64_t kLargestFirst = std::int64_t{1} << 53;
  std::size_t min = kFewest;  ///< trained whatever they show
  std::size_t max = 100;      ///< the first one declared shapes the looks for ever; a larger one goes on
  std::int64_t first = 0;     ///< the first seed; the others follow it

  std::vector<std::int64_t> seeds(std::size_t num_seeds) const;
};

/// What is kept of such a study: what the error of its verdicts rests on.
struct SequentialRecord {
  std::vector<std::size_t> maxima;  ///< the first, and those to which it was raised
  std::size_t comparisons = 0;      ///< m, as declared before the first look
  std::vector<std::size_t> looks;   ///< numbers of seeds that were looked at
};

/// One thing that is wrong with "seeds", and where.
struct SeedsProblem {
  std::string pointer, message;
};

/// True for an object, or "auto": {"until": "settled"}.
bool is_growing(const Json& seeds);

/// Reads one that is_growing; what is wrong is added to `problems`.
GrowingSeeds read_growing_seeds(const Json& seeds, std::vector<SeedsProblem>& problems);

}  // namespace ffn
