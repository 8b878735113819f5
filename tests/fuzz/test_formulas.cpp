// Damaged formulas: a layer or an error for the user, never anything else.
#include "ffn/base/random.hpp"
#include "ffn/formula/formula.hpp"
#include "ffn/formula/named_formulas.hpp"
#include "fuzz/damage.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

// Pieces that formulas are made of, so that damage often makes another formula.
const char* const kPieces[] = {"x",      "(", ")", "@",        "*",           "+",     "-",        "/",    "[",       ":",     "]",    ",",
                               "D",      "F", "1", "0.5",      "2e9",         "relu(", "softmax(", "sum(", "concat(", "up",    "down", "h",
                               "x @ up", " ", ".", "dropout(", "layer_norm(", "phi(",  "^",        "\t",   "\x80",    "[:F/2]"};

std::string damaged(std::string text, RandomStream& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random.below(static_cast<std::uint32_t>(n))); };
  for (std::size_t damages = 1 + below(4); damages > 0; --damages) {
    const auto at = below(text.size() + 1);
    const auto length = std::min(below(6), text.size() - at);
    switch (below(4)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, kPieces[below(std::size(kPieces))]);
        break;
      case 2:
        text.replace(at, length, kPieces[below(std::size(kPieces))]);
        break;
      default:
        text.insert(at, text.substr(below(text.size() + 1), below(40)));
    }
  }
  return text;
}

}  // namespace

TEST_CASE("a damaged formula is a layer or an error, never worse") {
  std::size_t layers = 0, refused = 0;
  const auto& rows = named_formulas();
#if defined(__SANITIZE_ADDRESS__)  // ten times as slow
  const std::uint64_t trials = fuzz::trials(10'000);
#else
  const std::uint64_t trials = fuzz::trials(100'000);
#endif
  for (std::uint64_t trial = 0; trial < trials; ++trial) {
    RandomStream random(5, trial);
    auto text = formula_text(rows[random.below(static_cast<std::uint32_t>(rows.size()))]);
    if (!text.let->empty() && random.below(3) == 0)
      text.let->begin().value() = damaged(text.let->begin().value().get<std::string>(), random);
    else if (random.below(4) == 0) text.parameters->begin().value()[0] = damaged("F/2+1", random);
    else text.formula = damaged(text.formula, random);
    CAPTURE(trial, text.formula);
    std::vector<FormulaProblem> problems;
    const auto graph = compile_formula(text, 8, 24, "gelu", problems);
    if (problems.empty()) {
      ++layers;
      REQUIRE(!graph.nodes.empty());
      REQUIRE(graph.nodes.back().width == 8);
      REQUIRE(graph.nodes.back().batched);
      for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        for (const int input : graph.nodes[i].inputs) REQUIRE((input >= 0 && input < static_cast<int>(i)));
      }
    } else {
      ++refused;
      for (const auto& problem : problems) REQUIRE(!problem.message.empty());
    }
  }
  CHECK(layers + refused == trials);
  CHECK(layers > trials / 100);
  CHECK(refused > trials / 4);
}
