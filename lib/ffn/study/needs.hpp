// A study's needs: workers, engines, disk. Numbers; callers print them.
#pragma once

#include "ffn/config/accounting.hpp"
#include "ffn/config/study_config.hpp"

namespace ffn {

/// Workers: as many as asked for; with 0 one per core as far as the free memory goes, or one per GPU of a study that trains on GPUs or runs
/// a program; without a GPU a program runs alone.
std::size_t job_count(int asked, const Study& study);

/// Memory that the runs of a study that train on the CPU take at least, one of them at a time; in bytes.
double least_bytes_of_worker(const Study& study);

/// Bytes that one run leaves on disk: weights, metrics, and run.json. Its checkpoint exists only while it trains.
double disk_bytes(const RunConfig& config, const Cost& cost);

/// The runs of a study that one engine trains for one reason.
struct EngineShare {
  std::string engine, device, reason;
  std::size_t runs = 0;
  std::int64_t stack = 0;  ///< on a GPU: how many runs train as one stack at most
  double bytes = 0;        ///< on a GPU: what one of them takes there at least, and
  double host_bytes = 0;   ///< on the host
};
std::vector<EngineShare> engine_shares(const Study& study);

/// The FFN's size if its width was solved by `match`, else null.
const FfnSize* matched_size(const Variant& variant);

/// The rest that `match_expansion` or `match` leaves, relative to the size that it holds; none where neither is set.
std::optional<double> mismatch_of(const Variant& variant);

}  // namespace ffn
