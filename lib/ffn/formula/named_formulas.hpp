// Feed-forward layers of the literature as formulas, one row each, and those of a user's file.
#pragma once

#include <string>
#include <vector>

#include "ffn/formula/formula_text.hpp"

namespace ffn {

struct NamedFormula {
  const char* name;
  const char* formula;
  const char* parameters;  ///< "up D F, b F"
  const char* let;         ///< "h = relu(x @ up); g = …"
  const char* init;        ///< "s = 1, t = 0"; a vector that is added to a product and every matrix start by fan-in
  const char* source;
};

/// All of them, in the order in which they are listed.
const std::vector<NamedFormula>& named_formulas();

/// A row as a config has it.
FormulaText formula_text(const NamedFormula& row);

/// The plain or the gated FFN, of which they are the built-in kinds.
FormulaText built_in_formula(bool gated, bool bias);

/// A message if `name` is a row of the table and `formula`, blanks aside, is not that row's; else "".
std::string name_of_another(const std::string& name, const std::string& formula);

}  // namespace ffn
