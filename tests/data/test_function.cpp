// A task's formula: values by another route, places of errors, and what is drawn, held out and validated.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "ffn/base/error.hpp"
#include "ffn/config/named_tasks.hpp"
#include "ffn/data/task.hpp"
#include "ffn/formula/task_formula.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

const std::vector<FormulaInput> kInputs{{"a", 1, 31}, {"b", 1, 31}, {"x", 3, std::nullopt}, {"bits", 4, 2}};

std::vector<double> value_of(const std::string& text) {
  std::string problem;
  const auto expression = TaskFormula::compile(text, kInputs, problem);
  INFO(text << "\n" << problem);
  REQUIRE(expression);
  const std::vector<double> a{7}, b{30}, x{0.5, -1.25, 2}, bits{1, 0, 1, 1};
  std::vector<double> out(static_cast<std::size_t>(expression->width()));
  expression->evaluate({a.data(), b.data(), x.data(), bits.data()}, 1, out.data());
  return out;
}

std::optional<std::int64_t> classes_of(const std::string& text) {
  std::string problem;
  const auto expression = TaskFormula::compile(text, kInputs, problem);
  REQUIRE(expression);
  return expression->values();
}

std::string problem_of(const std::string& text) {
  std::string problem;
  CHECK_FALSE(TaskFormula::compile(text, kInputs, problem));
  return problem;
}

FunctionConfig function(const char* inputs, const std::string& label, const std::string& target = "") {
  FunctionConfig config;
  config.inputs = Json::parse(inputs);
  config.label = label;
  config.target = target;
  return config;
}

// Row i of the vectors of a set.
std::vector<float> row(const ExampleSet& set, std::int64_t i, std::int64_t width) {
  return {set.vectors.begin() + i * width, set.vectors.begin() + (i + 1) * width};
}

}  // namespace

TEST_CASE("an expression has the value that C++ computes") {
  const double a = 7, b = 30, x0 = 0.5, x1 = -1.25, x2 = 2;
  const std::map<std::string, double> expected{
      {"a + b * 2 - 4 / 8", a + b * 2 - 0.5},
      {"(a + b) % 31", 6},
      {"(a - b) % 31", 8},
      {"-a", -7},
      {"- -a", 7},
      {"a & b | 8 ^ 1", (7 & 30) | (8 ^ 1)},
      {"a + 1 & 12", (7 + 1) & 12},
      {"!a + !0", 1},
      {"a < b", 1},
      {"a + 23 >= b", 1},
      {"a == 7 & b != 30", 0},
      {"sin(2 * pi * x[0]) + cos(x[1])", std::sin(2 * M_PI * x0) + std::cos(x1)},
      {"tan(x[0]) * tanh(x[1])", std::tan(x0) * std::tanh(x1)},
      {"exp(x[1]) + log(x[2]) + log1p(x[0]) + sqrt(x[2])", std::exp(x1) + std::log(x2) + std::log1p(x0) + std::sqrt(x2)},
      {"abs(x[1]) + sign(x[1]) + floor(x[1])", 1.25 - 1 - 2},
      {"pow(x[1], 3)", x1 * x1 * x1},
      {"min(a, x[0]) + max(x)", 2.5},
      {"min(x)", x1},
      {"clip(x[1], -1, 1) + clip(x[2], 0, 1)", 0},
      {"where(x[0] > 0, a, b)", a},
      {"sum(x * x)", x0 * x0 + x1 * x1 + x2 * x2},
      {"parity(bits) * 10 + parity(bits[0:2])", 11},
      {"sum(bits[1:])", 2},
      {"bits[0] ^ bits[1] ^ bits[2]", 0}};
  for (const auto& [text, value] : expected) {
    CAPTURE(text);
    CHECK(value_of(text).size() == 1);
    CHECK(value_of(text)[0] == Approx(value).margin(1e-15));
  }
  CHECK(value_of("concat(a, x[0:2])") == std::vector<double>{7, 0.5, -1.25});
  CHECK(value_of("x + a") == std::vector<double>{7.5, 5.75, 9});
}

TEST_CASE("many examples are computed as each alone") {
  std::string problem;
  const auto expression = TaskFormula::compile("x[1] * a + x", kInputs, problem);
  REQUIRE(expression);
  constexpr std::int64_t kCount = 600;
  std::vector<double> a, x, unused(4 * kCount), out(3 * kCount);
  for (std::int64_t i = 0; i < kCount; ++i) {
    a.push_back(static_cast<double>(i));
    for (int col = 0; col < 3; ++col) x.push_back(0.25 * static_cast<double>(i) + col);
  }
  expression->evaluate({a.data(), unused.data(), x.data(), unused.data()}, kCount, out.data());
  for (std::size_t i = 0; i < kCount; ++i) {
    for (std::size_t col = 0; col < 3; ++col) REQUIRE(out[3 * i + col] == x[3 * i + 1] * a[i] + x[3 * i + col]);
  }
}

TEST_CASE("a remainder has the sign of the divisor and is smaller") {
  CHECK(value_of("1.7 % 0.1")[0] == Approx(0.1));
  CHECK(value_of("-1.7 % 1")[0] == Approx(0.3));
  CHECK(value_of("1.7 % -1")[0] == Approx(-0.3));
  CHECK(value_of("1 % 0.2")[0] == 0.19999999999999996);
  CHECK_FALSE(classes_of("a % 2.5"));
  CHECK_FALSE(classes_of("a % 10000000"));
}

TEST_CASE("what is undefined is no number") {
  for (const char* text : {"pow(a, 30) % 31", "sign(log(x[1]))", "parity(log(x))", "!log(x[1])", "log(x[1])", "sqrt(x[1])", "x[0] & 1",
                           "min(log(x[1]), 1)", "max(1, log(x[1]))", "max(log(x))", "min(log(x))"}) {
    CAPTURE(text);
    CHECK(std::isnan(value_of(text)[0]));
  }
}

TEST_CASE("a formula says how many classes it has where that can be known") {
  const std::map<std::string, std::optional<std::int64_t>> expected{{"bits[0] & bits[1]", 2},
                                                                    {"a", 31},
                                                                    {"(a + b) % 7", 7},
                                                                    {"(a - b) % 7", 7},
                                                                    {"(a * a - 3 * b) % 5", 5},
                                                                    {"a + b", 61},
                                                                    {"a * b", 901},
                                                                    {"a ^ b", 32},
                                                                    {"a > b", 2},
                                                                    {"parity(bits)", 2},
                                                                    {"sum(bits)", 5},
                                                                    {"where(a > 3, 2, b % 3)", 3},
                                                                    {"max(a, 40)", 41},
                                                                    {"a - b", std::nullopt},
                                                                    {"x[0] % 3", std::nullopt},
                                                                    {"floor(x[0]) % 3", 3}};
  for (const auto& [text, count] : expected) {
    CAPTURE(text);
    CHECK(classes_of(text) == count);
  }
}

TEST_CASE("an error in an expression points at its place") {
  CHECK_THAT(problem_of("a + c"), ContainsSubstring("column 5: nothing is called 'c'") && ContainsSubstring("\n    a + c\n        ^"));
  CHECK_THAT(problem_of("sinn(a)"), ContainsSubstring("column 1: no function is called 'sinn'; did you mean"));
  CHECK_THAT(problem_of("sin(a, b)"), ContainsSubstring("sin takes 1 value, got 2"));
  CHECK_THAT(problem_of("x + bits"), ContainsSubstring("'+' of 3 and 4 columns"));
  CHECK_THAT(problem_of("x[2:5]"), ContainsSubstring("[2:5] of a value with 3 columns"));
  CHECK_THAT(problem_of("x[D + 2]"), ContainsSubstring("nothing is called 'D'"));
  CHECK_THAT(problem_of("a + 010"), ContainsSubstring("column 5: a number that begins with 0"));
  CHECK_THAT(problem_of("x[3]"), ContainsSubstring("[3:4] of a value with 3 columns"));
  CHECK_THAT(problem_of("(a + 1)[0]"), ContainsSubstring("only an input has columns"));
  CHECK_THAT(problem_of("a +"), ContainsSubstring("ends where a name, a number or '(' is expected"));
  CHECK_THAT(problem_of("a = b"), ContainsSubstring("column 3: '=' where the end or an operator is expected"));
  CHECK_THAT(problem_of("0 < a < 5"), ContainsSubstring("a comparison of a comparison"));
  CHECK_THAT(problem_of("a @ b"), ContainsSubstring("a task has no operator '@'"));
  CHECK_THAT(problem_of(""), ContainsSubstring("ends where"));
}

TEST_CASE("labels of a function task are its formula's, for bits as -1 and 1 and integers as one-hot") {
  const auto task = make_task(
      function(R"({"b": "bit", "n": {"integer": 3}, "x": {"uniform": [2, 4], "size": 2}})", "b ^ (n == 2) ^ (x[1] > 3)"), {{1, 2}, {3, 4}});
  const auto shape = task->shape();
  CHECK(shape.input_width == 1 + 3 + 2);
  CHECK(shape.num_classes == 2);
  std::set<std::vector<float>> seen;
  for (const auto& set : {task->batch(1, 9, 500), task->validation(500)}) {
    for (std::int64_t i = 0; i < 500; ++i) {
      const auto x = row(set, i, 6);
      CHECK((x[0] == 1 || x[0] == -1));
      CHECK(x[1] + x[2] + x[3] == 1);
      CHECK((x[4] >= 2 && x[4] < 4));
      const bool label = ((x[0] > 0) != (x[3] == 1)) != (x[5] > 3);
      CHECK(set.labels[static_cast<std::size_t>(i)] == (label ? 1 : 0));
      seen.insert({x[0], x[1], x[2], x[3]});
    }
  }
  CHECK(seen.size() == 6);
  CHECK(task->batch(0, 9, 5).vectors != task->batch(1, 9, 5).vectors);
  CHECK(task->batch(0, 9, 5).vectors != task->batch(0, 8, 5).vectors);
  CHECK(task->batch(1, 9, 5).vectors ==
        make_task(function(R"({"b": "bit", "n": {"integer": 3}, "x": {"uniform": [2, 4], "size": 2}})", "b"), {{3, 4}})
            ->batch(0, 9, 5)
            .vectors);
}

TEST_CASE("a pattern that is held out is in no training batch, and each seed holds out others") {
  auto config = function(R"({"a": {"integer": 7}, "b": {"integer": 7}})", "(a + b) % 7");
  config.held_out = 0.4;
  const auto task = make_task(config, {{1, 2}, {3, 4}});
  const auto held = task->validation(1000);
  CHECK(held.count == 19);
  std::set<std::vector<float>> all[2];
  for (std::size_t run = 0; run < 2; ++run) {
    std::set<std::vector<float>> validated;
    const auto batch = task->batch(run, 0, 3000);
    for (std::int64_t i = 0; i < held.count; ++i) validated.insert(row(held, static_cast<std::int64_t>(run) * held.count + i, 14));
    CHECK(validated.size() == 19);
    for (std::int64_t i = 0; i < 3000; ++i) {
      CHECK(validated.count(row(batch, i, 14)) == 0);
      all[run].insert(row(batch, i, 14));
    }
    CHECK(all[run].size() == 30);
  }
  CHECK(all[0] != all[1]);
}

TEST_CASE("few patterns are validated once each, one number on an even grid") {
  const auto bits = make_task(function(R"({"a": "bit", "b": {"bit": 2}})", "a & parity(b)"), {{1, 2}})->validation(100);
  CHECK(bits.count == 8);
  std::set<std::vector<float>> seen;
  for (std::int64_t i = 0; i < 8; ++i) seen.insert(row(bits, i, 3));
  CHECK(seen.size() == 8);
  const auto grid = make_task(function(R"({"x": {"uniform": [-1, 1]}})", "", "sin(2 * pi * x)"), {{1, 2}})->validation(5);
  CHECK(grid.vectors == std::vector<float>{-1, -0.5, 0, 0.5, 1});
  for (std::size_t i = 0; i < 5; ++i) CHECK(grid.values[i] == Approx(std::sin(M_PI * (static_cast<double>(i) - 2))).margin(1e-6));
}

TEST_CASE("noise is of the size that is named, in training alone, and jitter in both") {
  auto config = function(R"({"a": {"integer": 5}})", "a");
  const auto clean = make_task(config, {{1, 2}})->batch(0, 3, 20000);
  config.label_noise = 0.3;
  const auto noisy = make_task(config, {{1, 2}});
  const auto batch = noisy->batch(0, 3, 20000);
  std::map<std::int64_t, int> changes;
  for (std::size_t i = 0; i < 20000; ++i) ++changes[(batch.labels[i] - clean.labels[i] + 5) % 5];
  CHECK(batch.vectors == clean.vectors);
  for (int d = 1; d < 5; ++d) CHECK(changes[d] == Approx(1500).margin(150));  // 4 standard errors
  const auto validation = noisy->validation(5);
  for (std::int64_t i = 0; i < 5; ++i)
    CHECK(validation.vectors[static_cast<std::size_t>(i * 5 + validation.labels[static_cast<std::size_t>(i)])] == 1);

  auto target = function(R"({"x": {"normal": [2, 3]}})", "", "x");
  target.noise = 0.5;
  target.jitter = 0.25;
  const auto drawn = make_task(target, {{1, 2}})->batch(0, 3, 20000);
  double mean = 0, square = 0, both = 0;
  for (std::size_t i = 0; i < 20000; ++i) {
    mean += static_cast<double>(drawn.values[i]) / 20000;
    square += std::pow(static_cast<double>(drawn.values[i]) - 2, 2) / 20000;
    both += std::pow(static_cast<double>(drawn.values[i]) - static_cast<double>(drawn.vectors[i]), 2) / 20000;
  }
  CHECK(mean == Approx(2).margin(0.09));
  CHECK(square == Approx(9.25).margin(0.4));
  CHECK(both == Approx(0.25 + 0.0625).margin(0.013));
  const auto still = make_task(target, {{1, 2}})->validation(1000);
  for (std::size_t i = 0; i < 1000; ++i) CHECK(std::abs(still.values[i] - still.vectors[i]) < 2);
  CHECK(still.values != still.vectors);
}

TEST_CASE("a power that is written with ^ is refused with pow, and an exclusive or with a number begins with it") {
  for (const char* text : {"a ^ 2", "x[0]^2 + 1", "(a + b) ^ 0.5", "a ^ -1"})
    CHECK_THAT(problem_of(text), ContainsSubstring("'^' is exclusive or; a power is written pow(x, n)"));
  CHECK(value_of("2 ^ a")[0] == 5);
  CHECK(value_of("a ^ 1")[0] == 6);
  try {
    make_task(function(R"({"x": {"uniform": [0, 2]}, "y": {"uniform": [0, 2]}})", "", "x ^ y"), {{1, 2}});
    FAIL("nothing was thrown");
  } catch (const DataError& error) {
    CHECK(error.hint() == "'^' is exclusive or, of whole numbers; a power is written pow(x, n)");
  }
}

TEST_CASE("targets far from 1 in size are said to be not standardised, with the formula that standardises them") {
  const char* inputs = R"({"x": {"uniform": [0, 1]}})";
  const auto said = [&](const std::string& target) { return describe_data(function(inputs, "", target)); };
  CHECK(said("sin(2 * pi * x)").empty());
  CHECK(said("1000 - x").find("are not standardised") != std::string::npos);
  const std::string text = said("1000000 * x");
  CHECK_THAT(text, ContainsSubstring("targets have mean 5e+05 and deviation 2.89e+05, and are not standardised"));
  CHECK_THAT(text, ContainsSubstring("write task.target='((1000000 * x) - 5e+05) / 2.89e+05'"));
  CHECK(said("((1000000 * x) - 5e+05) / 2.89e+05").empty());
  CHECK_THAT(said("x / 1000"), ContainsSubstring("not standardised"));
  CHECK(said("7").empty());
}

TEST_CASE("a formula without a class or a number for inputs that are drawn is refused with an example") {
  auto config = function(R"({"a": {"integer": 4}})", "a - 1");
  config.classes = 3;
  CHECK_THROWS_WITH(make_task(config, {{1, 2}}), ContainsSubstring("task.label is -1 for a = 0; a label is a whole number from 0 to 2"));
  CHECK_THROWS_WITH(make_task(function(R"({"x": {"uniform": [-1, 1]}})", "", "log(x)"), {{1, 2}}),
                    ContainsSubstring("task.target is ") && ContainsSubstring("nan for x = -1"));
}

TEST_CASE("features are what the network sees, in place of the inputs") {
  auto config = function(R"({"c": "bit", "t": {"uniform": [0, 1]}})", "c");
  config.features = "concat(c, t + 10 * c, 1)";
  const auto task = make_task(config, {{1, 2}});
  CHECK(task->shape().input_width == 3);
  const auto batch = task->batch(0, 3, 50);
  for (std::int64_t i = 0; i < 50; ++i) {
    const auto seen = row(batch, i, 3);
    const auto c = static_cast<float>(batch.labels[static_cast<std::size_t>(i)]);
    CHECK(seen[0] == c);
    CHECK((seen[1] >= 10 * c && seen[1] < 10 * c + 1));
    CHECK(seen[2] == 1);
  }
  CHECK_FALSE(all_bits(config));
  config.features = "log(t - 2)";
  CHECK_THROWS_WITH(make_task(config, {{1, 2}}), ContainsSubstring("task.features is ") && ContainsSubstring("it has to be finite"));
}

namespace {

// The share of examples for which `holds` is true of the features and the label.
double share_of(const std::string& name, const std::function<bool(const std::vector<float>& x, std::int64_t label)>& holds) {
  FunctionConfig config;
  config.name = name;
  REQUIRE(resolve_task_name(config) == "");
  constexpr std::int64_t kExamples = 20000;
  const auto task = make_task(config, {{7, 8}});
  const auto batch = task->batch(0, 0, kExamples);
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < kExamples; ++i)
    count += holds(row(batch, i, task->shape().input_width), batch.labels[static_cast<std::size_t>(i)]);
  return static_cast<double>(count) / kExamples;
}

}  // namespace

TEST_CASE("tasks with a name have the labels and the ceilings of their sources") {
  using X = const std::vector<float>&;
  using Label = std::int64_t;
  const auto radius = [](X x) { return std::hypot(x[0], x[1]); };
  CHECK(share_of("circle", [&](X x, Label c) { return c == 1 ? radius(x) < 2.51f : radius(x) > 3.49f && radius(x) < 5.01f; }) == 1);
  CHECK(share_of("quadrants",
                 [](X x, Label c) { return (x[0] * x[1] > 0) == (c == 1) && std::abs(x[0]) >= 0.3f && std::abs(x[1]) < 5.31f; }) == 1);
  CHECK(share_of("spiral", [&](X x, Label c) {  // the angle says which arm it is
          const double turned = std::atan2(x[0], x[1]) - 3.5 * M_PI * radius(x) / 5;
          return std::abs(std::cos(turned) - (c == 1 ? -1 : 1)) < 1e-3;
        }) > 0.999);
  CHECK(share_of("gauss", [](X x, Label c) { return (x[0] + x[1] > 0) == (c == 1); }) == Approx(0.9214).margin(0.008));  // Bayes
  CHECK(share_of("moons", [](X x, Label c) {  // within four deviations of its arc
          const double from = c == 1 ? std::hypot(x[0] - 1, x[1] - 0.5) : std::hypot(x[0], x[1]);
          return std::abs(from - 1) < 0.8;
        }) > 0.999);
  const auto cluster = [](X x) { return static_cast<std::size_t>(std::max_element(x.begin(), x.begin() + 4) - x.begin()); };
  CHECK(share_of("clusters", [&](X x, Label y) { return x[cluster(x)] == 2 && (x[4 + cluster(x)] > 0) == (y == 1); }) == 1);
  CHECK(share_of("clusters", [](X x, Label y) { return (x[4] + x[5] + x[6] + x[7] > 0) == (y == 1); }) == Approx(2.0 / 3).margin(0.014));
  CHECK(share_of("sparse_parity", [](X x, Label y) { return (x[0] * x[1] * x[2] > 0) == (y == 1); }) == 1);
  for (const auto& named : named_tasks()) {
    CAPTURE(named.name);
    CHECK(std::string(named.source) != "");
    if (named.kind != std::string(FunctionConfig::kKind)) continue;  // test_sequence.cpp
    FunctionConfig config;
    config.name = named.name;
    REQUIRE(resolve_task_name(config) == "");
    REQUIRE(resolve_task_name(config) == "");  // of what it was resolved to
    CHECK(make_task(config, {{1, 2}})->batch(0, 0, 100).vectors.size() > 0);
    (config.label.empty() ? config.target : config.label) += " + 0";
    CHECK_THAT(resolve_task_name(config), ContainsSubstring("is what another task is called"));
  }
  FunctionConfig unknown;
  unknown.name = "moon";
  CHECK_THAT(resolve_task_name(unknown), ContainsSubstring("did you mean \"moons\""));
}
