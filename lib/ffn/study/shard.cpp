#include "ffn/study/shard.hpp"

#include <charconv>

#include "ffn/base/error.hpp"

namespace ffn {

Shard parse_shard(const std::string& text) {
  Shard shard;
  const char* const end = text.data() + text.size();
  const auto index = std::from_chars(text.data(), end, shard.index);
  const bool divided = index.ec == std::errc() && index.ptr != end && *index.ptr == '/';
  const auto count = divided ? std::from_chars(index.ptr + 1, end, shard.count) : index;
  if (!divided || count.ec != std::errc() || count.ptr != end || shard.index < 1 || shard.index > shard.count) {
    throw UsageError("--shard: expected i/n with 1 ≤ i ≤ n, got '" + text + "'", "--shard 2/4 is the second of four parts");
  }
  return shard;
}

std::vector<std::size_t> runs_of(const Plan& plan, const Shard& shard) {
  const bool by_seed = plan.study.seeds.size() >= shard.count;
  const std::size_t together = by_seed ? plan.study.variants.size() : 1;  // runs are seed-major
  std::vector<std::size_t> runs;
  for (std::size_t i = 0; i < plan.runs.size(); ++i) {
    if (i / together % shard.count == shard.index - 1) runs.push_back(i);
  }
  return runs;
}

}  // namespace ffn
