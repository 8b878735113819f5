// Whether the differences at a ladder's sizes hold: each seed's slope, decision accuracy, law and multiplier.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ffn/stats/ladder.hpp"
#include "ffn/stats/paired.hpp"

namespace ffn {

struct Cell;
struct Comparison;
struct CompareRequest;
struct Metric;

/// Times the largest compute at which refits say whether differences keep their signs.
inline constexpr double kHoldingTimes[] = {3, 10, stats::kFarthestProjection};

/// The answer of a ladder's runs together.
struct LadderAnswer {
  struct Size {
    std::string value;
    bool is_held_out;
    double compute;  ///< training FLOPs of the reference
    stats::DecisionAccuracy accuracy;
  };
  struct Variant {
    std::string value;
    std::optional<stats::PairedResult> slope;  ///< of ln(variant / reference) for each doubling of the size; none of the reference
    bool is_slope_sure = false;                ///< corrected for all variants (Holm)
    std::optional<stats::Estimate> multiplier, speedup;
    std::vector<stats::Estimate> predicted = {};  ///< at each held-out size, by the law of the others
    std::vector<double> measured = {};            ///< there: geometric mean
    std::optional<stats::Estimate> projected = {};
    std::vector<double> holds = {};  ///< share of refits with the largest size's sign, at each of kHoldingTimes
  };
  std::string key;
  std::size_t num_seeds = 0;  ///< with a loss of every variant at every size: all of this is of them
  std::vector<Size> sizes;
  std::vector<Variant> variants;      ///< the reference first
  std::optional<stats::LossLaw> law;  ///< of all sizes; none where exponents differ
  std::string no_law;                 ///< why there is none
  std::string no_projection;          ///< why it is not followed beyond the largest size; empty where it is
  double projected_compute = 0;
  bool is_speed_given = false;  ///< by ladder.tokens_per_s, not by the runs' seconds
  std::string tuned_at;         ///< "each" size or the "smallest"; empty where nothing was tuned
  bool has_rules = false;       ///< for batch, steps and rate (ladder.tokens_per_param)
};

/// Adds it where `request` has a ladder, its sizes are the comparison's only facets and the metric is a positive loss of runs that are
/// over; otherwise a note says what is missing. `cells`: of the facets, in their order; `values`: the reference first.
void add_ladder(const std::vector<Cell>& cells, const std::vector<std::string>& values, const Metric& metric, const CompareRequest& request,
                Comparison& out);

}  // namespace ffn
