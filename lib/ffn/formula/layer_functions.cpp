#include "ffn/formula/formula.hpp"
#include "ffn/formula/formula_syntax.hpp"

namespace ffn {

const std::vector<std::pair<std::string, std::string>>& layer_functions() {
  static const std::vector<std::pair<std::string, std::string>> rows{
      {"@", "x @ W: product with a matrix of the parameters; x @ W.T with its transpose"},
      {"phi", "the config's activation"},
      {"layer_norm", "(x - mean) / sqrt(variance + epsilon), without gain and bias"},
      {"rms_norm", "x / sqrt(mean of squares + epsilon)"},
      {"softmax", "over the last dimension"},
      {"top_k", "top_k(h, K): the K largest values of each token stay, the others become 0; of equals the first stay"},
      {"dropout", "with the config's rate"},
      {"concat", "values side by side"},
      {"sum", "over the last dimension, which stays with width 1"},
      {"mean", "likewise"},
      {"mean_all", "mean_all(W): over a whole matrix of the parameters, or a matrix made of them"}};
  return rows;
}

std::vector<std::string> names_of_layer_functions() {
  std::vector<std::string> names;
  for (const auto& [name, doc] : layer_functions()) {
    if (is_formula_name(name)) names.push_back(name);
  }
  return names;
}

}  // namespace ffn
