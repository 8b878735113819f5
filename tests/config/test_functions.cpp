// The functions of formulas: their derivatives against finite differences, and layers that call them.
#include "ffn/formula/formula.hpp"
#include "ffn/formula/formula_text.hpp"
#include "ffn/formula/functions.hpp"
#include "ffn/kernels/expression.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

struct Partial {
  const ElementFunction* function;
  std::size_t operand;
};

double at(const Expression& expression, const std::vector<double>& x) {
  std::vector<const double*> inputs;
  for (const double& each : x) inputs.push_back(&each);
  double y = 0;
  run_in_double(expression, 1, inputs.data(), &y);
  return y;
}

Expression value_of(const ElementFunction& function) {
  const auto of = [](const Symbol* x, const void* f) { return static_cast<const ElementFunction*>(f)->value(x); };
  return record(of, &function, static_cast<int>(function.operands));
}

Expression slope_of(const Partial& partial) {
  const auto of = [](const Symbol* x, const void* p) {
    const auto& wanted = *static_cast<const Partial*>(p);
    return wanted.function->has_slope() ? wanted.function->slope(x, wanted.operand) : Symbol(0.0);
  };
  return record(of, &partial, static_cast<int>(partial.function->operands));
}

std::string problem_of(const std::string& formula) {
  FormulaText text;
  text.formula = formula;
  (*text.parameters)["W"] = {"D", "F"};
  (*text.parameters)["s"] = {"F"};
  (*text.init)["s"] = 1;
  std::vector<FormulaProblem> problems;
  compile_formula(text, 4, 8, "gelu", problems);
  return problems.empty() ? "" : problems[0].message.substr(0, problems[0].message.find('\n'));
}

}  // namespace

TEST_CASE("every function of formulas has the slopes of its differences") {
  const std::vector<std::vector<double>> points{{0.3, 1.7, 0.6}, {1.9, 0.8, -0.4}, {0.9, 0.2, 2.6}, {2.2, 3.1, 1.1}};
  for (const auto& function : element_functions()) {
    for (auto x : points) {
      x.resize(function.operands);
      const Expression value = value_of(function);
      for (std::size_t i = 0; i < function.operands; ++i) {
        if (function.name == std::string("where") && i == 0) continue;  // which of the two is no matter of degree
        if (function.name == std::string("stop")) continue;             // its slope is 0 by definition
        CAPTURE(function.name, x[0], i);
        auto above = x, below = x;
        above[i] += 1e-6;
        below[i] -= 1e-6;
        const double difference = (at(value, above) - at(value, below)) / 2e-6;
        CHECK(at(slope_of({&function, i}), x) == Approx(difference).margin(1e-7));
      }
    }
  }
}

TEST_CASE("where two are equal, each has half of the slope, as PyTorch has it") {
  for (const char* name : {"min", "max"}) {
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) CHECK(at(slope_of({find_function(name), i}), {0.4, 0.4}) == 0.5);
  }
}

TEST_CASE("a layer calls functions of values, of numbers and of both, and multiplies by a transposed matrix") {
  FormulaText text;
  text.formula = "min(relu(x @ W), 1 + sqrt(4)) @ W.T + clip(x, -pi, pi) * (x >= 0)";
  (*text.parameters)["W"] = {"D", "F"};
  const auto graph = compile_formula(text, 4, 8, "gelu");
  CHECK(graph.num_parameters() == 32);
  CHECK(graph.flops() == 2 * 2 * 32);
  CHECK(problem_of("min(x, x @ W)").find("column 1: 'min' of values that end in D = 4 and in F = 8") == 0);
  CHECK(problem_of("min(x)").find("column 1: min takes 2 values, got 1") == 0);
  CHECK(problem_of("top_k(x, 0)") == "column 10: how many stay is 0; it has to lie between 1 and 1048576");
  CHECK(problem_of("top_k(x, 5)") == "column 10: top_k keeps 5 of D = 4");
  CHECK(problem_of("top_k(x, F/3)") == "column 10: how many stay is 2.66667, which is not whole");
  CHECK(problem_of("top_k(x, s)") == "column 10: how many stay has 's' in it; sizes use D, F and numbers");
  CHECK(problem_of("x + top_k(x)") == "column 5: top_k takes a value and how many of it stay, got 1");
  CHECK(problem_of("x + top_k(2, 1)") == "column 11: top_k of a number alone; write its value");
  CHECK(problem_of("x @ W @ W").find("'@': the left side ends in F = 8, 'W' [D, F] begins with 4") != std::string::npos);
  CHECK(problem_of("x @ W.T").find("'@': the left side ends in D = 4, 'W.T' [F, D] begins with 8") != std::string::npos);
  CHECK(problem_of("(x @ W) @ s.T").find("'s.T' is a vector [F]; the right operand of @ must be a matrix") != std::string::npos);
  CHECK(problem_of("x + V.T").find("column 5: nothing is called 'V.T'") == 0);
  CHECK(problem_of("x @ D").find("the right operand of @ must be a matrix") != std::string::npos);
  CHECK(problem_of("!x") == "column 1: a layer has no operator '!'");
  CHECK(problem_of("x & x") == "column 1: a layer has no operator '&'");
  CHECK(problem_of("x[0] + x[4]").find("column 8: [4:5] of a value that ends in D = 4") == 0);
}
