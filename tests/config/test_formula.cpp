// Formulas: what they mean, what they cost, and what is said of those that mean nothing.
#include "ffn/config/accounting.hpp"
#include "ffn/data/run_identity.hpp"
#include "ffn/formula/formula.hpp"
#include "ffn/formula/formula_syntax.hpp"
#include "ffn/formula/named_formulas.hpp"
#include "helpers.hpp"
#include "support/choices.hpp"

using namespace ffn;
using namespace ffn::test;

namespace {

FormulaText text_of(const std::string& formula, const std::string& parameters = "{}", const std::string& let = "{}",
                    const std::string& init = "{}") {
  FormulaText text;
  text.formula = formula;
  text.parameters = Json::parse(parameters);
  text.let = Json::parse(let);
  text.init = Json::parse(init);
  return text;
}

// The first lines of all problems, at D = 8 and F = 32.
std::string wrong(const FormulaText& text) {
  std::vector<FormulaProblem> problems;
  compile_formula(text, 8, 32, "gelu", problems);
  std::string out;
  for (const auto& problem : problems)
    out += (out.empty() ? "" : "\n") + problem.key + ": " + problem.message.substr(0, problem.message.find('\n'));
  return out;
}

const std::string kGated = R"({"gate": ["D", "F"], "up": ["D", "F"], "down": ["F", "D"]})";

// Operators with their operands in parentheses, so that a test sees how tight they are.
std::string shown(const Syntax& tree) {
  std::string arguments;
  for (const auto& part : tree.parts) arguments += (arguments.empty() ? "" : ",") + shown(part);
  switch (tree.kind) {
    case Syntax::Kind::binary:
      return "(" + shown(tree.parts[0]) + tree.text + shown(tree.parts[1]) + ")";
    case Syntax::Kind::negate:
      return "(-" + arguments + ")";
    case Syntax::Kind::call:
      return tree.text + "(" + arguments + ")";
    case Syntax::Kind::slice:
      return arguments + "[" + (tree.low.empty() ? "" : shown(tree.low[0])) + ":" + (tree.high.empty() ? "" : shown(tree.high[0])) + "]";
    default:
      return tree.text;
  }
}
std::string parsed(const std::string& text) {
  const auto result = parse_formula(text);
  return result.tree ? shown(*result.tree) : std::to_string(result.problem->begin) + ": " + result.problem->message;
}

}  // namespace

TEST_CASE("formulas are read with Python's precedences") {
  CHECK(parsed("a + b * c") == "(a+(b*c))");
  CHECK(parsed("a * b @ c") == "((a*b)@c)");
  CHECK(parsed("a - b - c") == "((a-b)-c)");
  CHECK(parsed("-x @ a") == "((-x)@a)");
  CHECK(parsed("-a * -b") == "((-a)*(-b))");
  CHECK(parsed("(a + b) @ up.weight") == "((a+b)@up.weight)");
  CHECK(parsed("f(a, b)[1:F/2][:3]") == "f(a,b)[1:(F/2)][:3]");
  CHECK(parsed("1.5e-3*x") == "(1.5e-3*x)");
}

TEST_CASE("what is no formula is refused where it stops being one") {
  CHECK(parsed("") == "0: ends where a name, a number or '(' is expected");
  CHECK(parsed("x @") == "3: ends where a name, a number or '(' is expected");
  CHECK(parsed("x ** 2") == "3: '*' where a name, a number or '(' is expected; a power is written pow(h, 2)");
  CHECK(parsed("f(x") == "1: ends where ')' is expected");
  CHECK(parsed("x y") == "2: 'y' where the end or an operator is expected");
  CHECK(parsed("2x") == "0: not a number");
  CHECK(parsed("x @ ä").find("a character that no formula has") != std::string::npos);
  CHECK(parsed(std::string(5000, 'x')).find("longer than 4096") != std::string::npos);
  CHECK(parsed(std::string(2000, '(') + "x").find("deeper than 64 levels") != std::string::npos);
  CHECK(parsed(std::string(2000, '-') + "x").find("deeper than 64 levels") != std::string::npos);
  std::string chain = "x";
  for (int i = 0; i < 100; ++i) chain += "+x";
  CHECK(parsed(chain).find("deeper than 64 levels") != std::string::npos);
}

TEST_CASE("sizes are made of D, F and whole numbers, and come out whole") {
  CHECK(evaluate_size("2*D + F/4 - 1", 8, 32).value == 23);
  CHECK(evaluate_size("F / 3 * 3", 8, 32).value == 32);
  CHECK(evaluate_size("F/3", 8, 32).problem == "is 10.6667, which is not whole");
  CHECK(evaluate_size("D - F", 8, 32).problem == "is -24; it has to lie between 1 and 1048576");
  CHECK(evaluate_size("F/(D-8)", 8, 32).problem == "divides by 0");
  CHECK(evaluate_size("E", 8, 32).problem == "has 'E' in it; sizes use D, F and numbers");
  CHECK(evaluate_size("1.5*D", 8, 32).problem == "has 1.5 in it; sizes use whole numbers");
  CHECK(evaluate_size("F*F*F*F*F*F*F*F*F*F*F*F*F", 8, 1 << 20).problem == "is 1.85267e+78; it has to lie between 1 and 1048576");
}

TEST_CASE("a formula's parameters, FLOPs and starts follow from it") {
  const auto graph =
      compile_formula(text_of("(silu(x @ gate) * rms_norm(x @ up) * s) @ down + b",
                              R"({"gate": ["D", "F"], "up": ["D", "F"], "s": ["F"], "down": ["F", "D"], "b": ["D"]})", "{}", R"({"s": 1})"),
                      8, 32, "gelu");
  CHECK(graph.num_parameters() == 3 * 8 * 32 + 32 + 8);
  CHECK(graph.flops() == 2 * 3 * 8 * 32);
  REQUIRE(graph.parameters.size() == 5);
  CHECK(graph.parameters[0].init.scale == Init::fan_in(8).scale);
  CHECK(graph.parameters[3].init.scale == Init::fan_in(32).scale);
  CHECK(graph.parameters[4].init.scale == Init::fan_in(32).scale);  // as a linear map's bias
  CHECK(graph.parameters[2].init.kind == Init::Kind::constant);
  CHECK(graph.parameters[0].decays);
  CHECK(!graph.parameters[2].decays);
  CHECK(graph.nodes.back().op == FormulaOp::product);  // b is its bias
}

TEST_CASE("what stands twice in a formula is worked out once, but for dropout") {
  const auto graph =
      compile_formula(text_of("(relu(x @ up) * relu(x @ up)) @ down", R"({"up": ["D", "F"], "down": ["F", "D"]})"), 8, 32, "gelu");
  CHECK(graph.nodes.size() == 5);
  const auto dropped =
      compile_formula(text_of("(dropout(x @ up) * dropout(x @ up)) @ down", R"({"up": ["D", "F"], "down": ["F", "D"]})"), 8, 32, "gelu");
  CHECK(dropped.nodes.size() == 6);
}

TEST_CASE("what is wrong with a formula is said with its place and both shapes, all of it at once") {
  std::vector<FormulaProblem> problems;
  compile_formula(text_of("(silu(x @ gate) * rms_norm(x @ down)) @ down", kGated), 8, 32, "gelu", problems);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].key == "formula");
  CHECK(problems[0].message ==
        "column 30: '@': the left side ends in D = 8, 'down' [F, D] begins with 32\n"
        "    (silu(x @ gate) * rms_norm(x @ down)) @ down\n"
        "                               ~~^~~~~~\n"
        "    matrices that begin so: 'gate' [D, F], 'up' [D, F]");
  CHECK(wrong(text_of("(x @ gate + x @ down) * sulu(x @ up) @ down", kGated)) ==
        "formula: column 15: '@': the left side ends in D = 8, 'down' [F, D] begins with 32\n"
        "formula: column 25: no function is called 'sulu'; did you mean \"silu\"?");
}

TEST_CASE("each mistake in a formula has its words") {
  const std::string m = R"({"up": ["D", "F"], "down": ["F", "D"], "v": ["F"]})";
  const std::string v = R"({"v": 1})";
  const auto of = [&](const std::string& formula) { return wrong(text_of(formula, m, "{}", v)); };
  CHECK(of("(x @ up * v) @ down") == "");
  CHECK(
      of("up @ down") ==
      "formula: column 1: 'up' is a matrix [D, F]; it can stand to the right of @, in mean_all, and beside matrices of its shape and numbers");
  CHECK(of("x @ (up / mean_all(abs(up)) * 2 - stop(up)) @ down * mean(v)") == "");
  CHECK(of("x @ (up + v) @ down").find("'+': the left side ends in a matrix [D, F], the right side in F = 32") != std::string::npos);
  CHECK(of("x @ (up + down) @ down").find("'+': the left side ends in a matrix [D, F], the right side in a matrix [F, D]") !=
        std::string::npos);
  CHECK(of("x @ (up * mean(x)) @ down").find("'*': the left side ends in a matrix [D, F], the right side in 1") != std::string::npos);
  CHECK(of("x @ max(up, v) @ down").find("'max' of values that end in a matrix [D, F] and in F = 32") != std::string::npos);
  CHECK(of("x * mean_all(x @ up @ down)").find("mean_all is over a whole matrix, and this ends in D = 8; mean is") != std::string::npos);
  CHECK(of("softmax(up) @ down").find("column 9: 'up' is a matrix [D, F]") != std::string::npos);
  CHECK(of("x @ (2 * down)").find("'@': the left side ends in D = 8, '(2 * down)' [F, D] begins with 32") != std::string::npos);
  CHECK(of("x @ v") == "formula: column 3: 'v' is a vector [F]; the right operand of @ must be a matrix");
  CHECK(of("v @ down").find("the left side does not depend on x") != std::string::npos);
  CHECK(of("x @ up * v").find("the result ends in F = 32; it has to end in D = 8") != std::string::npos);
  CHECK(of("x * (x @ up)").find("'*': the left side ends in D = 8, the right side in F = 32") != std::string::npos);
  CHECK(of("x @ upp").find("nothing is called 'upp'; did you mean \"up\"?") != std::string::npos);
  CHECK(of("gelu(x, x)").find("gelu takes one value, got 2") != std::string::npos);
  CHECK(of("x[3:3]").find("[3:3] of a value that ends in D = 8") != std::string::npos);
  CHECK(of("x[0:F]").find("[0:32] of a value that ends in D = 8") != std::string::npos);
  CHECK(of("2").find("the result does not depend on x") != std::string::npos);
  CHECK(of("relu(2) * x").find("relu of a number alone") != std::string::npos);
  CHECK(of("(x @ up) @ down") == "parameters.v: the formula does not use it");
  std::vector<FormulaProblem> problems;
  compile_formula(text_of("x @ up * x @ up", m), 8, 32, "gelu", problems);
  CHECK(problems[0].message.find("put products in parentheses") != std::string::npos);
  CHECK(wrong(text_of("(x @ up) @ down", R"({"up": ["D", "F/3"], "down": ["F/3", "D"]})"))
            .find("the size \"F/3\" is 10.6667, which is not whole (D = 8, F = 32)") != std::string::npos);
  CHECK(wrong(text_of("x * s", R"({"s": ["D"]})")).find("say how it starts") != std::string::npos);
  CHECK(wrong(text_of("x * s", R"({"s": ["D"]})", "{}", R"({"other": 1, "s": 1})")) == "init.other: unknown parameter");
  CHECK(wrong(text_of("x * s", R"({"s": ["D"]})", "{}", R"({"s": {"normal": -1}})")).find("init.s: expected a number") == 0);
  CHECK(wrong(text_of("x * relu", R"({"relu": ["D"]})")).find("'relu' means something else") != std::string::npos);
  CHECK(wrong(text_of("h", "{}", R"({"h": "g * x", "g": "h + 1"})")).find("'h' is made of itself") != std::string::npos);
  CHECK(wrong(text_of("x", "{}", R"({"h": "x"})")) == "let.h: the formula does not use it");
  CHECK(wrong(text_of("x + a", R"({"a": [["D"]]})")).find("parameters.a: the size [\"D\"]") == 0);
  CHECK(wrong(text_of("x", R"({"a": []})")).find("parameters.a: expected one size for a vector or two for a matrix") == 0);
}

TEST_CASE("every formula with a name is right at any width, has a source and a size of its own") {
  for (const auto& row : named_formulas()) {
    INFO(row.name);
    CHECK(std::string(row.source) != "");
    for (const int d_model : {8, 12, 64}) {
      std::vector<FormulaProblem> problems;
      const auto graph = compile_formula(formula_text(row), d_model, 4 * d_model, "gelu", problems);
      for (const auto& problem : problems) INFO(problem.key << ": " << problem.message);
      CHECK(problems.empty());
      CHECK(graph.num_parameters() > 0);
    }
  }
}

TEST_CASE("named formulas have the published sizes at equal parameters") {
  // F / D at 8 D² parameters, biases and other vectors left out: reference table.
  const std::pair<const char*, double> published[] = {
      {"swiglu", 8.0 / 3}, {"squared_relu", 4}, {"two_hidden", 2},         {"three_hidden", 1.5616},
      {"maxout", 8.0 / 3}, {"solu", 4},         {"rwkv_channel_mix", 3.5}, {"low_rank", 7},
      {"shared_gate", 4},  {"xielu", 4},        {"bitnet", 8.0 / 3}};
  for (const auto& [name, expansion] : published) {
    INFO(name);
    const auto config =
        run_from(std::string(R"({"model": {"d_model": 1024, "ffn": {"kind": "formula", "match": "params", "name": ")") + name + "\"}}}");
    const auto& ffn = std::get<FormulaConfig>(config.model.ffn);
    CHECK(std::abs(static_cast<double>(ffn.hidden_width(1024)) / 1024 - expansion) < 0.01);
    CHECK(std::abs(ffn.mismatch) < 0.002);
  }
}

TEST_CASE("a matched formula is as near to the plain layer as its sizes allow") {
  const auto config = run_from(R"({"model": {"d_model": 16, "ffn": {"kind": "formula", "match": "params", "match_tolerance": 0.2,
      "formula": "phi(x @ a)[:F/4] @ d", "parameters": {"a": ["D", "F"], "d": ["F/4", "D"]}}}})");
  CHECK(std::get<FormulaConfig>(config.model.ffn).matched_width.value_or(0) % 4 == 0);
}

TEST_CASE("a name brings its formula, which the written config has, and the newer of the two counts") {
  const auto config = run_from(R"({"model": {"d_model": 8, "ffn": {"kind": "formula", "name": "normformer", "init": {"s": 0.5}}}})");
  const auto& text = std::get<FormulaConfig>(config.model.ffn).text;
  CHECK(text.formula == formula_called("normformer").formula);
  CHECK((*text.init)["s"] == 0.5);
  CHECK((*text.init)["t"] == 0);
  const auto written = resolved_json(config).dump();
  CHECK(run_identity(run_from(written)) == run_identity(config));

  auto document = parse_document(written, "x.json", "/configs");
  apply_override(document, "model.ffn.name=swiglu");
  const auto other = read_run_config(document, "x.json");
  CHECK(std::get<FormulaConfig>(other.model.ffn).text.formula == formula_called("swiglu").formula);
  CHECK(std::get<FormulaConfig>(other.model.ffn).text.init->empty());

  const auto labelled = run_from(
      R"({"model": {"d_model": 8, "ffn": {"kind": "formula", "name": "mine", "formula": "x @ a", "parameters": {"a": ["D", "D"]}}}})");
  CHECK(std::get<FormulaConfig>(labelled.model.ffn).text.name == "mine");
}

TEST_CASE("formulas of one's own come from a file, beside those that have a name") {
  const ScratchDirectory scratch;
  scratch.write("mine.json",
                R"({"cube": {"formula": "(h * h * h) @ d", "let": {"h": "x @ a"}, "parameters": {"a": ["D", "F"], "d": ["F", "D"]}},
                                 "odd": 3})");
  scratch.write("theirs.json", R"({"swiglu": {"formula": "x @ a", "parameters": {"a": ["D", "D"]}}})");
  const auto read = [&](const std::string& ffn) {
    return parse_document("{\"model\": {\"d_model\": 8, \"ffn\": {\"kind\": \"formula\", " + ffn + "}}}", "x.json", scratch / "");
  };
  const auto config = read_run_config(read(R"("formulas": "mine.json", "name": "cube")"), "x.json");
  const auto& text = std::get<FormulaConfig>(config.model.ffn).text;
  CHECK(text.formula == "(h * h * h) @ d");
  CHECK(text.file == "");
  CHECK_NOTHROW(read_run_config(read(R"("formulas": "mine.json", "name": "swiglu")"), "x.json"));
  const auto problems = [&](const std::string& ffn) { return problems_of([&] { read_run_config(read(ffn), "x.json"); }); };
  CHECK(problems(R"("formulas": "mine.json", "name": "cub")").find("no formula is called \"cub\"; did you mean \"cube\"?") !=
        std::string::npos);
  CHECK(problems(R"("formulas": "mine.json", "name": "odd")").find("is not a formula there") != std::string::npos);
  CHECK(problems(R"("formulas": "theirs.json", "name": "swiglu")").find("the name of a shipped formula") != std::string::npos);
  CHECK(problems(R"("formulas": "none.json", "name": "cube")").find("none.json") != std::string::npos);
}

TEST_CASE("keys that a formula gives no meaning are refused") {
  const auto problems = [](const std::string& ffn) {
    return problems_in("{\"model\": {\"d_model\": 8, \"ffn\": {\"kind\": \"formula\", " + ffn + "}}}");
  };
  CHECK(problems(R"("activation": "relu", "name": "swiglu")").find("/model/ffn/activation: the formula calls no phi(…)") !=
        std::string::npos);
  CHECK(problems(R"("activation": "relu", "name": "two_hidden")") == "");
  CHECK(problems(R"("dropout": 0.1, "name": "swiglu")").find("says nowhere dropout") != std::string::npos);
  CHECK(problems(R"("dropout": 0.1, "name": "positionwise")") == "");
  CHECK(problems(R"("name": "swiglu", "parameters": {"a": ["D"]})").find("brings its own parameters") != std::string::npos);
  CHECK(problems("\"expansion\": 2").find("a formula, or the name of one, is missing") != std::string::npos);
  CHECK(problems_in(R"({"model": {"d_model": 8, "ffn": {"kind": "moe", "gated": true, "expert": {"name": "swiglu"}}}})")
            .find("set either gated or expert, not both") != std::string::npos);
  CHECK(problems_in(R"({"model": {"d_model": 8, "ffn": {"kind": "moe", "dropout": 0.1, "expert": {"name": "swiglu"}}}})")
            .find("says nowhere dropout") != std::string::npos);
  CHECK(problems_in(R"({"model": {"d_model": 8, "ffn": {"kind": "moe", "dropout": 0.1, "expert": {"name": "positionwise"}}}})") == "");
}

TEST_CASE("of a name and a formula that are both typed the formula counts, under a name of its own") {
  const auto typed = [](const std::vector<std::string>& overrides) {
    auto document = parse_document(R"({"model": {"d_model": 8}})", "x.json", "/configs");
    apply_override(document, "model.ffn.kind=formula");
    for (const auto& override_text : overrides) apply_override(document, override_text);
    return read_run_config(document, "x.json");
  };
  const std::string formula = "model.ffn.formula=relu(x @ u) @ d",
                    parameters = R"(model.ffn.parameters={"u": ["D", "F"], "d": ["F", "D"]})";
  for (const auto& overrides :
       {std::vector<std::string>{formula, parameters, "model.ffn.name=mine"}, {"model.ffn.name=mine", formula, parameters}}) {
    const auto config = typed(overrides);
    CHECK(std::get<FormulaConfig>(config.model.ffn).text.formula == "relu(x @ u) @ d");
    CHECK(std::get<FormulaConfig>(config.model.ffn).text.name == "mine");
  }
  CHECK(problems_of([&] {
          typed({formula, parameters, "model.ffn.name=swiglu"});
        }).find("what another formula is called") != std::string::npos);
}

TEST_CASE("an idle activation or bias of experts is refused, and not written") {
  const auto problems = [](const std::string& more) {
    return problems_in(R"({"model": {"d_model": 8, "ffn": {"kind": "moe", "num_experts": 4, "expert": {"name": "swiglu"})" + more + "}}}");
  };
  CHECK(problems(R"(, "activation": "relu")").find("/model/ffn/activation: the formula calls no phi(…)") != std::string::npos);
  CHECK(problems(R"(, "bias": true)").find("the biases that their formula says") != std::string::npos);
  CHECK(problems("") == "");
  const auto config = run_from(
      R"({"model": {"d_model": 8, "ffn": {"kind": "moe", "num_experts": 4, "expert": {"name": "two_hidden"}, "activation": "silu"}}})");
  CHECK(resolved_json(config)["model"]["ffn"]["activation"] == "silu");
  CHECK(run_identity(run_from(resolved_json(config).dump())) == run_identity(config));
}

TEST_CASE("experts may be formulas, counted once for each") {
  const auto config = run_from(
      R"({"model": {"d_model": 8, "ffn": {"kind": "moe", "num_experts": 4, "top_k": 2, "d_ff": 16, "expert": {"name": "swiglu"}}}})");
  const Cost cost = ffn_cost(config.model.ffn, 8);
  CHECK(cost.parameters == 4 * 3 * 8 * 16 + 8 * 4);
  CHECK(cost.active_parameters == 2 * 3 * 8 * 16 + 8 * 4);
  CHECK(cost.flops == 2 * (2 * 3 * 8 * 16) + 2 * 8 * 4);
  const auto without = run_from(R"({"model": {"d_model": 8, "ffn": {"kind": "moe", "num_experts": 4, "top_k": 2, "d_ff": 16}}})");
  CHECK(run_identity(config) != run_identity(without));
}
