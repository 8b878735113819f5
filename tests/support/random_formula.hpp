// Formulas by chance, for comparing what computes them.
#pragma once

#include <nlohmann/json.hpp>

#include "ffn/base/random.hpp"
#include "ffn/config/model_config.hpp"
#include "ffn/kernels/activations.hpp"

namespace ffn::test {

/// Writes one formula of up to `operations` operations whose parameters and intermediate names are its own. Divisors stay away from 0.
class RandomFormula {
 public:
  RandomFormula(std::uint64_t seed, int operations) : random_(seed, 77), of_matrices_(seed, 78), left_(operations) {
    text_.formula = value("D");
    text_.name = "random";
  }
  const FormulaText& text() const { return text_; }

 private:
  std::size_t below(std::size_t n) { return random_.below(static_cast<std::uint32_t>(n)); }

  std::string parameter(const Json& sizes) {
    const std::string name = (sizes.size() == 2 ? "m" : "v") + std::to_string(text_.parameters->size());
    (*text_.parameters)[name] = sizes;
    if (sizes.size() == 1) (*text_.init)[name] = {{"normal", 0.7}};
    return name;
  }
  // A parameter, or a matrix computed from some.
  std::string matrix(const std::string& from, const std::string& to) {
    const auto one = [&] { return parameter(Json::array({from, to})); };
    const std::string m = one();
    switch (of_matrices_.below(10)) {
      case 0:
        return "(" + m + " / sqrt(0.1 + mean_all(" + m + " * " + m + ")))";
      case 1:
        return "(tanh(2 * " + m + ") * " + one() + " + " + vector("1") + ")";
      case 2:
        return "(" + m + " + stop(sin(" + m + ") - " + one() + "))";
      default:
        return m;
    }
  }

  // An expression of a width that is written "D", "F" or "1".
  std::string leaf(const std::string& width) {
    if (width == "D") return "x";
    if (width == "1") return below(2) ? "sum(x)" : "mean(x)";
    return "(x @ " + matrix("D", "F") + ")";
  }

  std::string activated(const std::string& value_text) {
    return std::string(activations()[below(activations().size())].name) + "(" + value_text + ")";
  }

  std::string value(const std::string& width) {
    if (left_-- <= 0) return leaf(width);
    const std::string other = below(2) ? "D" : "F";
    switch (below(17)) {
      case 0:
      case 1:
        return "(" + value(other) + " @ " + matrix(other, width) + ")";
      case 2:
        return "(" + value(other) + " @ " + matrix(other, width) + " + " + vector(width) + ")";
      case 3:
        return "(" + value(width) + " + " + operand(width) + ")";
      case 4:
        return "(" + operand(width) + " - " + value(width) + ")";
      case 5:
        return "(" + value(width) + " * " + operand(width) + ")";
      case 6:
        return "(" + value(width) + " / (2 + sigmoid(" + (below(2) ? vector(width) : value(width)) + ")))";
      case 7:
      case 8:
        return activated(value(width));
      case 9:
        if (width == "1") return (below(2) ? "sum(" : "mean(") + value(other) + ")";
        return std::string(below(3) ? (below(2) ? "rms_norm(" : "layer_norm(") : "softmax(") + value(width) + ")";
      case 10:
        if (width == "1") return "tanh(" + value("1") + ")";
        return "concat(" + value(width) + "[3:], " + value(width) + "[:3])";
      case 11:
        return "(" + value(other) + " @ " + matrix(other, width + " + 4") + ")[3:" + width + " + 3]";
      case 12:
        return "dropout(" + value(width) + ")";
      case 13:
        return "(" + value(other) + " @ " + parameter(Json::array({width, other})) + ".T)";
      case 14:
      case 15:
        return called(width);
      default:
        return named(width);
    }
  }

  // Without jumps: float and double would not take the same side of them.
  std::string called(const std::string& width) {
    const std::string v = value(width);
    switch (below(9)) {
      case 0:
        return "sin(" + v + ")";
      case 1:
        return "cos(2 * " + v + ")";
      case 2:
        return (below(2) ? "min(" : "max(") + operand(width) + ", " + v + ")";
      case 3:
        return "clip(" + v + ", -0.95, " + (below(2) ? "0.8" : "softplus(" + vector(width) + ")") + ")";
      case 4:
        return "where(" + v + " > 0.1, 0.1, " + v + ")";
      case 5:
        return "log1p(abs(" + v + "))";
      case 6:
        return "sqrt(0.1 + abs(" + v + "))";
      case 7:
        return "pow(0.5 + abs(" + v + "), " + (below(2) ? "1.7" : vector(below(2) ? width : "1")) + ")";
      default:
        return "(exp(-abs(" + v + ")) * erf(" + operand(width) + "))";
    }
  }

  // Widths that may stand beside a value: its own, a vector, one number for all.
  std::string operand(const std::string& width) {
    switch (below(6)) {
      case 0:
        return vector(width);
      case 1:
        return vector("1");
      case 2:
        return "0.7";
      case 3:
        return "softplus(" + vector(below(2) ? width : "1") + ")";
      case 4:
        return value("1");
      default:
        return value(width);
    }
  }
  std::string vector(const std::string& width) { return parameter(width == "1" ? Json::array({1}) : Json::array({width})); }

  // A value that stands in two places.
  std::string named(const std::string& width) {
    const std::string name = "h" + std::to_string(text_.let->size());
    (*text_.let)[name] = nullptr;  // takes the name
    (*text_.let)[name] = value(width);
    return "(" + name + " * " + activated(name) + ")";
  }

  RandomStream random_, of_matrices_;
  int left_;
  FormulaText text_;
};

}  // namespace ffn::test
