#include "ffn/formula/formula_parameters.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "ffn/base/json_document.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/formula/formula_syntax.hpp"
#include "ffn/formula/formula_text.hpp"

namespace ffn {

namespace {

constexpr std::size_t kMaxParameters = 32;
constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;

bool is_taken(const std::string& name) {
  const auto functions = names_of_layer_functions();
  return name == "x" || name == "D" || name == "F" || find_activation(name) ||
         std::find(functions.begin(), functions.end(), name) != functions.end();
}

// The start that is asked for, or nothing if that is no start.
std::optional<Init> asked_start(const Json& start, std::int64_t fan_in) {
  if (start.is_number()) return Init::constant(start.get<double>());
  if (start == "fan_in") return Init::fan_in(fan_in);
  if (start.is_object() && start.size() == 1 && start.begin().value().is_number()) {
    const double scale = start.begin().value().get<double>();
    if (start.begin().key() == "normal" && scale >= 0) return Init::normal(scale);
    if (start.begin().key() == "uniform" && scale >= 0) return Init::uniform(scale);
  }
  return std::nullopt;
}

// A module registers its own parameters before those of its parts ("up.weight" is weight of the part up).
std::vector<int> places_in_row(const std::vector<ParameterSpec>& specs) {
  const auto part = [](const std::string& name) { return name.substr(0, name.find('.') == std::string::npos ? 0 : name.find('.')); };
  std::vector<std::string> parts{""};
  for (const auto& spec : specs) {
    if (std::find(parts.begin(), parts.end(), part(spec.name)) == parts.end()) parts.push_back(part(spec.name));
  }
  std::vector<int> places(specs.size());
  int next = 0;
  for (const auto& name : parts) {
    for (std::size_t i = 0; i < specs.size(); ++i) {
      if (part(specs[i].name) == name) places[i] = next++;
    }
  }
  return places;
}

// Vector → D_in of the product that it is added to.
std::map<int, std::int64_t> widths_of_biases(const FormulaGraph& graph) {
  std::map<int, std::int64_t> widths;
  for (const auto& node : graph.nodes) {
    if (node.bias >= 0) widths.insert({node.bias, graph.nodes[static_cast<std::size_t>(node.inputs[0])].width});
  }
  return widths;
}

void check_starts_have_parameters(const Json& starts, const std::vector<FormulaParameter>& declared,
                                  std::vector<FormulaProblem>& problems) {
  std::vector<std::string> names;
  for (const auto& parameter : declared) names.push_back(parameter.name);
  for (const auto& item : starts.items()) {
    if (std::find(names.begin(), names.end(), item.key()) == names.end())
      problems.push_back({"init." + item.key(), "unknown parameter" + did_you_mean(item.key(), names)});
  }
}

// The sizes of one parameter, as they are written and as they are.
void read_sizes(const Json& sizes, std::int64_t d_model, std::int64_t hidden_width, FormulaParameter& parameter,
                std::vector<FormulaProblem>& problems) {
  const std::string key = "parameters." + parameter.name;
  std::int64_t elements = 1;
  for (const auto& size : sizes) {
    const std::string written = size.is_string()           ? size.get<std::string>()
                                : size.is_number_integer() ? std::to_string(size.get<std::int64_t>())
                                                           : "";
    const Size value = evaluate_size(written, d_model, hidden_width);
    if (!value.problem.empty()) {
      problems.push_back({key, "the size " + shortened(size) + " " + value.problem + " (D = " + std::to_string(d_model) +
                                   ", F = " + std::to_string(hidden_width) + ")"});
    }
    parameter.texts.push_back(written);
    parameter.shape.push_back(std::max<std::int64_t>(1, value.value));
    elements *= parameter.shape.back();
  }
  if (elements > kMaxElements) problems.push_back({key, "more than 2^40 elements"});
}

}  // namespace

const Activation* find_activation(const std::string& name) {
  for (const auto& row : activations()) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

bool check_formula_name(const std::string& name, const std::string& key, std::vector<FormulaProblem>& problems) {
  std::string message;
  if (!is_formula_name(name) || name.size() > 64)
    message = "'" + shortened(Json(name)) + "' is not a valid name; use letters, digits and _, and at most one dot within";
  else if (is_taken(name)) message = "'" + name + "' means something else in a formula; choose another name";
  else return true;
  problems.push_back({key, message});
  return false;
}

std::vector<FormulaParameter> read_formula_parameters(const FormulaText& text, std::int64_t d_model, std::int64_t hidden_width,
                                                      std::vector<FormulaProblem>& problems) {
  const Json& given = *text.parameters;
  if (given.size() > kMaxParameters) problems.push_back({"parameters", "more than " + std::to_string(kMaxParameters) + " parameters"});
  std::vector<FormulaParameter> parameters;
  for (const auto& item : given.items()) {
    if (parameters.size() == kMaxParameters) break;
    const std::string key = "parameters." + item.key();
    if (!check_formula_name(item.key(), key, problems)) continue;
    const Json& sizes = item.value();
    if (!sizes.is_array() || sizes.empty() || sizes.size() > 2) {
      problems.push_back({key, "expected one size for a vector or two for a matrix, as in [\"D\", \"F\"], got " + shortened(sizes)});
      continue;
    }
    FormulaParameter parameter;
    parameter.name = item.key();
    read_sizes(sizes, d_model, hidden_width, parameter, problems);
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

void add_formula_parameters(const FormulaText& text, const std::vector<FormulaParameter>& declared, FormulaGraph& graph,
                            std::vector<FormulaProblem>& problems) {
  const Json& starts = *text.init;
  check_starts_have_parameters(starts, declared, problems);
  const auto width_of_bias = widths_of_biases(graph);
  std::vector<ParameterSpec> specs;
  for (std::size_t i = 0; i < declared.size(); ++i) {
    const FormulaParameter& parameter = declared[i];
    const bool matrix = parameter.is_matrix();
    const auto product = width_of_bias.find(static_cast<int>(i));
    const std::int64_t fan_in = !matrix && product != width_of_bias.end() ? product->second : parameter.shape[0];
    ParameterSpec spec{parameter.name, parameter.shape, Init::fan_in(fan_in), matrix, matrix ? Export::linear : Export::as_is};
    if (starts.contains(parameter.name)) {
      const Json& given = starts[parameter.name];
      spec.as_asked = true;
      if (const auto start = asked_start(given, fan_in)) spec.init = *start;
      else
        problems.push_back({"init." + parameter.name,
                            "expected a number, \"fan_in\", {\"normal\": std} or {\"uniform\": bound}, got " + shortened(given)});
    } else if (!matrix && product == width_of_bias.end()) {
      problems.push_back(
          {"parameters." + parameter.name,
           "a vector that is not added to a product: say how it starts, for example \"init\": {\"" + parameter.name + "\": 1}"});
    }
    specs.push_back(std::move(spec));
  }
  const auto places = places_in_row(specs);
  graph.parameters = specs;
  for (std::size_t i = 0; i < specs.size(); ++i) graph.parameters[static_cast<std::size_t>(places[i])] = specs[i];
  for (auto& node : graph.nodes) {
    if (node.parameter >= 0) node.parameter = places[static_cast<std::size_t>(node.parameter)];
    if (node.bias >= 0) node.bias = places[static_cast<std::size_t>(node.bias)];
  }
}

}  // namespace ffn
