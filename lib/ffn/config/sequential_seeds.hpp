// "seeds": {"until": "settled"}: a sequential design, which adds seeds until every comparison has a verdict.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ffn/base/json_document.hpp"

namespace ffn {

/// Limits of a sequential design.
struct SequentialSeeds {
  static constexpr std::size_t kFewest = 8;  ///< seeds of the first interim analysis
  static constexpr std::int64_t kLargestFirst = std::int64_t{1} << 53;
  std::size_t min = kFewest;  ///< trained in any case
  std::size_t max = 100;      ///< the first declared maximum fixes the design; a larger one extends it
  std::int64_t first = 0;     ///< the first seed; the others follow it

  std::vector<std::int64_t> seeds(std::size_t num_seeds) const;
};

/// The state of a sequential design, from which its error rate follows.
struct SequentialRecord {
  std::vector<std::size_t> maxima;        ///< the first, and those to which it was raised
  std::size_t comparisons = 0;            ///< m, declared before the first interim analysis
  std::vector<std::size_t> sample_sizes;  ///< numbers of seeds with an interim analysis
};

/// True for an object, or "auto": {"until": "settled"}.
bool is_sequential_design(const Json& seeds);

/// Reads the "seeds" of a study for which is_sequential_design() holds; adds to `problems`.
SequentialSeeds read_sequential_seeds(const Document& study, std::vector<Problem>& problems);

}  // namespace ffn
