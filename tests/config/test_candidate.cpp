// A search's candidates: which are one function, which are not worth training, and which have a name.
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "ffn/formula/candidate.hpp"
#include "ffn/formula/formula.hpp"
#include "ffn/formula/named_formulas.hpp"
#include "helpers.hpp"

using namespace ffn;

namespace {

// "relu(up) * gate" over matrices a, b, c and scalars s, t.
CandidateFacts facts_of(const std::string& hidden) {
  FormulaText text;
  std::string formula;
  for (const char c : hidden) formula += c == 'A' ? "(x @ a)" : c == 'B' ? "(x @ b)" : c == 'C' ? "(x @ c)" : std::string(1, c);
  text.formula = "(" + formula + ") @ down";
  for (const char* name : {"a", "b", "c"}) (*text.parameters)[name] = Json::array({"D", "F"});
  for (const char* name : {"s", "t"}) (*text.parameters)[name] = Json::array({"F"});
  (*text.parameters)["down"] = Json::array({"F", "D"});
  const auto candidate = candidate_of(text, "");
  REQUIRE(candidate);
  return examine(*candidate);
}

}  // namespace

TEST_CASE("candidates that are one function up to algebra have one key") {
  const std::vector<std::vector<std::string>> equal{
      {"silu(A) * B", "B * silu(A)", "silu(B) * A", "silu(A) * (-B)", "3 * silu(A) * B", "silu(-A) * B"},
      {"relu(A) * relu(A)", "relu2(A)", "relu2(-A)", "0.5 * relu2(A)", "relu(A) * A"},
      {"A * A", "abs(A) * abs(A)"},
      {"relu(A) + B", "relu(A) - B", "B + relu(C)"},
      {"relu(s * A) + B", "s * relu(A) + B"},
      {"relu(A * B)", "relu(-(B * C))"}};
  std::set<std::string> keys;
  for (const auto& group : equal) {
    const auto first = facts_of(group[0]);
    for (const auto& hidden : group) {
      INFO(hidden);
      const auto facts = facts_of(hidden);
      CHECK(facts.problem == first.problem);
      if (group[0] != "relu(s * A) + B") CHECK(facts.key == first.key);
    }
    if (first.problem.empty()) CHECK(keys.insert(first.key).second);
  }
  for (const char* other : {"gelu(A) * B", "silu(A) * silu(B)", "silu(A) * A", "tanh(A)", "gelu(s * A) + B"})
    CHECK(keys.insert(facts_of(other).key).second);
}

TEST_CASE("candidates that say no more than a smaller one are known without training") {
  for (const char* linear : {"A", "A + B", "s * A", "2 * A - B"}) CHECK(facts_of(linear).problem == "linear");
  for (const char* redundant : {"relu(A + B)", "s * relu(A)", "gelu(s * A)", "s * A * B", "relu(A) + 0 * B", "silu(A + B) * (B + A)",
                                "s * A * A", "silu(s * A) * s", "silu(s * A) * A"}) {
    INFO(redundant);
    CHECK(facts_of(redundant).problem == "redundant");
  }
  for (const char* useful : {"silu(s * A) + A", "relu(A) + A * B", "silu(A + B) * B"}) {
    INFO(useful);
    CHECK(facts_of(useful).problem.empty());
  }
}

TEST_CASE("candidates of the catalogue have their names") {
  CHECK(facts_of("silu(A) * B").named == "swiglu");
  CHECK(facts_of("B * A").named == "bilinear");
  CHECK(facts_of("relu(A) * relu(A)").named == "relu2");
  CHECK(facts_of("A * relu(B)").named == "reglu");
  CHECK(facts_of("gelu(A)").named == "gelu");
  for (const char* gated : {"tanh(A) * B", "A * B", "B * relu(A) * A"}) CHECK(facts_of(gated).gated);
  for (const char* not_gated : {"tanh(A) + B", "relu(A) * relu(B)", "relu(A) * A", "relu(A) * (B + 1)"})
    CHECK_FALSE(facts_of(not_gated).gated);
  CHECK(facts_of("relu(A) + A * B").named.empty());
  for (const auto& row : named_formulas()) {
    const auto text = formula_text(row);
    const auto candidate = text.calls_phi() ? std::nullopt : candidate_of(text, "");
    if (!candidate) continue;
    const auto again = candidate_of(formula_of_candidate(*candidate), "");
    REQUIRE(again);
    CHECK(examine(*again).key == examine(*candidate).key);
    // β of Swish is a matter of the matrix's scale.
    const bool is_redundant = std::string(row.name) == "swish_beta" || std::string(row.name) == "shared_gate";
    CHECK(examine(*candidate).problem == (is_redundant ? "redundant" : ""));
    CHECK(examine(*candidate).named.empty() == is_redundant);
  }
}

TEST_CASE("whatever a mutation makes is a layer of its space") {
  const CandidateSpace space{{"relu", "silu", "tanh", "abs"}, 3, 1, 4, true};
  RandomStream random(1, 2);
  const auto small = small_candidates(space);
  std::set<std::string> keys;
  Candidate candidate = small[0];
  for (int i = 0; i < 400; ++i) {
    auto [next, words] = mutated(candidate, space, random);
    CHECK_FALSE(words.empty());
    const auto text = formula_of_candidate(next);
    std::vector<FormulaProblem> problems;
    const auto graph = compile_formula(text, 4, 8, "", problems);
    const auto again = candidate_of(text, "");
    REQUIRE(again);
    CHECK(expression_of(*again) == expression_of(next));
    const auto facts = examine(next);
    if (facts.problem.empty()) {
      INFO(text.formula);
      CHECK(problems.empty());
      keys.insert(facts.key);
    }
    candidate = i % 20 == 19 ? small[static_cast<std::size_t>(i) % small.size()] : std::move(next);
  }
  CHECK(keys.size() > 60);
  const Candidate deep =
      *candidate_of(formula_text(*std::find_if(named_formulas().begin(), named_formulas().end(),
                                               [](const NamedFormula& row) { return std::string(row.name) == "xielu"; })),
                    "");
  CHECK(mutated(deep, {{"relu"}, 1, 0, 1, false}, random).second.empty());
}
