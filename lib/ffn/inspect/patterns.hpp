// Groups of equal tokens, for figures of input × neuron and for the tokens of each expert.
#pragma once

#include "ffn/inspect/capture.hpp"

namespace ffn::inspect {

/// Groups of tokens: the same vector, or the same last tokens of a sequence. None if vectors rarely repeat.
struct TokenKinds {
  std::vector<std::string> names;
  std::vector<std::int64_t> counts;
  std::vector<std::int64_t> of_token;  ///< (N) its kind; -1 for one without (too near the beginning)
  std::int64_t tokens_each = 1;        ///< of a sequence: how many of the last ones a kind names
};
TokenKinds token_kinds(const Inputs& inputs);

/// Mean activation of every neuron over the tokens of each kind.
struct Patterns {
  std::vector<std::int64_t> kinds;    ///< that were seen, rows of `mean`
  std::vector<std::int64_t> neurons;  ///< columns, by the kind on which they are strongest
  std::vector<double> mean;           ///< (kinds, neurons)
};
/// For the `most_kinds` most frequent kinds and the `most_neurons` neurons that vary most between them.
Patterns patterns_of(const HiddenRows& hidden, const TokenKinds& kinds, std::size_t most_kinds, std::size_t most_neurons);

}  // namespace ffn::inspect
