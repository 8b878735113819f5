#include "ffn/config/named_tasks.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ffn/base/suggest.hpp"
#include "ffn/base/text.hpp"

namespace ffn {

namespace {

constexpr const char* kSequence = SequenceConfig::kKind;

// The row of a name; the problem where there is none.
const NamedTask* row_of(const std::string& name, const char* kind, std::string& problem) {
  std::vector<std::string> names;
  for (const auto& row : named_tasks()) {
    if (row.kind != std::string(kind)) continue;
    if (row.name == name) return &row;
    names.emplace_back(row.name);
  }
  problem = "no task has this name" + did_you_mean(name, names) + "; known: " + join(names);
  return nullptr;
}

std::string other_task(const std::string& name, const std::string& keys) {
  return "\"" + name + "\" is what another task is called; leave out the name, or " + keys;
}

}  // namespace

// name, keys, known ceilings, source
const std::vector<NamedTask>& named_tasks() {
  // clang-format off
  static const std::vector<NamedTask> all{
      {"sparse_parity", R"json({"inputs": {"x": {"bit": 30}}, "label": "parity(x[0:3])"})json",
       "chance 50 %, and a linear model that minimises cross-entropy (no threshold of the bits gets more than 75 %)",
       "Barak et al. 2022, arXiv:2207.08799; the bits that count are the first three"},
      {"majority", R"json({"inputs": {"x": {"bit": 9}}, "label": "sum(x) > 4"})json",
       "a linear model gets all", "the control of sparse_parity"},
      {"modular", R"json({"inputs": {"a": {"integer": 31}, "b": {"integer": 31}}, "label": "(a + b) % 31"})json",
       "chance 3.2 %; with held_out and weight decay it is learned late (grokking)",
       "Power et al. 2022, arXiv:2201.02177; Gromov 2023, arXiv:2301.02679"},
      {"clusters", R"json({"inputs": {"c": {"integer": 4}, "u": {"normal": [0, 1], "size": 16}}, "features": "concat(2 * (c == 0), 2 * (c == 1), 2 * (c == 2), 2 * (c == 3), u)", "label": "where(c == 0, u[0], where(c == 1, u[1], where(c == 2, u[2], u[3]))) > 0", "group": "c"})json",
       "chance 50 %, a linear model at most 66.7 % (1/2 + asin(1/2)/π), four linear experts all",
       "after Chen et al. 2022, arXiv:2208.02813: each cluster has a direction of its own"},
      {"circle", R"json({"inputs": {"c": "bit", "r": {"uniform": [0, 1]}, "a": {"uniform": [0, 6.283185307179586]}}, "features": "concat(where(c, 2.5 * r, 3.5 + 1.5 * r) * cos(a), where(c, 2.5 * r, 3.5 + 1.5 * r) * sin(a))", "label": "c"})json",
       "a linear model that minimises cross-entropy about 50 %, the best line 66 %", "TensorFlow Playground: a disc within a ring"},
      {"quadrants", R"json({"inputs": {"p": {"uniform": [-5, 5], "size": 2}}, "features": "p + where(p > 0, 0.3, -0.3)", "label": "p[0] * p[1] > 0"})json",
       "a linear model that minimises cross-entropy about 50 %, the best line 69 %", "TensorFlow Playground, \"exclusive or\""},
      {"spiral", R"json({"inputs": {"c": "bit", "t": {"uniform": [0, 1]}}, "features": "concat(5 * t * sin(3.5 * pi * t + pi * c), 5 * t * cos(3.5 * pi * t + pi * c))", "label": "c"})json",
       "a linear model about 60 %", "TensorFlow Playground, without its noise (jitter)"},
      {"gauss", R"json({"inputs": {"c": "bit", "e": {"normal": [0, 2], "size": 2}}, "features": "e + where(c, 2, -2)", "label": "c"})json",
       "at most 92.1 % (Bayes), which a linear model gets", "TensorFlow Playground at half of its noise"},
      {"moons", R"json({"inputs": {"c": "bit", "t": {"uniform": [0, 3.141592653589793]}, "e": {"normal": [0, 0.2], "size": 2}}, "features": "concat(where(c, 1 - cos(t), cos(t)), where(c, 0.5 - sin(t), sin(t))) + e", "label": "c"})json",
       "a linear model about 87 %", "scikit-learn's make_moons with noise 0.2"},
      {"sine", R"json({"inputs": {"x": {"uniform": [-1, 1]}}, "target": "sin(2 * pi * x)"})json",
       "ReLU makes straight pieces, one more than it has units", "a number from a number"},
      {"plane", R"json({"inputs": {"x": {"uniform": [-6, 6], "size": 2}}, "target": "(x[0] + x[1]) / 10"})json",
       "a linear model gets all", "TensorFlow Playground, regression"},
      {"product", R"json({"inputs": {"x": {"uniform": [-1, 1], "size": 2}}, "target": "x[0] * x[1]"})json",
       "val/r2 of a linear model 0; one gated unit without activation gets all", "what gating computes"},
      {"sequence_xor", R"json({"label": "s[t-1] ^ s[t-2]"})json",
       "of bits: chance, and a feed-forward layer alone, 50 %; attention by position without one at most 75 %",
       "the labels of the kind sequence_xor", kSequence},
      {"copy", R"json({"label": "s[t - length / 2]"})json",
       "chance 1 / alphabet; attention gets all, without a feed-forward layer",
       "Grefenstette et al. 2015, arXiv:1506.02516; the second half asks for the first", kSequence},
      {"reverse", R"json({"label": "s[length - 1 - t]", "scored": "t >= length / 2"})json",
       "chance 1 / alphabet; attention gets all, without a feed-forward layer",
       "Grefenstette et al. 2015, arXiv:1506.02516; the second half asks for the first, backwards", kSequence},
      {"sort", R"json({"label": "nth_smallest(s[0:length / 2], t - length / 2)"})json",
       "chance 1 / alphabet, by position alone more, since small ones come first (37 % with 8 tokens in 12 positions); attention gets "
       "nearly all, without a feed-forward layer",
       "the second half asks for the first in ascending order", kSequence},
      {"induction", R"json({"label": "after_last(s, t)"})json",
       "chance, and a feed-forward layer alone, 1 / alphabet in long sequences, more in short ones, where it repeats the token (16 % with "
       "8 tokens in 32 positions); attention in two blocks gets all",
       "Olsson et al. 2022, arXiv:2209.11895: what followed this token when it was last seen; scored from its second time on", kSequence},
      {"recall", R"json({"tokens": "where(t % 2 == 0, r[t] % floor(alphabet / 2), floor(alphabet / 2) + floor(r[r[t-1] % floor(alphabet / 2) % length] / 4096) % floor(alphabet / 2))", "label": "after_last(s, t)", "scored": "t % 2 == 0"})json",
       "chance, and a feed-forward layer alone, 1 in alphabet/2; attention in two blocks gets all",
       "multi-query recall, after Poli et al. 2024, arXiv:2403.17844, and Arora et al. 2023, arXiv:2312.04927: keys, each followed by its "
       "value in this sequence; scored where a key is seen again", kSequence},
      {"memorization", R"json({"tokens": "where(t % 2 == 0, r[t] % floor((alphabet - 1) / 2), alphabet - 1)", "label": "floor((alphabet - 1) / 2) + f[s[t-1]] % floor(alphabet / 2)", "scored": "t % 2 == 1"})json",
       "chance 1 in alphabet/2; a feed-forward layer alone, which sees no key, knows the most frequent value: with few keys more (34 % at "
       "alphabet 16, 20 % at 32, 11 % at 64); attention with a feed-forward layer gets all",
       "Poli et al. 2024, arXiv:2403.17844 (MAD): keys, each followed by the last token, which asks for the key's value; the values are "
       "drawn once per run. There 256 training sequences leave keys unseen (1.8 % with 2,048 tokens, 13.5 % with 4,096), as facts with "
       "draws do; here every batch is new", kSequence},
  };
  // clang-format on
  return all;
}

bool is_named_task(const std::string& name) {
  return std::any_of(named_tasks().begin(), named_tasks().end(), [&](const NamedTask& row) { return row.name == name; });
}

std::string resolve_task_name(FunctionConfig& config) {
  if (config.name.empty()) return "";
  const bool has_formula = !config.label.empty() || !config.target.empty();
  std::string problem;
  const NamedTask* row = row_of(config.name, FunctionConfig::kKind, problem);
  if (!row) return has_formula ? "" : problem;
  const Json keys = parse_json(row->keys);
  FunctionConfig meant;
  *meant.inputs = keys.at("inputs");
  meant.features = keys.value("features", "");
  meant.label = keys.value("label", "");
  meant.target = keys.value("target", "");
  const bool is_same =
      *config.inputs == *meant.inputs && config.features == meant.features && config.label == meant.label && config.target == meant.target;
  if ((has_formula || !config.inputs->empty() || !config.features.empty()) && !is_same)
    return other_task(config.name, "inputs, features, label and target");
  config.inputs = meant.inputs;
  config.features = meant.features;
  if (config.group.empty()) config.group = keys.value("group", "");
  config.label = meant.label;
  config.target = meant.target;
  return "";
}

std::string resolve_task_name(SequenceConfig& config) {
  if (config.name.empty()) return "";
  const bool has_formula = !config.tokens.empty() || !config.label.empty() || !config.scored.empty();
  std::string problem;
  const NamedTask* row = row_of(config.name, kSequence, problem);
  if (!row) return has_formula ? "" : problem;
  const Json keys = parse_json(row->keys);
  const std::string tokens = keys.value("tokens", ""), label = keys.at("label"), scored = keys.value("scored", "");
  if (has_formula && (config.tokens != tokens || config.label != label || config.scored != scored))
    return other_task(config.name, "tokens, label and scored");
  config.tokens = tokens;
  config.label = label;
  config.scored = scored;
  return "";
}

}  // namespace ffn
