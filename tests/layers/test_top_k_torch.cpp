// top_k of formulas: who stays, by counting who is larger, in both engines; ties, NaN and gradients.
#include <cmath>
#include <nlohmann/json.hpp>

#include "ffn/layers/formula_cpu.hpp"
#include "ffn/layers/formula_torch.hpp"
#include "ffn/layers/parameter_row_torch.hpp"
#include "layers/feed_forwards.hpp"
#include "support/catch.hpp"
#include "support/layers.hpp"

using namespace ffn;
using torch::Tensor;

namespace {

constexpr std::int64_t kRows = 700, kWidth = 7;  // more rows than go over the operations at a time

FormulaGraph graph_of(const std::string& formula) {
  FormulaText text;
  text.formula = formula;
  return compile_formula(text, kWidth, 4 * kWidth, "gelu");
}

// Whole numbers between -2 and 2: most rows have ties, of negative numbers too.
Tensor full_of_ties() { return (torch::arange(kRows * kWidth, torch::kFloat32) * 1.7f).sin().mul(2.5f).trunc().view({1, kRows, kWidth}); }

// 1 for each number that fewer than k of its row come before.
Tensor counted(const Tensor& x, std::int64_t k) {
  Tensor stays = torch::zeros_like(x);
  const float* v = x.data_ptr<float>();
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const std::int64_t first = i / kWidth * kWidth;
    std::int64_t before = 0;
    for (std::int64_t j = first; j < first + kWidth; ++j) before += v[j] > v[i] || (v[j] == v[i] && j < i);
    stays.data_ptr<float>()[i] = before < k ? 1.0f : 0.0f;
  }
  return stays;
}

struct Both {
  Tensor value, gradient;  // value, and what dy = 1, 2, 3, … comes to
};

Tensor some_dy() { return torch::arange(1, kRows * kWidth + 1, torch::kFloat32).view({1, kRows, kWidth}); }

Both cpu_pass(const std::string& formula, const Tensor& x) {
  cpu::Declared none;
  cpu::FormulaProgram program(cpu::Declare(none), graph_of(formula), 0);
  cpu::Arena arena;
  cpu::Pass pass{nullptr, nullptr, arena, 1, true};
  const Tensor dy = some_dy();
  const auto copied = [&](const float* from) { return torch::from_blob(const_cast<float*>(from), x.sizes(), torch::kFloat32).clone(); };
  const Tensor value = copied(program.forward(pass, kRows, x.data_ptr<float>()));
  return {value, copied(program.backward(pass, dy.data_ptr<float>(), {}))};
}

Both torch_pass(const std::string& formula, const Tensor& input) {
  const Tensor x = input.clone().requires_grad_();
  const Tensor y = modules::evaluate(graph_of(formula), {}, x, modules::ForwardContext{}, 0);
  y.backward(some_dy());
  return {y.detach(), x.grad()};
}

}  // namespace

TEST_CASE("top_k keeps the largest of each token, of equals the first, in both engines", "[torch]") {
  const Tensor x = full_of_ties();
  for (const std::int64_t k : {1, 3, 6, 7}) {
    CAPTURE(k);
    const std::string formula = "top_k(x, " + std::to_string(k) + ")";
    const Tensor stays = counted(x, k);
    REQUIRE(stays.sum().item<float>() == static_cast<float>(k * kRows));
    for (const auto& pass : {cpu_pass, torch_pass}) {
      const Both found = pass(formula, x);
      CHECK(found.value.equal(x * stays));
      CHECK(found.gradient.equal(some_dy() * stays));
    }
  }
}

TEST_CASE("top_k of an intermediate value that is needed again, and of a size", "[torch]") {
  const Tensor x = full_of_ties();
  const Tensor stays = counted(x, 3);
  for (const auto& pass : {cpu_pass, torch_pass}) {  // y = x · 2 · top_k(2 x)
    const Both found = pass("(2 * x) * top_k(2 * x, (D - 1) / 2)", x);
    CHECK(found.value.equal(4 * x * x * stays));
    CHECK(found.gradient.equal(some_dy() * 8 * x * stays));
  }
}

TEST_CASE("NaN is the largest for top_k, in both engines", "[torch]") {
  Tensor x = full_of_ties();
  x.data_ptr<float>()[5] = NAN;
  x.data_ptr<float>()[6] = 9;
  for (const auto& pass : {cpu_pass, torch_pass}) {
    const Tensor row = pass("top_k(x, 2)", x).value[0][0];
    CHECK(std::isnan(row[5].item<float>()));
    CHECK(row[6].item<float>() == 9);
    CHECK(row.slice(0, 0, 5).abs().sum().item<float>() == 0);
  }
}
