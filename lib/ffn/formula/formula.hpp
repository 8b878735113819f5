// A feed-forward layer as a list of operations with their shapes. Parameters, their count, FLOPs, the LibTorch module and the cpu
// forward and backward passes follow from it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ffn/base/parameters.hpp"
#include "ffn/kernels/activations.hpp"

namespace ffn {

struct FormulaText;

enum class FormulaOp {
  input,      ///< x: (N, D)
  parameter,  ///< a vector
  number,
  product,  ///< left @ matrix, a parameter or the second input, or its transpose, plus a vector if `bias` is set
  add,
  subtract,
  multiply,
  divide,
  activation,
  function,    ///< element by element, of one to three values
  layer_norm,  ///< (h - mean) / √(variance + ε), without gain or bias
  rms_norm,    ///< h / √(mean of squares + ε)
  softmax,
  top_k,  ///< the `kept` largest of a row as they are, the others 0; of equals the first stay
  sum,    ///< over the last dimension, which stays with width 1
  mean,
  concat,
  slice,  ///< the columns from `begin` on, as many as it is wide
  dropout
};

/// A call of a row of formula/functions.hpp: its value and its slopes by each of the node's inputs; numbers among its operands are in
/// the expressions. A slope without operations is 0.
struct FunctionCall {
  std::string key;  ///< name and numbers
  Expression value;
  std::vector<Expression> slopes;
};

/// One operation. Its value is (N, width) if it depends on x, else (1, width); numbers and vectors of width 1 are broadcast. A matrix is
/// a vector of all its numbers, row by row.
struct FormulaNode {
  FormulaOp op;
  std::vector<int> inputs;  ///< nodes before this one
  bool batched;
  std::int64_t width;
  std::int64_t matrix_rows = 0;  ///< of a matrix
  int parameter = -1;            ///< of a product its matrix; -1: the second input is
  int bias = -1;                 ///< of a product the vector added to it
  double number = 0;
  bool transposed = false;  ///< of a product
  const Activation* phi = nullptr;
  std::shared_ptr<const FunctionCall> function = nullptr;
  std::int64_t begin = 0;
  std::int64_t kept = 0;        ///< of a top_k
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

/// The value that the last product of a layer reads, (N, width), and how the layer makes it.
struct HiddenLayer {
  int value;                ///< node
  int pre_activation = -1;  ///< node: the only product that `value` depends on, in a gated layer the gate's; -1 where there are more
  int gate = -1, up = -1;   ///< nodes, of a gated layer: value = gate ⊙ up, each of one product
  int up_product = -1;      ///< node, of a gated layer: the one of `up`
};
/// None where the layer does not end in a product with a parameter.
std::optional<HiddenLayer> hidden_layer(const FormulaGraph& graph);

/// One thing wrong with a formula.
struct FormulaProblem {
  std::string key;  ///< below the layer: "formula", "let.h", "parameters.gate"
  std::string message;
};

/// The layer of these sizes, or everything that is wrong with it. `activation` is what phi(…) stands for.
FormulaGraph compile_formula(const FormulaText& text, std::int64_t d_model, std::int64_t hidden_width, const std::string& activation,
                             std::vector<FormulaProblem>& problems);
/// For a checked text. Throws std::logic_error with the first problem.
FormulaGraph compile_formula(const FormulaText& text, std::int64_t d_model, std::int64_t hidden_width, const std::string& activation);

/// The same parameters once for each of E experts.
std::vector<ParameterSpec> expert_parameters(std::vector<ParameterSpec> specs, std::int64_t num_experts);

/// Name and meaning of what layers can call beside the functions of formula/functions.hpp.
const std::vector<std::pair<std::string, std::string>>& layer_functions();
std::vector<std::string> names_of_layer_functions();

}  // namespace ffn
