// Correction of p values for several comparisons. Depends on the standard library only.
#pragma once

#include <cstddef>
#include <vector>

namespace ffn::stats {

/// Holm's step-down adjusted p values (Holm 1979, "A Simple Sequentially Rejective Multiple Test Procedure"), in the
/// order of the input: with p_(1) ≤ … ≤ p_(k), adjusted p_(i) = max over j ≤ i of min(1, (m − j + 1) p_(j)).
/// Rejecting where it is below alpha keeps the chance of any false rejection at alpha under every dependence.
/// `comparisons` is m if it exceeds the number of p values: comparisons that were planned but have no p count as
/// p = 1. Throws if a p is outside [0, 1].
std::vector<double> holm_adjusted(const std::vector<double>& p, std::size_t comparisons = 0);

}  // namespace ffn::stats
