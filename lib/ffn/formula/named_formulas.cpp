#include "ffn/formula/named_formulas.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace ffn {

// name, formula, parameters, let, init, source
const std::vector<NamedFormula>& named_formulas() {
  // clang-format off
  static const std::vector<NamedFormula> all{
      // built_in_formula() takes these two
      {"positionwise", "dropout(phi(x @ up.weight + up.bias)) @ down.weight + down.bias", "up.weight D F, up.bias F, down.weight F D, down.bias D", "", "",
       "Vaswani et al. 2017, eq. 2, arXiv:1706.03762; the built-in kind, written out"},
      {"gated", "dropout(phi(x @ gate.weight + gate.bias) * (x @ up.weight + up.bias)) @ down.weight + down.bias",
       "gate.weight D F, gate.bias F, up.weight D F, up.bias F, down.weight F D, down.bias D", "", "",
       "Shazeer 2020, eq. 5 and 6, arXiv:2002.05202, with biases; the built-in kind, written out"},
      {"glu", "(sigmoid(x @ gate) * (x @ up)) @ down", "gate D F, up D F, down F D", "", "", "Dauphin et al. 2017; Shazeer 2020, arXiv:2002.05202"},
      {"bilinear", "((x @ gate) * (x @ up)) @ down", "gate D F, up D F, down F D", "", "", "Shazeer 2020, arXiv:2002.05202"},
      {"reglu", "(relu(x @ gate) * (x @ up)) @ down", "gate D F, up D F, down F D", "", "", "Shazeer 2020, arXiv:2002.05202"},
      {"geglu", "(gelu(x @ gate) * (x @ up)) @ down", "gate D F, up D F, down F D", "", "", "Shazeer 2020, arXiv:2002.05202"},
      {"swiglu", "(silu(x @ gate) * (x @ up)) @ down", "gate D F, up D F, down F D", "", "", "Shazeer 2020, arXiv:2002.05202; LLaMA"},
      {"drelu", "(relu(x @ gate) * relu(x @ up)) @ down", "gate D F, up D F, down F D", "", "", "Song et al. 2024 (TurboSparse), arXiv:2406.05955"},
      {"gau", "(silu(x @ gate) * silu(x @ up)) @ down", "gate D F, up D F, down F D", "", "",
       "Hua et al. 2022 (FLASH), arXiv:2202.10447: the gated part, without its attention"},
      {"shared_gate", "(silu(s * h + t) * h) @ down", "up D F, s F, t F, down F D", "h = x @ up", "s = 1, t = 0", "one matrix for gate and value"},
      {"squared_relu", "(h * h) @ down", "up D F, down F D", "h = relu(x @ up)", "", "So et al. 2021 (Primer), arXiv:2109.08668"},
      {"top_k_relu", "top_k(relu(x @ up + b), 8) @ down + e", "up D F, b F, down F D, e D", "", "",
       "Makhzani & Frey 2013 (k-sparse autoencoders), arXiv:1312.5663, after ReLU; 8 units of each token stay"},
      {"normformer", "(layer_norm(gelu(x @ up + b)) * s + t) @ down + e", "up D F, b F, s F, t F, down F D, e D", "", "s = 1, t = 0",
       "Shleifer et al. 2021, arXiv:2110.09456"},
      {"sub_layer_norm", "(layer_norm(phi(x @ up + b)) * s + t) @ down + e", "up D F, b F, s F, t F, down F D, e D", "", "s = 1, t = 0",
       "Wang et al. 2022 (Magneto), arXiv:2210.06423, without its scale of the start"},
      {"inner_rms_norm", "(rms_norm(phi(x @ up + b)) * s) @ down + e", "up D F, b F, s F, down F D, e D", "", "s = 1",
       "the same with Zhang & Sennrich 2019, arXiv:1910.07467"},
      {"bitnet", "(rms_norm(z * z * (x @ up)) * s) @ down", "gate D F, up D F, s F, down F D", "z = relu(x @ gate)", "s = 1",
       "BitNet b1.58 2B4T, with weights in full precision"},
      {"swiglu_norm", "(rms_norm(silu(x @ gate) * (x @ up)) * s) @ down", "gate D F, up D F, s F, down F D", "", "s = 1",
       "SwiGLU with a norm before the map back"},
      {"swiglu_rms_up", "(silu(x @ gate) * rms_norm(x @ up)) @ down + b", "gate D F, up D F, down F D, b D", "", "", "SwiGLU with its value normalised"},
      {"maxout", "(q + relu(p - q)) @ down", "first D F, second D F, down F D", "p = x @ first; q = x @ second", "",
       "Goodfellow et al. 2013, arXiv:1302.4389: the larger of two"},
      {"bottleneck", "phi(x @ up + b) @ down + e", "up D D/4, b D/4, down D/4 D, e D", "", "", "Houlsby et al. 2019 (adapters), arXiv:1902.00751; F plays no part"},
      {"low_rank", "phi(x @ up1 @ up2) @ down1 @ down2", "up1 D D/2, up2 D/2 F, down1 F D/2, down2 D/2 D", "", "", "Wei et al. 2024, arXiv:2406.16450, rank D/2"},
      {"two_hidden", "phi(phi(x @ up) @ middle) @ down", "up D F, middle F F, down F D", "", "", "Gerber 2025, arXiv:2505.06633"},
      {"three_hidden", "phi(phi(phi(x @ up) @ middle1) @ middle2) @ down", "up D F, middle1 F F, middle2 F F, down F D", "", "",
       "Gerber 2025, arXiv:2505.06633"},
      {"poly_relu", "(w3 * h * h * h + w2 * h * h + w1 * h + w0) @ down", "up D F, w0 1, w1 1, w2 1, w3 1, down F D", "h = relu(x @ up)",
       "w0 = 0, w1 = 0.3333333333333333, w2 = 0.3333333333333333, w3 = 0.3333333333333333", "Zhuo et al. 2024 (PolyCom), arXiv:2411.03884"},
      {"poly_norm", "(w3 * rms_norm(h * h * h) + w2 * rms_norm(h * h) + w1 * rms_norm(h) + w0) @ down", "up D F, w0 1, w1 1, w2 1, w3 1, down F D", "h = x @ up",
       "w0 = 0, w1 = 0.3333333333333333, w2 = 0.3333333333333333, w3 = 0.3333333333333333", "Zhuo et al. 2024 (PolyCom), arXiv:2411.03884"},
      {"dynamic_tanh", "gelu((tanh(k * x) * s + t) @ up) @ down", "k 1, s D, t D, up D F, down F D", "", "k = 0.5, s = 1, t = 0",
       "Zhu et al. 2025 (DyT), arXiv:2503.10622: in place of the norm before the layer"},
      {"swish_beta", "(z * sigmoid(k * z)) @ down", "k 1, up D F, down F D", "z = x @ up", "k = 1", "Ramachandran et al. 2017, arXiv:1710.05941, with a trained β"},
      {"xielu", "(softplus(i) * p * p + 0.5 * z + (0.5 + softplus(j)) * (elu(q) - q)) @ down", "i 1, j 1, up D F, down F D",
       "z = x @ up; p = relu(z); q = z - p", "i = 0.203, j = -1.05", "Huang & Schlag 2024, arXiv:2411.13010"},
      {"gpt_oss", "(quick_gelu(z) * (relu(14 - relu(7 - (x @ up + c))) - 6)) @ down + e", "gate D F, b F, up D F, c F, down F D, e D",
       "z = 7 - relu(7 - (x @ gate + b))", "", "OpenAI 2025, gpt-oss: SwiGLU clamped to ±7, its value one more"},
      {"star", "((relu(z) - relu(z - 6)) * (x @ up + c)) @ down + e", "gate D F, b F, up D F, c F, down F D, e D", "z = x @ gate + b", "",
       "Ma et al. 2024 (StarNet), arXiv:2403.19967: the product with ReLU6, without its convolutions"},
      {"solu", "(layer_norm(z * softmax(z)) * s + t) @ down", "up D F, s F, t F, down F D", "z = x @ up", "s = 1, t = 0",
       "Elhage et al. 2022, Softmax Linear Units"},
      {"rwkv_channel_mix", "sigmoid(x @ gate) * ((h * h) @ down)", "gate D D, up D F, down F D", "h = relu(x @ up)", "",
       "Peng et al. 2023 (RWKV), arXiv:2305.13048, without its shift of tokens"},
  };
  // clang-format on
  return all;
}

namespace {

std::vector<std::string> split(const std::string& text, const std::string& separators) {
  std::vector<std::string> parts;
  std::string part;
  for (const char c : text + separators[0]) {
    if (separators.find(c) == std::string::npos) part += c;
    else if (!part.empty()) parts.push_back(std::exchange(part, ""));
  }
  return parts;
}

// "name = value" → both
std::pair<std::string, std::string> assignment(const std::string& text) {
  const auto equals = text.find(" = ");
  const auto begin = text.find_first_not_of(' ');
  return {text.substr(begin, equals - begin), text.substr(equals + 3)};
}

}  // namespace

FormulaText formula_text(const NamedFormula& row) {
  FormulaText text;
  text.name = row.name;
  text.formula = row.formula;
  for (const auto& parameter : split(row.parameters, ",")) {
    const auto words = split(parameter, " ");
    Json sizes = Json::array();
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (words[i] == "1") sizes.push_back(1);
      else sizes.push_back(words[i]);
    }
    (*text.parameters)[words[0]] = sizes;
  }
  for (const auto& let : split(row.let, ";")) {
    const auto [name, value] = assignment(let);
    (*text.let)[name] = value;
  }
  for (const auto& init : split(row.init, ",")) {
    const auto [name, value] = assignment(init);
    (*text.init)[name] = parse_json(value);
  }
  return text;
}

FormulaText built_in_formula(bool gated, bool bias) {
  FormulaText text = formula_text(named_formulas()[gated ? 1 : 0]);
  for (const char* part : {"gate", "up", "down"}) {
    const std::string name = std::string(part) + ".bias", sum = " + " + name;
    const auto at = text.formula.find(sum);
    if (bias || at == std::string::npos) continue;
    text.formula.erase(at, sum.size());
    text.parameters->erase(name);
  }
  return text;
}

std::string name_of_another(const std::string& name, const std::string& formula) {
  const auto without_blanks = [](std::string text) {
    text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
    return text;
  };
  const auto& rows = named_formulas();
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const NamedFormula& r) { return r.name == name; });
  if (row == rows.end() || without_blanks(row->formula) == without_blanks(formula)) return "";
  return "\"" + name + "\" is what another formula is called; choose a name of your own for this one";
}

}  // namespace ffn
