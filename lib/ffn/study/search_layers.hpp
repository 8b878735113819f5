// The layers of a search, their losses in races, and how they are told apart there.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ffn/config/search_config.hpp"

namespace ffn {

/// A layer of a search.
struct SearchedLayer {
  std::string label;                   ///< its name in the catalogue, or its expression
  JsonValue ffn;                       ///< as model.ffn, without its size
  std::optional<Candidate> candidate;  ///< none of one that the grammar does not have; it has no mutations
  std::string named;                   ///< in the catalogue
  bool gated = false;                  ///< as CandidateFacts
  std::optional<std::size_t> parent;   ///< index of the layer that it came from
  std::string change;                  ///< what was done to the parent
  std::size_t generation = 0;
  int rounds = 0;                           ///< of its race
  std::vector<double> rate;                 ///< for each task the factor of its rate that suits it best
  std::vector<std::vector<double>> losses;  ///< [task][seed], at that rate; ∞ of a run that diverged
};

/// The layers of a search, in the order in which they were proposed.
class SearchedLayers {
 public:
  /// Throws UsageError for start layers and candidates that are none.
  explicit SearchedLayers(const SearchConfig& config);

  /// The next generation: what the search starts with, then small candidates, then mutations of those that race best. Empty where there
  /// is nothing new.
  std::vector<std::size_t> propose(std::size_t generation);
  /// Takes a generation into the population, which loses its oldest.
  void adopt(const std::vector<std::size_t>& generation);

  std::vector<SearchedLayer> all;
  std::size_t num_start = 0;                    ///< the first ones
  std::map<std::string, std::size_t> left_out;  ///< problem → how many candidates were not trained for it

  /// Mean rank of each of these layers over tasks and the first `seeds` seeds; 1 is best.
  std::vector<double> mean_ranks(const std::vector<std::size_t>& layers, std::size_t seeds) const;
  /// The better half, or as many as that is rounded up, in the order of their ranks.
  std::vector<std::size_t> best_of(const std::vector<std::size_t>& layers, std::size_t seeds, std::size_t count) const;

 private:
  std::optional<std::size_t> add(const Candidate& candidate, std::optional<std::size_t> parent, const std::string& change);
  std::size_t add_given(const Json& layer);
  std::optional<std::size_t> draw_parent(RandomStream& random) const;

  const SearchConfig& config_;
  std::vector<Candidate> small_;
  std::size_t next_small_ = 0;
  std::set<std::string> keys_, labels_;
  std::vector<std::size_t> population_;
  std::size_t generation_ = 0;
};

/// Seeds of the rounds of a race: each has those of the one before and as many again.
std::vector<std::size_t> race_rounds(const SearchConfig& config);

}  // namespace ffn
