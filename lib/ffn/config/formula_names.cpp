#include "ffn/config/formula_names.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ffn/base/files.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/base/text.hpp"
#include "ffn/config/trained_activation.hpp"
#include "ffn/formula/activation_formula.hpp"
#include "ffn/formula/formula.hpp"
#include "ffn/formula/named_formulas.hpp"

namespace ffn {

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
    const auto of_formula = std::max(age("formula"), age("name"));
    const auto refuse = [&](const char* key, const char* why) {
      if (!holder.contains(key)) return;
      const std::string pointer = outer + "/" + key;
      if (document_.origin(pointer).layer >= std::max(of_formula, document_.origin(outer + "/kind").layer))
        problems_.push_back({document_.origin(pointer).text(), pointer, why});
      holder.erase(key);
    };
    for (const char* key : {"activation", "activation_parameters"}) {
      if (!text.calls_phi()) refuse(key, "the formula calls no phi(…), so the activation would change nothing");
    }
    if (outer != pointer_) refuse("bias", "experts that are formulas have the biases that their formula says");
  }

  void resolve_name(Json& layer) {
    if (!is_text(layer, "name")) return;
    const bool has_formula = is_text(layer, "formula");
    // The newer of name and formula wins. Within one file or one command the formula wins, and the name is its label.
    const bool both_typed =
        has_formula && document_.origin(pointer_ + "/formula").line == 0 && document_.origin(pointer_ + "/name").line == 0;
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
      else if (std::string(key) != "epsilon")
        problem(key,
                std::string("the name ") + shortened(layer["name"]) + " brings its own " + key + "; leave this out, or give a formula");
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

  static bool is_text(const Json& layer, const char* key) {
    return layer.contains(key) && layer[key].is_string() && !layer[key].get<std::string>().empty();
  }

  std::int64_t age(const std::string& key) const { return document_.origin(pointer_ + "/" + key).layer; }
  void problem(const std::string& key, const std::string& message) {
    problems_.push_back({document_.origin(pointer_ + "/" + key).text(), pointer_ + "/" + key, message});
  }
  // The formula stands in the config from now on.
  static void forget_file(Json& layer) { layer.erase("formulas"); }

  // The formula of that name; null where a problem was reported.
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
        problem("formulas",
                "\"" + name + "\" is not a formula there; expected {\"formula\": …, \"parameters\": …}, got " + shortened(own[name]));
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
    std::error_code ignored;
    const auto type = std::filesystem::status(path, ignored).type();
    if (type != std::filesystem::file_type::regular) {
      const std::string name = path.lexically_normal().string();
      problem("formulas", type == std::filesystem::file_type::not_found
                              ? "no file of formulas at " + name + "; a relative path starts at the directory of the config that names it"
                              : name + ": a file of formulas has to be a regular file");
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
        problems_.push_back({file.origin(pointer).text(), pointer,
                             "unknown key " + shortened(item.key()) + did_you_mean(item.key(), known) + "; known: " + join(known)});
      }
    }
    return problems_.size() > before;
  }

  Document& document_;
  std::vector<Problem>& problems_;
  std::string pointer_;
};

}  // namespace

void resolve_formula_names(Document& document, std::vector<Problem>& problems) {
  const auto is_object = [&](const char* pointer) {
    const Json::json_pointer at(pointer);
    return document.tree().contains(at) && document.tree()[at].is_object();
  };
  if (!is_object("/model/ffn")) return;
  const Json& kind = document.tree()["model"]["ffn"].value("kind", Json());
  if (kind == FormulaConfig::kKind) Resolver(document, problems).resolve("/model/ffn", "/model/ffn");
  if (kind == MoeConfig::kKind && is_object("/model/ffn/expert")) Resolver(document, problems).resolve("/model/ffn/expert", "/model/ffn");
  write_out_trained_activation(document, "/model/ffn", problems);
}

void require_formula(FieldVisitor& v, const ModelConfig& model) {
  const FormulaText* found = formula_of(model.ffn);
  if (!found) return;
  const FormulaText& text = *found;
  const bool in_experts = std::holds_alternative<MoeConfig>(model.ffn);
  const std::string place = in_experts ? "ffn.expert." : "ffn.";
  const FfnSize& size = *size_of(model.ffn);
  if (text.formula.empty()) {
    v.require(false, (place + "formula").c_str(),
              "a formula, or the name of one, is missing; `ffn-train list ffns` shows those that have a name", {(place + "name").c_str()});
    return;
  }
  if (!activation_problem(size.activation).empty()) return;  // said where it stands
  std::vector<FormulaProblem> problems;
  auto graph = compile_formula(text, model.d_model, size.hidden_width(model.d_model), size.activation, problems);
  FfnSize own = size;
  for (const auto& expansion : *model.block_expansion) {
    if (!problems.empty() || !expansion.is_number() || !(expansion.get<double>() > 0)) continue;
    own.expansion = expansion.get<double>();
    graph = compile_formula(text, model.d_model, own.hidden_width(model.d_model), size.activation, problems);
  }
  for (const auto& problem : problems)
    v.require(false, (place + problem.key).c_str(), problem.message,
              {"d_model", "ffn.d_ff", "ffn.expansion", "ffn.activation", "block_expansion"});
  if (!problems.empty()) return;
  v.require(
      size.dropout == 0 || graph.drops(), "ffn.dropout",
      "the formula says nowhere dropout(…), so nothing would be dropped; set model.ffn.dropout=0, or write dropout(…) into the formula");
}

}  // namespace ffn
