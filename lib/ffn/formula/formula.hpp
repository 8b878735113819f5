// A feed-forward layer that is given as a formula: what it computes, as a list of operations with their shapes. One description from
// which come the parameters, their count, the FLOPs, nn's evaluation and the fused forward and backward passes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ffn/base/parameters.hpp"
#include "ffn/kernels/activations.hpp"

namespace ffn {

struct FormulaText;

enum class FormulaOp {
  input,      ///< x: (N, D)
  parameter,  ///< a vector
  number,
  product,  ///< left @ matrix, plus a vector if `bias` is set
  add,
  subtract,
  multiply,
  divide,
  activation,
  layer_norm,  ///< (h - mean) / √(variance + ε), without gain or bias
  rms_norm,    ///< h / √(mean of squares + ε)
  softmax,
  sum,  ///< over the last dimension, which stays with width 1
  mean,
  concat,
  slice,  ///< the columns from `begin` on, as many as it is wide
  dropout
};

/// One operation. Its value is (N, width) if it depends on x, else (1, width); numbers and vectors of width 1 are broadcast.
struct FormulaNode {
  FormulaOp op;
  std::vector<int> inputs;  ///< nodes before this one
  bool batched;
  std::int64_t width;
  int parameter = -1;  ///< of a product its matrix
  int bias = -1;       ///< of a product the vector added to it
  double number = 0;
  const Activation* phi = nullptr;
  std::int64_t begin = 0;
  int site = 0;                 ///< of a dropout: which one of the layer
  std::string text = {};        ///< what stands for it in the formula
  std::string width_text = {};  ///< its width as sizes in D and F
};

/// A formula with sizes put in: the last node is the result, (N, D). No node and no parameter stands there in vain.
struct FormulaGraph {
  std::vector<FormulaNode> nodes;
  std::vector<ParameterSpec> parameters;  ///< vectors as they are, matrices (D_in, D_out); in the order of a run's row
  double epsilon = 1e-5;                  ///< of its norms

  std::int64_t num_parameters() const;
  std::int64_t flops() const;  ///< forward, per token; of the products
  bool drops() const;
};

/// One thing wrong with a formula.
struct FormulaProblem {
  std::string key;  ///< below the layer: "formula", "let.h", "parameters.gate"
  std::string message;
};

/// The layer of these sizes, or everything that is wrong with it. `activation` is what phi(…) stands for.
FormulaGraph compile_formula(const FormulaText& text, std::int64_t d_model, std::int64_t hidden_width, const std::string& activation,
                             std::vector<FormulaProblem>& problems);
/// Of a text that was checked. Throws std::logic_error with the first problem.
FormulaGraph compile_formula(const FormulaText& text, std::int64_t d_model, std::int64_t hidden_width, const std::string& activation);

/// The same parameters once for each of E experts.
std::vector<ParameterSpec> expert_parameters(std::vector<ParameterSpec> specs, std::int64_t num_experts);

/// What formulas can call, for documentation and messages; activations are besides by their names.
const std::vector<std::string>& formula_functions();

}  // namespace ffn
