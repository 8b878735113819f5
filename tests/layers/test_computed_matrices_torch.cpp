// Matrices that a formula computes from its parameters: values and gradients by hand on 2 × 2, in both engines.
#include <nlohmann/json.hpp>

#include "ffn/layers/formula_cpu.hpp"
#include "ffn/layers/formula_torch.hpp"
#include "layers/feed_forwards.hpp"
#include "support/catch.hpp"

using namespace ffn;

namespace {

using Numbers = std::vector<float>;

struct Found {
  Numbers y, dx, dw;  // of x = (1, 2) and dy = (1, 10)
};

const Numbers kX{1, 2}, kDy{1, 10};

FormulaGraph on_two(const std::string& formula) {
  FormulaText text;
  text.formula = formula;
  (*text.parameters)["W"] = {"D", "D"};
  return compile_formula(text, 2, 8, "gelu");
}

Found on_cpu(const std::string& formula, const Numbers& w) {
  cpu::Declared declared;
  cpu::FormulaProgram program(cpu::Declare(declared), on_two(formula), 0);
  cpu::Arena arena;
  Found out;
  out.dw.assign(4, 0);
  cpu::Pass pass{w.data(), out.dw.data(), arena, 1, true};
  const float* y = program.forward(pass, 1, kX.data());
  out.y.assign(y, y + 2);
  const float* dx = program.backward(pass, kDy.data(), {});
  out.dx.assign(dx, dx + 2);
  return out;
}

Found on_torch(const std::string& formula, const Numbers& w) {
  const auto tensor = [](const Numbers& from, torch::IntArrayRef shape) { return torch::tensor(from).view(shape).clone(); };
  const torch::Tensor x = tensor(kX, {1, 1, 2}).requires_grad_(), weight = tensor(w, {1, 2, 2}).requires_grad_();
  modules::FormulaPlace place;
  place.parameters = {weight};
  place.product = [](const torch::Tensor& rows, const torch::Tensor& by, const torch::Tensor&) { return torch::bmm(rows, by); };
  place.spread = [](const torch::Tensor& value) { return value.unsqueeze(1); };
  const FormulaGraph graph = on_two(formula);  // its functions are called backward, too
  const torch::Tensor y = modules::evaluate(graph, place, x, modules::ForwardContext{}, 0);
  y.backward(torch::tensor(kDy).view({1, 1, 2}));
  const auto numbers = [](const torch::Tensor& of) {
    const torch::Tensor flat = of.detach().contiguous();
    return Numbers(flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel());
  };
  return {numbers(y), numbers(x.grad()), numbers(weight.grad())};
}

void check(const Numbers& found, const Numbers& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == Approx(expected[i]).margin(1e-5));
}

}  // namespace

TEST_CASE("a ternary weight is rounded forward, and straight through backward", "[torch]") {
  // BitNet b1.58, Ma et al. 2024, arXiv:2402.17764, eq. 1–3: γ = mean |W| = 0.75, W/γ = (0.67, −2; 0.13, 1.2) → (1, −1; 0, 1).
  const std::string formula = "x @ (W + stop(clip(floor(W / mean_all(abs(W)) + 0.5), -1, 1) * mean_all(abs(W)) - W))";
  for (const auto& pass : {on_cpu, on_torch}) {
    const Found found = pass(formula, {0.5f, -1.5f, 0.1f, 0.9f});
    check(found.y, {0.75f, 0.75f});   // x @ Q, Q = γ (1, −1; 0, 1)
    check(found.dx, {-6.75f, 7.5f});  // dy @ Q.T
    check(found.dw, {1, 10, 2, 20});  // x.T @ dy, as if W itself were there
  }
}

TEST_CASE("a matrix times its mean passes the gradient of both", "[torch]") {
  for (const auto& pass : {on_cpu, on_torch}) {
    const Found found = pass("x @ (W * mean_all(W))", {1, 2, 3, 6});
    check(found.y, {21, 42});                           // 3 (1 + 2 · 3, 2 + 2 · 6)
    check(found.dx, {63, 189});                         // 3 (1 + 10 · 2, 3 + 10 · 6)
    check(found.dw, {39.75f, 66.75f, 42.75f, 96.75f});  // 3 G + Σ G ∘ W / 4, G = x.T @ dy = (1, 10; 2, 20), Σ G ∘ W = 147
  }
}
