// An activation as a formula in z: its value by C++, its derivative by finite differences, and errors with their place.
#include <cmath>
#include <functional>
#include <map>

#include "ffn/formula/activation_formula.hpp"
#include "helpers.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;
using namespace ffn::test;

namespace {

const std::vector<double> kPoints{-3.1, -1.7, -0.6, -0.2, 0.3, 0.9, 1.4, 2.8};

double value(const Activation& phi, double z) {
  double y = 0;
  phi.values(1, &z, &y);
  return y;
}

double slope(const Activation& phi, double z) {
  const double one = 1;
  double dz = 0;
  phi.gradients(1, &z, &one, &dz);
  return dz;
}

}  // namespace

TEST_CASE("with a surrogate gradient an activation has one function's value and another one's slope") {
  // SUGAR, Horuz et al. 2025, arXiv:2505.22074: ReLU with the slope of B-SiLU, (z + 1.67) σ(z) - 1.67/2.
  const std::string surrogate = "((z + 1.67) * sigmoid(z) - 0.835)";
  const Activation phi = activation_called(surrogate + " + stop(relu(z) - " + surrogate + ")");
  for (const double z : kPoints) {
    CAPTURE(z);
    const double sigmoid = 1 / (1 + std::exp(-z));
    CHECK(value(phi, z) == Approx(std::max(z, 0.0)).margin(1e-12));
    CHECK(slope(phi, z) == Approx(sigmoid + (z + 1.67) * sigmoid * (1 - sigmoid)).margin(1e-12));
  }
  CHECK(slope(activation_called("stop(z)"), 0.9) == 0);
}

TEST_CASE("an activation's formula has the value that C++ computes, and the slope of its differences") {
  const std::map<std::string, std::function<double(double)>> expected{
      {"z * sin(z)", [](double z) { return z * std::sin(z); }},
      {"cos(2 * z) - exp(-z * z) / 3", [](double z) { return std::cos(2 * z) - std::exp(-z * z) / 3; }},
      {"log(1 + z * z) + log1p(abs(z))", [](double z) { return std::log(1 + z * z) + std::log1p(std::abs(z)); }},
      {"sqrt(1 + z * z) - 1", [](double z) { return std::sqrt(1 + z * z) - 1; }},
      {"where(z > 0, z * z, 0.1 * z)", [](double z) { return z > 0 ? z * z : 0.1 * z; }},
      {"where(z, z, 1)", [](double z) { return z; }},
      {"max(0, z) - min(z, 0.5)", [](double z) { return std::max(0.0, z) - std::min(z, 0.5); }},
      {"clip(z, -1, 1)", [](double z) { return std::min(1.0, std::max(-1.0, z)); }},
      {"pow(2, z) + tan(z / 3)", [](double z) { return std::pow(2, z) + std::tan(z / 3); }},
      {"z % 2 + (z != 0) * (z < 1)", [](double z) { return z - 2 * std::floor(z / 2) + (z < 1); }},
      {"pow(z, 3) / (1 + pow(z, 2))", [](double z) { return z * z * z / (1 + z * z); }},
      {"z * (z >= 0) + sign(z) + floor(z)", [](double z) { return z * (z >= 0) + (z > 0 ? 1 : -1) + std::floor(z); }},
      {"z * sigmoid(1.702 * z)", [](double z) { return z / (1 + std::exp(-1.702 * z)); }},
      {"tanh(z) * erf(z) + pi", [](double z) { return std::tanh(z) * std::erf(z) + M_PI; }},
      {"-relu(-z) + 0 * gelu(z)", [](double z) { return std::min(z, 0.0); }}};
  for (const auto& [text, function] : expected) {
    CAPTURE(text);
    REQUIRE(activation_problem(text) == "");
    const Activation phi = activation_called(text);
    CHECK(phi.name == activation_called(text).name);  // the same row
    for (const double z : kPoints) {
      CAPTURE(z);
      CHECK(value(phi, z) == Approx(function(z)).margin(1e-12));
      constexpr double kStep = 1e-6;
      CHECK(slope(phi, z) == Approx((function(z + kStep) - function(z - kStep)) / (2 * kStep)).margin(1e-8));
    }
  }
}

TEST_CASE("an activation's formula in float is that in double, wherever a value stands") {
  const Activation phi = activation_called("z * sin(z) + tanh(z) - exp(-abs(z))");
  std::vector<float> z, y, gradient, alone(1);
  for (int i = -200; i < 201; ++i) z.push_back(static_cast<float>(i) * 0.03f);
  y.resize(z.size());
  gradient.resize(z.size());
  std::vector<float> slopes = z;
  phi.values_and_slopes(z.size(), slopes.data(), y.data(), slopes.data());
  const std::vector<float> ones(z.size(), 1.0f);
  phi.gradients(z.size(), z.data(), ones.data(), gradient.data());
  CHECK(gradient == slopes);
  for (std::size_t i = 0; i < z.size(); ++i) {
    CHECK(y[i] == Approx(value(phi, static_cast<double>(z[i]))).margin(2e-6));
    CHECK(slopes[i] == Approx(slope(phi, static_cast<double>(z[i]))).margin(5e-6));
    phi.values(1, &z[i], alone.data());
    CHECK(alone[0] == y[i]);
  }
}

TEST_CASE("a named activation within a formula is its row, value and slope") {
  for (const auto& row : activations()) {
    const Activation phi = activation_called(std::string(row.name) + "(z) * 1");
    for (const double z : kPoints) {
      CAPTURE(row.name, z);
      CHECK(value(phi, z) == value(row, z));
      CHECK(slope(phi, z) == Approx(slope(row, z)).margin(1e-14));
    }
  }
}

TEST_CASE("a value that is undefined is no number, and neither is a NaN's") {
  CHECK(std::isnan(value(activation_called("log(z)"), -1.0)));
  CHECK(std::isnan(value(activation_called("sqrt(z)"), -1.0)));
  for (const char* text : {"z * sin(z)", "max(z, 0)", "min(0, z)", "clip(z, 0, 1)", "sign(z)", "abs(z)", "floor(z)"}) {
    CAPTURE(text);
    CHECK(std::isnan(value(activation_called(text), std::nan(""))));
  }
}

TEST_CASE("an error in an activation points at its place") {
  CHECK_THAT(activation_problem("z * sinn(z)"), ContainsSubstring("column 5: no function is called 'sinn'; did you mean \"sin\""));
  CHECK_THAT(activation_problem("z * x"), ContainsSubstring("column 5: nothing is called 'x'; an activation is a formula in z"));
  CHECK_THAT(activation_problem("2 * pi"), ContainsSubstring("a formula in z"));
  CHECK_THAT(activation_problem("z[0]"), ContainsSubstring("z is one number"));
  CHECK_THAT(activation_problem("z ^ 2"), ContainsSubstring("an activation has no operator '^'; a power is written pow(a, n)"));
  CHECK_THAT(activation_problem("min(z)"), ContainsSubstring("min takes 2 values, got 1"));
  CHECK_THAT(activation_problem("z *"), ContainsSubstring("ends where"));
  std::string long_formula = "z";
  for (int i = 0; i < 40; ++i) long_formula = "mish(" + long_formula + ")";
  CHECK_THAT(activation_problem(long_formula), ContainsSubstring("more than 256 operations"));
}

TEST_CASE("a config takes a formula as an activation where a name may stand") {
  const auto config = [](const std::string& kind, const std::string& activation) {
    return R"({"model": {"ffn": {"kind": ")" + kind + R"(", "activation": ")" + activation + "\"}}}";
  };
  for (const char* kind : {"positionwise", "gated", "moe", "conv1x1"}) CHECK_NOTHROW(run_from(config(kind, "z * sin(z)")));
  CHECK_THROWS_WITH(run_from(config("gated", "geluu")), ContainsSubstring("unknown value \"geluu\"; did you mean \"gelu\"?"));
  CHECK_THROWS_WITH(run_from(config("gated", "z * foo(z)")),
                    ContainsSubstring("/model/ffn/activation: column 5: no function is called 'foo'"));
}
