// A layer written as text, as a config has it; formula.hpp compiles it.
#pragma once

#include <string>

#include "ffn/base/field_visitor.hpp"
#include "ffn/base/json.hpp"

namespace ffn {

/// A layer as text; what it means is worked out by formula/formula.hpp.
struct FormulaText {
  std::string name;     ///< of formula/named_formulas.hpp or of the user's file, or a label
  std::string formula;  ///< ends in D; resolved from the name if empty
  JsonValue let = JsonValue::object(), parameters = JsonValue::object(), init = JsonValue::object();
  double epsilon = 1e-5;
  std::string file;  ///< with formulas of the user's own
  JsonValue written_from = JsonValue::object();  ///< see config/trained_activation.hpp
  void describe(FieldVisitor& v);
  /// Whether it calls phi, which is the config's activation.
  bool calls_phi() const;
};

}  // namespace ffn
