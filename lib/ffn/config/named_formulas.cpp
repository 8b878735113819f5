#include "ffn/config/named_formulas.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ffn/config/formula.hpp"
#include "ffn/core/files.hpp"
#include "ffn/core/suggest.hpp"

namespace ffn {

// name, formula, parameters, let, init, source
const std::vector<NamedFormula>& named_formulas() {
  // clang-format off
  static const std::vector<NamedFormula> all{
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
      {"normformer", "(layer_norm(gelu(x @ up + b)) * s + t) @ down + e", "up D F, b F, s F, t F, down F D, e D", "", "s = 1, t = 0",
       "Shleifer et al. 2021, arXiv:2110.09456"},
      {"sub_layer_norm", "(layer_norm(phi(x @ up + b)) * s + t) @ down + e", "up D F, b F, s F, t F, down F D, e D", "", "s = 1, t = 0",
       "Wang et al. 2022 (Magneto), arXiv:2210.06423, without its scale of the start"},
      {"inner_rms_norm", "(rms_norm(phi(x @ up + b)) * s) @ down + e", "up D F, b F, s F, down F D, e D", "", "s = 1",
       "the same with Zhang & Sennrich 2019, arXiv:1910.07467"},
      {"bitnet", "(rms_norm(z * z * (x @ up)) * s) @ down", "gate D F, up D F, s F, down F D", "z = relu(x @ gate)", "s = 1",
       "BitNet b1.58 2B4T, with weights in full precision"},
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

namespace {

// The keys that make a formula, beside its name.
constexpr const char* kMeaning[] = {"formula", "parameters", "let", "init", "epsilon"};
// And what a file of formulas says of each beside them.
constexpr const char* kSource = "source";

class Resolver {
 public:
  Resolver(Document& document, std::vector<Problem>& problems) : document_(document), problems_(problems) {}

  /// The formula at `pointer`, of the FFN at `outer`.
  void resolve(const std::string& pointer, const std::string& outer) {
    pointer_ = pointer;
    Json& layer = document_.tree()[Json::json_pointer(pointer)];
    resolve_name(layer);
    refuse_idle_keys(layer, outer);
  }

 private:
  // A key that changes nothing would be compared as if it did: refused where it is newer than the formula, else forgotten. In a
  // mixture such keys stand one level above the experts' formula.
  void refuse_idle_keys(const Json& layer, const std::string& outer) {
    if (!is_text(layer, "formula")) return;
    FormulaText text;
    text.formula = layer["formula"].get<std::string>();
    if (layer.contains("let") && layer["let"].is_object()) text.let = layer["let"];
    Json& holder = document_.tree()[Json::json_pointer(outer)];
    const int of_formula = std::max(age("formula"), age("name"));
    const auto refuse = [&](const char* key, const char* why) {
      if (!holder.contains(key)) return;
      const std::string pointer = outer + "/" + key;
      if (document_.origin(pointer).layer >= std::max(of_formula, document_.origin(outer + "/kind").layer))
        problems_.push_back({document_.origin(pointer).text(), pointer, why});
      holder.erase(key);
    };
    if (!text.calls_phi()) refuse("activation", "the formula calls no phi(…), so the activation would change nothing");
    if (outer != pointer_) refuse("bias", "experts that are formulas have the biases that their formula says");
  }

  void resolve_name(Json& layer) {
    if (!is_text(layer, "name")) return;
    const bool has_formula = is_text(layer, "formula");
    // Of a name and a formula the newer counts; of one file, or both on the command line, the formula does, and the name is its label.
    const bool both_typed = has_formula && document_.origin(pointer_ + "/formula").line == 0 && document_.origin(pointer_ + "/name").line == 0;
    if (has_formula && (both_typed || age("formula") >= age("name"))) {
      if (document_.origin(pointer_ + "/formula").line == 0) refuse_name_of_another(layer);
      return forget_file(layer);
    }
    const std::string name = layer["name"].get<std::string>();
    const Json meaning = find(layer, name);
    if (meaning.is_null()) return;
    Json own_starts = Json::object();
    for (const char* key : kMeaning) {
      if (!layer.contains(key) || age(key) < age("name")) continue;
      if (std::string(key) == "init" && layer[key].is_object()) own_starts = layer[key];
      else if (std::string(key) != "epsilon") problem(key, std::string("the name ") + shortened(layer["name"]) + " brings its own " + key + "; leave this out, or give a formula");
    }
    const Origin origin = document_.origin(pointer_ + "/name");
    for (const char* key : kMeaning) {
      const bool own = std::string(key) == "epsilon" && layer.contains(key) && age(key) >= age("name");
      if (own) continue;
      layer.erase(key);
      if (!meaning.contains(key)) continue;
      layer[key] = meaning[key];
      document_.set_origin(pointer_ + "/" + key, origin);
    }
    if (!own_starts.empty()) layer["init"].update(own_starts);
    forget_file(layer);
  }

  void refuse_name_of_another(const Json& layer) {
    const auto clash = name_of_another(layer["name"].get<std::string>(), layer["formula"].get<std::string>());
    if (!clash.empty()) problem("name", clash);
  }

  static bool is_text(const Json& layer, const char* key) { return layer.contains(key) && layer[key].is_string() && !layer[key].get<std::string>().empty(); }

  int age(const std::string& key) const { return document_.origin(pointer_ + "/" + key).layer; }
  void problem(const std::string& key, const std::string& message) {
    problems_.push_back({document_.origin(pointer_ + "/" + key).text(), pointer_ + "/" + key, message});
  }
  // The formula stands in the config from now on.
  static void forget_file(Json& layer) { layer.erase("formulas"); }

  // What the name stands for, or null if that has been said to be nothing.
  Json find(const Json& layer, const std::string& name) {
    std::vector<std::string> names;
    if (is_text(layer, "formulas")) {
      const Json own = file(layer["formulas"].get<std::string>());
      if (own.is_null()) return nullptr;
      for (const auto& item : own.items()) {
        names.push_back(item.key());
        for (const auto& row : named_formulas()) {
          if (item.key() != row.name) continue;
          problem("formulas", "\"" + item.key() + "\" there is the name of a shipped formula; choose another");
          return nullptr;
        }
      }
      if (own.contains(name)) {
        if (own[name].is_object() && own[name].contains("formula")) return own[name];
        problem("formulas", "\"" + name + "\" there is no formula; expected {\"formula\": …, \"parameters\": …}, got " + shortened(own[name]));
        return nullptr;
      }
    }
    for (const auto& row : named_formulas()) {
      names.push_back(row.name);
      if (name != row.name) continue;
      const auto text = formula_text(row);
      return {{"formula", text.formula}, {"parameters", *text.parameters}, {"let", *text.let}, {"init", *text.init}};
    }
    problem("name", "no formula is called " + shortened(Json(name)) + did_you_mean(name, names) + "; `ffn-train list ffns` shows them");
    return nullptr;
  }

  Json file(const std::string& typed) {
    const Origin& origin = document_.origin(pointer_ + "/formulas");
    std::filesystem::path path = expand_home(typed);
    if (path.is_relative() && !origin.directory.empty()) path = std::filesystem::path(origin.directory) / path;
    std::error_code reason;
    const auto status = std::filesystem::status(path, reason);
    if (std::filesystem::is_directory(status)) {
      problem("formulas", path.lexically_normal().string() + " is a directory, not a file of formulas");
      return nullptr;
    }
    if (status.type() == std::filesystem::file_type::not_found) {
      problem("formulas", "no file of formulas at " + path.lexically_normal().string() + "; check the path: relative ones start at " +
                              (origin.directory.empty() ? "the current directory" : "the directory of the config that names them, " + origin.directory));
      return nullptr;
    }
    if (!std::filesystem::is_regular_file(status)) {
      problem("formulas", path.lexically_normal().string() + " is a pipe or a device; a file of formulas has to be a regular file");
      return nullptr;
    }
    try {
      const Document file = load_document(path.lexically_normal().string());
      return has_unknown_keys(file) ? Json() : file.tree();
    } catch (const ConfigError& error) {
      for (const auto& each : error.problems()) problem("formulas", each.text());
    } catch (const Error& error) {
      problem("formulas", error.what());
    }
    return nullptr;
  }

  // Sizes, biases and dropout are the config's, not the formula's: here they would change nothing.
  bool has_unknown_keys(const Document& file) {
    std::vector<std::string> known(std::begin(kMeaning), std::end(kMeaning));
    known.emplace_back(kSource);
    const auto before = problems_.size();
    for (const auto& formula : file.tree().items()) {
      if (!formula.value().is_object()) continue;
      for (const auto& item : formula.value().items()) {
        if (std::find(known.begin(), known.end(), item.key()) != known.end()) continue;
        const std::string pointer = "/" + escape_pointer(formula.key()) + "/" + escape_pointer(item.key());
        problems_.push_back({file.origin(pointer).text(), pointer, "unknown key " + shortened(item.key()) + did_you_mean(item.key(), known) + "; known: " + join(known)});
      }
    }
    return problems_.size() > before;
  }

  Document& document_;
  std::vector<Problem>& problems_;
  std::string pointer_;
};

}  // namespace

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

void resolve_formula_names(Document& document, std::vector<Problem>& problems) {
  const auto is_object = [&](const char* pointer) {
    const Json::json_pointer at(pointer);
    return document.tree().contains(at) && document.tree()[at].is_object();
  };
  if (!is_object("/model/ffn")) return;
  const Json& kind = document.tree()["model"]["ffn"].value("kind", Json());
  if (kind == FormulaConfig::kKind) Resolver(document, problems).resolve("/model/ffn", "/model/ffn");
  if (kind == MoeConfig::kKind && is_object("/model/ffn/expert")) Resolver(document, problems).resolve("/model/ffn/expert", "/model/ffn");
}

void require_formula(FieldVisitor& v, const ModelConfig& model) {
  const FormulaText* found = formula_of(model.ffn);
  if (!found) return;
  const FormulaText& text = *found;
  const bool in_experts = std::holds_alternative<MoeConfig>(model.ffn);
  const std::string place = in_experts ? "ffn.expert." : "ffn.";
  const FfnSize& size = *size_of(model.ffn);
  if (text.formula.empty()) {
    v.require(false, (place + "formula").c_str(), "a formula, or the name of one, is missing; `ffn-train list ffns` shows those that have a name", {(place + "name").c_str()});
    return;
  }
  std::vector<FormulaProblem> problems;
  const auto graph = compile_formula(text, model.d_model, size.hidden_width(model.d_model), size.activation, problems);
  for (const auto& problem : problems) v.require(false, (place + problem.key).c_str(), problem.message, {"d_model", "ffn.d_ff", "ffn.expansion", "ffn.activation"});
  if (!problems.empty()) return;
  v.require(
      size.dropout == 0 || graph.drops(), "ffn.dropout",
      "the formula says nowhere dropout(…), so nothing would be dropped; set model.ffn.dropout=0, or write dropout(…) into the formula");
}

}  // namespace ffn
