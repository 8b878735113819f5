// The layers that a search goes through, E @ down: E combines products of x with up to three matrices element by element. How two of them
// are known to be one, and how one becomes another.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ffn/base/random.hpp"
#include "ffn/formula/formula_text.hpp"

namespace ffn {

/// Names of a candidate's parameters, beside `down`.
inline constexpr const char *kMatrixNames[] = {"up", "gate", "third"}, *kScalarNames[] = {"s", "t", "r", "q"};
inline constexpr std::size_t kMostMatrices = 3, kMostScalars = 4;

/// E, or a part of it.
struct Hidden {
  enum class Kind {
    matrix,  ///< x @ W: (N, F)
    scalar,  ///< trained, one per hidden unit: (F)
    number,
    call,  ///< a function of one part, element by element
    product,
    sum,
    difference
  };
  Kind kind = Kind::matrix;
  std::size_t index = 0;  ///< which matrix or scalar
  double number = 0;
  std::string function = {};  ///< of a call
  std::vector<Hidden> parts = {};
};

struct Candidate {
  Hidden hidden;
  bool norm = false;  ///< rms_norm(E)
};

/// The parts that a candidate may have.
struct CandidateSpace {
  std::vector<std::string> functions;  ///< of formula/functions.hpp, of one operand
  std::int64_t matrices = 2;           ///< of E; `down` is one more
  std::int64_t scalars = 1;
  std::int64_t depth = 4;  ///< levels of functions and operators
  bool norm = true;
};

/// E with its matrices by their names alone: "silu(up) * gate".
std::string expression_of(const Candidate& candidate);

/// The layer as a config has it; trained scalars start at 1.
FormulaText formula_of_candidate(const Candidate& candidate);

/// The candidate that a layer is; none of a layer that is no E @ down. `activation` is what phi(…) stands for.
std::optional<Candidate> candidate_of(const FormulaText& text, const std::string& activation);

/// Facts about a candidate, without training it.
struct CandidateFacts {
  std::string problem = {};  ///< "linear", "redundant", "constant" or "not finite"; empty for a layer worth training
  /// Equal for candidates that are one function but for the order of factors, names of parameters, signs of matrices, and what `down`
  /// absorbs: taken from E's values at fixed points, so whatever algebra makes them equal.
  std::string key = {};
  bool gated = false;      ///< E is linear in one matrix at fixed values of the others
  std::string named = {};  ///< the layer or activation of the catalogue that it is; may be empty
};
CandidateFacts examine(const Candidate& candidate);

/// Candidates of up to two functions and one operator, in the order of their size. Some are equal to others.
std::vector<Candidate> small_candidates(const CandidateSpace& space);

/// A neighbour within the space and what was changed, in words; nothing else is known of it. Itself and no words where none was found.
std::pair<Candidate, std::string> mutated(const Candidate& candidate, const CandidateSpace& space, RandomStream& random);

}  // namespace ffn
