// The "parameters" and "init" of a formula: names, sizes and initialisation. formula.cpp compiles its expressions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ffn/formula/formula.hpp"

namespace ffn {

/// One declared parameter.
struct FormulaParameter {
  std::string name;
  std::vector<std::string> texts;  ///< sizes as written
  std::vector<std::int64_t> shape;
  bool used = false;  ///< by an expression
  bool is_matrix() const { return shape.size() == 2; }
};

/// The activation that a formula calls by this name, or null.
const Activation* find_activation(const std::string& name);

/// Whether a parameter or a `let` may have this name; otherwise adds a problem under `key`.
bool check_formula_name(const std::string& name, const std::string& key, std::vector<FormulaProblem>& problems);

/// All readable declarations; the others are problems.
std::vector<FormulaParameter> read_formula_parameters(const FormulaText& text, std::int64_t d_model, std::int64_t hidden_width,
                                                      std::vector<FormulaProblem>& problems);

/// Gives a graph whose nodes number `declared` its parameters with their starts, in the order of a run's row, and numbers by that.
void add_formula_parameters(const FormulaText& text, const std::vector<FormulaParameter>& declared, FormulaGraph& graph,
                            std::vector<FormulaProblem>& problems);

}  // namespace ffn
