#include "ffn/config/trained_activation.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "ffn/config/model_config.hpp"
#include "ffn/formula/activation_formula.hpp"
#include "ffn/formula/formula_syntax.hpp"
#include "ffn/formula/named_formulas.hpp"

namespace ffn {

namespace {

void collect_names(const Syntax& tree, std::vector<std::string>& names) {
  if (tree.kind == Syntax::Kind::name) names.push_back(tree.text);
  for (const auto& part : tree.parts) collect_names(part, names);
}

bool contains(const std::vector<std::string>& all, const std::string& name) { return std::find(all.begin(), all.end(), name) != all.end(); }

// A name stands for its formula.
std::string formula_of_activation(const std::string& activation) {
  for (const auto& row : trained_activations()) {
    if (row.name == activation) return row.formula;
  }
  return activation;
}

/// A trained activation as the config gives it.
struct Given {
  std::string formula;
  Syntax tree;
  Json sizes = Json::object(), starts = Json::object();
};

// The layer's texts with phi(…) written out.
class Writer {
 public:
  Writer(Json& layer, const Given& given) : layer_(layer), given_(given) {
    for (const Json* names : std::initializer_list<const Json*>{&layer["parameters"], &layer["let"], &given.sizes}) {
      for (const auto& item : names->items()) taken_.push_back(item.key());
    }
  }

  void write() {
    Json& lets = layer_["let"];
    for (auto& let : lets) let = written(let);
    layer_["formula"] = written(layer_["formula"]);
    for (const auto& [argument, name] : arguments_) lets[name] = argument;
  }

 private:
  // Text that does not parse stays, to be reported where it stands.
  Json written(const Json& text) {
    if (!text.is_string()) return text;
    const auto source = text.get<std::string>();
    const auto parsed = parse_formula(source);
    return parsed.tree ? written(source, *parsed.tree) : source;
  }

  std::string written(const std::string& source, const Syntax& tree) {
    std::string out;
    std::size_t at = tree.begin;
    replace(source, tree, at, out);
    return out + source.substr(at, tree.end - at);
  }

  // Copies `source` from `at` on, up to the end of the last phi(…) in `tree`.
  void replace(const std::string& source, const Syntax& tree, std::size_t& at, std::string& out) {
    if (tree.kind == Syntax::Kind::call && tree.text == "phi" && tree.parts.size() == 1) {
      out += source.substr(at, tree.begin - at) + of_z(name_of(written(source, tree.parts[0])));
      at = tree.end;
      return;
    }
    for (const auto& part : tree.parts) replace(source, part, at, out);
  }

  // The activation of the value `z`.
  std::string of_z(const std::string& z) const {
    std::string out = "(";
    std::size_t at = 0;
    put_z(given_.tree, z, at, out);
    return out + given_.formula.substr(at) + ")";
  }
  void put_z(const Syntax& tree, const std::string& z, std::size_t& at, std::string& out) const {
    if (tree.kind == Syntax::Kind::name && tree.text == "z") {
      out += given_.formula.substr(at, tree.begin - at) + z;
      at = tree.end;
    }
    for (const auto& part : tree.parts) put_z(part, z, at, out);
  }

  std::string name_of(const std::string& argument) {
    if (const auto known = arguments_.find(argument); known != arguments_.end()) return known->second;
    std::string name = "z";
    for (int i = 2; contains(taken_, name); ++i) name = "z" + std::to_string(i);
    taken_.push_back(name);
    return arguments_[argument] = name;
  }

  Json& layer_;
  const Given& given_;
  std::vector<std::string> taken_;
  std::map<std::string, std::string> arguments_;  // of phi → the intermediate value that has it
};

class WriteOut {
 public:
  WriteOut(Document& document, std::string outer, std::vector<Problem>& problems)
      : document_(document), outer_(std::move(outer)), problems_(problems), ffn_(document.tree()[Json::json_pointer(outer_)]) {}

  void run() {
    const Json named = ffn_.value("kind", Json(PositionwiseConfig::kKind));
    const std::string kind = named.is_string() ? named.get<std::string>() : NoFfnConfig::kKind;  // an error, said where it is read
    for (const char* without : {NoFfnConfig::kKind, PkmConfig::kKind, PeerConfig::kKind}) {
      if (kind == without) return;
    }
    const Json activation = ffn_.value("activation", Json(FfnSize{}.activation));
    const Json parameters = ffn_.value("activation_parameters", Json::object());
    if (!activation.is_string() || !parameters.is_object()) return;  // said where it is read
    Given given;
    const bool is_trained = read(activation, parameters, given);
    ffn_.erase("activation_parameters");
    if (!is_trained) return;
    ffn_.erase("activation");  // before references into it are taken
    if (kind == Conv1x1Config::kKind)
      return problem("activation", "a convolution takes no activation with trained parameters; kind positionwise is the same function");
    const Origin origin = document_.origin(outer_ + "/activation");
    Json written_from{{"activation", activation}};
    if (!parameters.empty()) written_from["activation_parameters"] = parameters;
    Json& layer = layer_of(kind, written_from);
    if (!layer.contains("formula")) return;  // said where it is read
    for (const char* key : {"parameters", "let", "init"}) {
      if (!layer.contains(key)) layer[key] = Json::object();
      if (!layer[key].is_object()) return;  // likewise
    }
    for (const auto& item : given.sizes.items()) {
      if (layer["parameters"].contains(item.key()) || layer["let"].contains(item.key()))
        return problem("activation_parameters", "the layer has a value called '" + item.key() + "', too; choose another name");
    }
    Writer(layer, given).write();
    layer["parameters"].update(given.sizes);
    layer["init"].update(given.starts);
    layer["written_from"] = std::move(written_from);
    for (const char* key : {"formula", "let", "parameters", "init"}) document_.set_origin(outer_ + "/" + key, origin);
  }

 private:
  void problem(const std::string& key, const std::string& message) {
    problems_.push_back({document_.origin(outer_ + "/" + key).text(), outer_ + "/" + key, message});
  }

  // Whether there is anything to train; problems are said.
  bool read(const std::string& activation, Json parameters, Given& given) {
    given.formula = formula_of_activation(activation);
    for (const auto& row : trained_activations()) {
      if (row.name != activation) continue;
      Json starts{{row.parameter, row.start}};
      starts.update(parameters);
      parameters = std::move(starts);
    }
    if (parameters.empty()) return false;
    std::vector<std::string> names;
    for (const auto& item : parameters.items()) names.push_back(item.key());
    const auto known = names_in_activation(activation);
    const auto parsed = parse_formula(given.formula);
    for (const auto& name : names) {
      if (contains(known, name)) continue;
      // Older parameters belonged to the activation that this one replaces.
      const auto age = [&](const std::string& key) { return document_.origin(outer_ + "/" + key).layer; };
      if (age("activation") <= age("activation_parameters/" + escape_pointer(name)))
        problem("activation_parameters",
                "the activation " + shortened(Json(activation)) + " has no parameter '" + name + "'; leave it out");
      parameters.erase(name);
    }
    if (parameters.empty() || !parsed.tree || !activation_problem(given.formula, names).empty()) return false;  // said where it is read
    given.tree = *parsed.tree;
    for (const auto& item : parameters.items()) {
      const bool has_size = item.value().is_object() && item.value().contains("size");
      if (has_size && (item.value().size() != 2 || !item.value().contains("start"))) {
        problem("activation_parameters", "'" + item.key() +
                                             "': expected a number, or {\"start\": number, \"size\": \"F\"} for one per unit, got " +
                                             shortened(item.value()));
        return false;
      }
      given.sizes[item.key()] = Json::array({has_size ? item.value()["size"] : Json(1)});
      given.starts[item.key()] = has_size ? item.value()["start"] : item.value();
    }
    return true;
  }

  // The formula's place; of a built-in kind its formula is put there.
  Json& layer_of(const std::string& kind, Json& written_from) {
    if (kind == FormulaConfig::kKind) return without_name(ffn_);
    const bool is_mixture = kind == MoeConfig::kKind;
    if (is_mixture && ffn_.contains("expert") && ffn_["expert"].is_object()) return without_name(ffn_["expert"]);
    written_from["kind"] = kind;
    written_from["bias"] = ffn_.value("bias", Json(true));
    if (is_mixture) written_from["gated"] = ffn_.value("gated", Json(false));
    const bool gated = is_mixture ? ffn_.value("gated", Json(false)) == Json(true) : kind == GatedConfig::kKind;
    const FormulaText text = built_in_formula(gated, ffn_.value("bias", Json(true)) != Json(false));
    Json written{{"formula", text.formula}, {"parameters", *text.parameters}, {"let", *text.let}, {"init", *text.init}};
    ffn_.erase("bias");
    ffn_.erase("gated");
    if (is_mixture) return ffn_["expert"] = std::move(written);
    ffn_["kind"] = FormulaConfig::kKind;
    ffn_.update(written);
    return ffn_;
  }

  // A shipped name stands for the formula with phi.
  static Json& without_name(Json& layer) {
    for (const auto& row : named_formulas()) {
      if (layer.value("name", Json()) == Json(row.name)) layer.erase("name");
    }
    return layer;
  }

  Document& document_;
  std::string outer_;
  std::vector<Problem>& problems_;
  Json& ffn_;
};

}  // namespace

std::vector<std::string> names_in_activation(const std::string& activation) {
  std::vector<std::string> names;
  const auto parsed = parse_formula(formula_of_activation(activation));
  if (parsed.tree) collect_names(*parsed.tree, names);
  names.erase(std::remove_if(names.begin(), names.end(), [](const auto& name) { return name == "z" || name == "pi"; }), names.end());
  return names;
}

void write_out_trained_activation(Document& document, const std::string& outer, std::vector<Problem>& problems) {
  WriteOut(document, outer, problems).run();
}

}  // namespace ffn
