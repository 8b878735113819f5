// Correction of p values for several comparisons. Depends on the rest of ffn/stats only.
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

/// The same where a comparison makes several claims of which at most one is false, "different" and "negligible", so that they share
/// one level (closed testing, Marcus, Peritz & Gabriel 1976, by Bonferroni). A comparison leaves the family only when all its claims
/// are shown: after "different" alone, "negligible" may still be the false one and its share must not be used again.
/// A claim with p stands at alpha iff for every s ≤ m p < alpha/s or fewer than s comparisons have their `largest` p,
/// over the claims, at alpha/s or above: adjusted p = max over s of s · min(p, s-th largest of `largest`). With one claim
/// each it is Holm's.
/// `p`: of claims, any number. `largest`: one per comparison.
std::vector<double> closed_adjusted(const std::vector<double>& p, std::vector<double> largest, std::size_t comparisons = 0);

}  // namespace ffn::stats
