#include "ffn/inspect/experts.hpp"

#include <algorithm>
#include <cmath>

namespace ffn::inspect {

namespace {

constexpr std::int64_t kLeastTokens = 20;  // of a kind: fewer say little
constexpr std::size_t kMostTaken = 8;

double entropy_term(double p) { return p > 0 ? -p * std::log(p) : 0; }

std::vector<Taken> taken_by(std::size_t expert, const std::vector<std::int64_t>& counts, std::size_t num_experts, double load,
                            std::int64_t top_k, const TokenKinds& kinds) {
  std::vector<std::pair<double, Taken>> scored;
  for (std::size_t k = 0; k < kinds.counts.size(); ++k) {
    const auto here = static_cast<double>(counts[k * num_experts + expert]), all = static_cast<double>(kinds.counts[k]);
    // Few kinds of which each is seen as often: no need to be many.
    if (here == 0 || (kinds.counts[k] < kLeastTokens && kinds.counts.size() > 16)) continue;
    const double share = here / all, usual = load * static_cast<double>(top_k);
    if (share > usual) scored.push_back({here * std::log(share / usual), {static_cast<std::int64_t>(k), share}});
  }
  std::stable_sort(scored.begin(), scored.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Taken> out;
  for (std::size_t i = 0; i < std::min(kMostTaken, scored.size()); ++i) out.push_back(scored[i].second);
  return out;
}

}  // namespace

RoutingReport report_on(const RoutedRows& routed, const TokenKinds& kinds, const Inputs& inputs) {
  RoutingReport out;
  const auto num_experts = static_cast<std::size_t>(routed.num_experts), top_k = static_cast<std::size_t>(routed.top_k);
  const std::size_t tokens = routed.expert.size() / top_k, length = static_cast<std::size_t>(inputs.length);
  out.num_experts = routed.num_experts;
  out.top_k = routed.top_k;
  out.tokens = static_cast<std::int64_t>(tokens);
  out.finite = std::all_of(routed.probability.begin(), routed.probability.end(), [](float p) { return std::isfinite(p); });
  if (!out.finite) return out;
  out.experts.resize(num_experts);
  out.together.assign(num_experts * num_experts, 0.0);
  std::vector<std::int64_t> counts(kinds.names.size() * num_experts, 0), first_choices(num_experts, 0);
  for (auto& expert : out.experts) expert.by_position.assign(length > 1 ? length : 0, 0.0);
  const double one = 1.0 / static_cast<double>(tokens), at_position = static_cast<double>(length) / static_cast<double>(tokens);
  for (std::size_t n = 0; n < tokens; ++n) {
    const std::int64_t* chosen = routed.expert.data() + n * top_k;
    for (std::size_t k = 0; k < top_k; ++k) {
      const auto e = static_cast<std::size_t>(chosen[k]);
      auto& expert = out.experts[e];
      expert.load += one / static_cast<double>(top_k);
      expert.mean_weight += static_cast<double>(routed.weight[n * top_k + k]);
      if (length > 1) expert.by_position[n % length] += at_position;
      if (!counts.empty() && kinds.of_token[n] >= 0) ++counts[static_cast<std::size_t>(kinds.of_token[n]) * num_experts + e];
      for (std::size_t other = 0; other < top_k; ++other) out.together[e * num_experts + static_cast<std::size_t>(chosen[other])] += one;
    }
    for (std::size_t e = 0; e < num_experts; ++e)
      out.token_entropy += entropy_term(static_cast<double>(routed.probability[n * num_experts + e])) * one;
    ++first_choices[static_cast<std::size_t>(chosen[0])];
    if (n % length > 0) out.repeats += chosen[0] == *(chosen - top_k);
  }
  const std::size_t sequences = tokens / length;
  if (length > 1) out.repeats /= static_cast<double>(tokens - sequences);
  for (std::size_t e = 0; e < num_experts; ++e) {
    auto& expert = out.experts[e];
    if (expert.load > 0) expert.mean_weight /= expert.load * static_cast<double>(tokens * top_k);
    out.load_entropy += entropy_term(expert.load);
    out.max_violation = std::max(out.max_violation, expert.load * static_cast<double>(num_experts) - 1);
    out.repeats_by_chance += std::pow(static_cast<double>(first_choices[e]) * one, 2);
    expert.takes = taken_by(e, counts, num_experts, expert.load, routed.top_k, kinds);
  }
  out.effective_experts = std::exp(out.load_entropy);
  return out;
}

}  // namespace ffn::inspect
