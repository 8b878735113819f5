#include "ffn/formula/formula_text.hpp"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

namespace ffn {

void FormulaText::describe(FieldVisitor& v) {
  v.text({"name", "a formula of `ffn-train list ffns` or of the file `formulas`; beside a formula, what to call it"}, name);
  v.text(
      {"formula",
       "what the layer computes from x, which ends in D, to D: + - * /, @ (by a matrix), [from:to] of the last dimension, activations by "
       "name, phi (the config's activation), layer_norm, rms_norm, softmax, dropout, concat, sum and mean"},
      formula);
  v.json({"parameters", "name → sizes: [\"D\", \"F\"] a matrix, [\"F\"] a vector; sizes are made of D, F, whole numbers and + - * /"},
         *parameters, Shape::object);
  v.json({"let", "name → expression: intermediate values"}, *let, Shape::object);
  v.json(
      {"init",
       "name → how it starts: a number, {\"normal\": std}, {\"uniform\": bound} or \"fan_in\", uniform in ±1/√D_in, as matrices and vectors "
       "added to a product start unless told otherwise"},
      *init, Shape::object);
  v.real({"epsilon", "of layer_norm and rms_norm: added to the variance"}, epsilon, at_least(1e-30));
  v.path({"formulas", "a JSON file of formulas of your own: name → {formula, parameters, let, init, source}"}, file);
}

bool FormulaText::calls_phi() const {
  const auto calls = [](const std::string& text) {
    const auto part_of_name = [&](std::size_t i) {
      return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_' || text[i] == '.');
    };
    for (auto at = text.find("phi"); at != std::string::npos; at = text.find("phi", at + 1)) {
      if (!(at > 0 && part_of_name(at - 1)) && !part_of_name(at + 3)) return true;
    }
    return false;
  };
  return calls(formula) ||
         std::any_of(let->begin(), let->end(), [&](const Json& value) { return value.is_string() && calls(value.get<std::string>()); });
}

}  // namespace ffn
