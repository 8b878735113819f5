// The router of a mixture: load and confidence, experts chosen together, tokens per expert.
#pragma once

#include "ffn/inspect/patterns.hpp"

namespace ffn::inspect {

/// How much of a kind of token goes to an expert.
struct Taken {
  std::int64_t kind = 0;
  double share = 0;  ///< of the kind's tokens
};

struct ExpertReport {
  double load = 0;                  ///< share of the N·K assignments; even is 1/E
  double mean_weight = 0;           ///< of its output where it was chosen
  std::vector<double> by_position;  ///< (T) share of the tokens at a position that it gets, of vectors none
  std::vector<Taken> takes;  ///< of which it gets more than of all tokens, by how much they tell: tokens · ln(share / share of all tokens)
};

struct RoutingReport {
  std::int64_t num_experts = 0, top_k = 0, tokens = 0;
  bool finite = true;            ///< the router's probabilities are; otherwise nothing else is measured
  double load_entropy = 0;       ///< -Σ load ln load; ln E is even
  double effective_experts = 0;  ///< exp of it
  double max_violation = 0;      ///< largest load over even load, less 1
  double token_entropy = 0;      ///< mean over tokens of -Σ p ln p of the router's probabilities
  double repeats = 0;            ///< share of tokens whose most probable expert is that of the token before; of vectors 0
  double repeats_by_chance = 0;  ///< what the same shares would give in any order
  std::vector<double> together;  ///< (E, E) share of tokens that go to both; on the diagonal to that expert
  std::vector<ExpertReport> experts;
};

RoutingReport report_on(const RoutedRows& routed, const TokenKinds& kinds, const Inputs& inputs);

}  // namespace ffn::inspect
