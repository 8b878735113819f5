#include "ffn/formula/formula_text.hpp"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

namespace ffn {

void FormulaText::describe(FieldVisitor& v) {
  v.text({"name", "name of a formula in `ffn-train list ffns` or in the file `formulas`; together with a formula, its label"}, name);
  v.text(
      {"formula",
       "expression in x, of width D, with a result of width D: + - * / %, @ (by a matrix W or its transpose W.T), comparisons, [from:to] "
       "of the last dimension, activations by name, phi (the config's activation) and what `ffn-train list functions` shows"},
      formula);
  v.json({"parameters", "name → sizes: [\"D\", \"F\"] for a matrix, [\"F\"] for a vector; sizes use D, F, whole numbers and + - * /"},
         *parameters, Shape::object);
  v.json({"let", "name → expression: intermediate values"}, *let, Shape::object);
  v.json({"init",
          "name → initialisation: a number, {\"normal\": std}, {\"uniform\": bound} or \"fan_in\" (uniform in ±1/√D_in), the default of "
          "matrices and of vectors added to a product"},
         *init, Shape::object);
  v.real({"epsilon", "added to the variance in layer_norm and rms_norm"}, epsilon, at_least(1e-30));
  v.json({"written_from",
          "set by the program: what the config said in place of this formula, for comparisons; not part of the run's identity"},
         *written_from, Shape::object);
  v.path({"formulas", "JSON file with your own formulas: name → {formula, parameters, let, init, source}"}, file);
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
