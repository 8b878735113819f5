// A part of a study: which of its runs one process trains where processes share no directory.
#pragma once

#include <string>
#include <vector>

#include "ffn/study/plan.hpp"

namespace ffn {

struct Shard {
  std::size_t index = 1, count = 1;  ///< 1 ≤ index ≤ count
};

/// "2/4". Throws UsageError saying what is expected.
Shard parse_shard(const std::string& text);

/// Indices into Plan::runs, in their order. Every run is in one shard of each count. Seeds are dealt out in turn, so that a
/// shard has all variants of its seeds and can be compared by itself; with fewer seeds than shards, runs are.
std::vector<std::size_t> runs_of(const Plan& plan, const Shard& shard);

}  // namespace ffn
