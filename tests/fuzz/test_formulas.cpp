// Damaged formulas: a layer or an error for the user, never anything else.
#include <cmath>
#include <nlohmann/json.hpp>

#include "ffn/base/error.hpp"
#include "ffn/base/random.hpp"
#include "ffn/config/function_task.hpp"
#include "ffn/config/named_tasks.hpp"
#include "ffn/config/sequence_task.hpp"
#include "ffn/data/task.hpp"
#include "ffn/formula/activation_formula.hpp"
#include "ffn/formula/formula.hpp"
#include "ffn/formula/named_formulas.hpp"
#include "fuzz/damage.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

// Pieces that formulas are made of, so that damage often makes another formula.
const char* const kPieces[] = {"x",       "(",   ")",    "@",      "*",      "+",       "-",   "/",        "[",           ":",
                               "]",       ",",   "D",    "F",      "1",      "0.5",     "2e9", "relu(",    "softmax(",    "sum(",
                               "concat(", "up",  "down", "h",      "x @ up", " ",       ".",   "dropout(", "layer_norm(", "phi(",
                               "^",       "\t",  "\x80", "[:F/2]", "z",      "c",       "a",   "where(",   "min(",        "sin(",
                               "pow(",    " % ", " & ",  " < ",    "!",      "parity(", "pi",  "[0]",      ".T"};

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

TEST_CASE("a damaged formula of a task is a task or an error with its place, never worse") {
  std::size_t tasks = 0, refused = 0, undefined = 0;
#if defined(__SANITIZE_ADDRESS__)
  const std::uint64_t trials = fuzz::trials(10'000);
#else
  const std::uint64_t trials = fuzz::trials(100'000);
#endif
  for (std::uint64_t trial = 0; trial < trials; ++trial) {
    RandomStream random(6, trial);
    const NamedTask& named = named_tasks()[random.below(static_cast<std::uint32_t>(named_tasks().size()))];
    if (named.kind != std::string(FunctionConfig::kKind)) {
      SequenceConfig config;
      config.name = named.name;
      REQUIRE(resolve_task_name(config) == "");
      config.name.clear();
      config.alphabet = 8;
      std::string& text = !config.tokens.empty() && random.below(2) == 0   ? config.tokens
                          : !config.scored.empty() && random.below(2) == 0 ? config.scored
                                                                           : config.label;
      text = damaged(text, random);
      CAPTURE(trial, text);
      const auto problem = check_sequence(config);
      ++(problem.message.empty() ? tasks : refused);
      if (!problem.message.empty()) continue;
      ExampleSet set;
      try {
        set = make_task(config, {{1, 2}})->batch(0, 0, 4);
      } catch (const DataError&) {  // tokens that the check found defined
        continue;
      }
      const auto classes = task_shape(config).num_classes;
      for (const auto token : set.tokens) REQUIRE((token >= 0 && token < config.alphabet));
      for (const auto label : set.labels) REQUIRE((label >= -1 && label < classes));
      continue;
    }
    FunctionConfig config;
    config.name = named.name;
    REQUIRE(resolve_task_name(config) == "");
    config.name.clear();
    std::string& text = !config.features.empty() && random.below(2) == 0 ? config.features
                        : config.label.empty()                           ? config.target
                                                                         : config.label;
    text = damaged(text, random);
    CAPTURE(trial, text);
    const auto problem = check_function(config);
    if (!problem.message.empty()) {
      ++refused;
      REQUIRE((std::string(problem.key) == "label" || problem.message.rfind("column ", 0) == 0 || text.empty()));
      continue;
    }
    ++tasks;
    if (trial % 20 != 0) continue;
    try {
      const auto set = make_task(config, {{1, 2}})->batch(0, 0, 4);
      for (const float seen : set.vectors) REQUIRE(std::isfinite(seen));
      for (const float value : set.values) REQUIRE(std::isfinite(value));
    } catch (const DataError&) {
      ++undefined;  // for inputs that are drawn
    }
  }
  CHECK(tasks + refused == trials);
  CHECK(tasks > trials / 50);
  CHECK(undefined < tasks / 20);
}

TEST_CASE("a damaged formula of an activation is one or an error with its place, never worse") {
  std::size_t good = 0;
  const std::uint64_t trials = fuzz::trials(10'000);  // every good one is kept
  const char* const rows[] = {"z * sin(z)", "where(z > 0, z * z, 0.1 * z)", "max(z, 0) - min(pow(z, 3), 1) % 2",
                              "z * sigmoid(1.7 * z) + erf(z)"};
  for (std::uint64_t trial = 0; trial < trials; ++trial) {
    RandomStream random(7, trial);
    const std::string text = damaged(rows[random.below(4)], random);
    CAPTURE(trial, text);
    const std::string problem = activation_problem(text);
    if (problem.empty()) {
      ++good;
      double z = 0.4, y = 0, one = 1, slope = 0;
      activation_called(text).values(1, &z, &y);
      activation_called(text).gradients(1, &z, &one, &slope);
    } else {
      REQUIRE((problem.rfind("column ", 0) == 0 || problem.rfind("the formula", 0) == 0));
    }
  }
  CHECK(good > trials / 50);
}
