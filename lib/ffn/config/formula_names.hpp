// Names of formulas in a config: replaced by the formulas that they stand for, and checked.
#pragma once

#include <vector>

#include "ffn/base/json_document.hpp"
#include "ffn/config/model_config.hpp"

namespace ffn {

/// Puts formulas in the place of names: at model.ffn of kind "formula" and at model.ffn.expert, where a name stands that is not
/// just the label of a formula beside it. After it the document stands by itself: no file, no table is needed to understand it.
void resolve_formula_names(Document& document, std::vector<Problem>& problems);

/// States, at the model, everything that is wrong with its formula.
void require_formula(FieldVisitor& v, const ModelConfig& model);

}  // namespace ffn
