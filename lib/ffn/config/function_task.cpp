#include "ffn/config/function_task.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "ffn/base/json_document.hpp"
#include "ffn/base/suggest.hpp"

namespace ffn {

namespace {

constexpr std::int64_t kMostInputs = 65536;  // numbers that the network sees
constexpr std::int64_t kMostHeldOut = 1 << 20;

[[noreturn]] void fail(const std::string& message, const char* key = "inputs") { throw FunctionProblem{key, message}; }

constexpr const char* kHow =
    R"("bit", {"bit": 8}, {"integer": 31}, {"uniform": [-1, 1]} or {"normal": [0, 1]}, with "size": 3 for so many)";

std::int64_t whole(const Json& json, std::int64_t low, std::int64_t high, const std::string& what) {
  if (!json.is_number_integer() || json.get<double>() < static_cast<double>(low) || json.get<double>() > static_cast<double>(high))
    fail(what + ": expected a whole number from " + std::to_string(low) + " to " + std::to_string(high) + ", got " + shortened(json));
  return json.get<std::int64_t>();
}

FunctionInput parse_input(const std::string& name, const Json& json) {
  FunctionInput out;
  out.name = name;
  if (!is_formula_name(name) || name.find('.') != std::string::npos || name == "pi")
    fail(shortened(name) + " cannot name an input of a formula");
  if (json == "bit") return out;
  if (!json.is_object()) fail(name + ": expected " + kHow + ", got " + shortened(json));
  static const std::vector<std::pair<std::string, FunctionInput::Kind>> kinds{{"bit", FunctionInput::Kind::bit},
                                                                              {"integer", FunctionInput::Kind::integer},
                                                                              {"uniform", FunctionInput::Kind::uniform},
                                                                              {"normal", FunctionInput::Kind::normal}};
  std::size_t kinds_given = 0;
  for (const auto& [key, value] : json.items()) {
    const auto kind = std::find_if(kinds.begin(), kinds.end(), [&key = key](const auto& row) { return row.first == key; });
    if (key == "size") {
      out.size = whole(value, 1, kMostInputs, name + ".size");
      continue;
    }
    if (kind == kinds.end())
      fail(name + "." + key + ": unknown key" + did_you_mean(key, {"bit", "integer", "uniform", "normal", "size"}) + "; expected " + kHow);
    ++kinds_given;
    out.kind = kind->second;
    if (out.kind == FunctionInput::Kind::bit) out.size = whole(value, 1, kMostInputs, name + ".bit");
    if (out.kind == FunctionInput::Kind::integer) out.values = whole(value, 2, kMostInputs, name + ".integer");
    if (out.is_discrete()) continue;
    if (!value.is_array() || value.size() != 2 || !value[0].is_number() || !value[1].is_number())
      fail(name + "." + key + ": expected two numbers, got " + shortened(value));
    out.first = value[0].get<double>();
    out.last = value[1].get<double>();
    if (std::max(std::abs(out.first), std::abs(out.last)) > 1e30) fail(name + "." + key + ": networks see numbers up to 1e30");
    if (out.kind == FunctionInput::Kind::uniform && !(out.first < out.last))
      fail(name + ".uniform: the first number is not below the second");
    if (out.kind == FunctionInput::Kind::normal && !(out.last > 0)) fail(name + ".normal: the standard deviation is not above 0");
  }
  if (kinds_given != 1) fail(name + ": expected one of " + std::string(kHow));
  if (out.kind == FunctionInput::Kind::bit && json.contains("size")) fail(name + ": bit has its number itself; leave size out");
  return out;
}

FunctionTaskSpec spec_of(const FunctionConfig& config) {
  FunctionTaskSpec out;
  if (config.inputs->empty()) fail(R"(no inputs given; such as {"a": "bit", "b": "bit"})");
  std::vector<FormulaInput> names;
  for (const auto& [name, json] : config.inputs->items()) {
    out.inputs.push_back(parse_input(name, json));
    const FunctionInput& input = out.inputs.back();
    names.push_back({name, input.size, input.is_discrete() ? std::optional<std::int64_t>(input.values) : std::nullopt});
    if (input.width() > kMostInputs || out.input_width() > kMostInputs) fail("more than " + std::to_string(kMostInputs) + " numbers");
  }
  const bool is_label = config.target.empty();
  const char* key = is_label ? "label" : "target";
  if (config.label.empty() == config.target.empty())
    fail("set either label (classes) or target (numbers)", config.label.empty() ? "label" : "target");
  std::string problem;
  out.formula = TaskFormula::compile(is_label ? config.label : config.target, names, problem);
  if (!out.formula) fail(problem, key);
  if (!config.features.empty()) {
    out.features = TaskFormula::compile(config.features, names, problem);
    if (!out.features) fail(problem, "features");
  }
  if (!config.group.empty()) {
    out.group = TaskFormula::compile(config.group, names, problem);
    if (!out.group) fail(problem, "group");
    if (out.group->width() != 1) fail("a group is one number, and this has " + std::to_string(out.group->width()) + " columns", "group");
  }
  out.outputs = out.formula->width();
  if (!is_label) {
    if (config.classes) fail("a target has no classes", "classes");
    if (config.label_noise > 0) fail("a target has no labels to change; noise is for targets", "label_noise");
  } else {
    if (out.outputs != 1) fail("a label is one number, and this has " + std::to_string(out.outputs) + " columns", key);
    const auto values = out.formula->values();
    if (!config.classes && !values)
      fail("the formula does not show how many classes there are; set classes, or write (…) % n or a comparison", key);
    out.outputs = config.classes.value_or(values.value_or(0));
    if (out.outputs < 2 || out.outputs > kMostInputs)
      fail("a label of " + std::to_string(out.outputs) + " classes; there must be 2 to 65536", key);
    if (config.noise > 0) fail("a label has no target to add noise to; label_noise is for labels", "noise");
  }
  if (config.held_out > 0) {
    const auto patterns = out.patterns();
    if (!patterns) fail("only bits and integers have patterns to hold out; of real numbers validation draws new ones anyway", "held_out");
    if (*patterns > kMostHeldOut)
      fail("of more than 2^20 patterns none needs to be held out; validation draws new ones anyway", "held_out");
    const auto held = static_cast<std::int64_t>(config.held_out * static_cast<double>(*patterns));
    if (held < 1) fail("holds out none of " + std::to_string(*patterns) + " patterns", "held_out");
  }
  return out;
}

}  // namespace

std::int64_t FunctionTaskSpec::input_width() const {
  if (features) return features->width();
  std::int64_t width = 0;
  for (const auto& input : inputs) width += input.width();
  return width;
}

std::optional<std::int64_t> FunctionTaskSpec::patterns() const {
  std::int64_t count = 1;
  for (const auto& input : inputs) {
    if (!input.is_discrete()) return std::nullopt;
    for (std::int64_t i = 0; i < input.size; ++i) {
      if (count > (std::int64_t{1} << 62) / input.values) return std::nullopt;
      count *= input.values;
    }
  }
  return count;
}

FunctionProblem check_function(const FunctionConfig& config) {
  try {
    spec_of(config);
    return {};
  } catch (const FunctionProblem& problem) {
    return problem;
  }
}

FunctionTaskSpec function_task(const FunctionConfig& config) {
  try {
    return spec_of(config);
  } catch (const FunctionProblem& problem) {
    throw std::logic_error("task." + std::string(problem.key) + ": " + problem.message);  // configs are checked before they get here
  }
}

}  // namespace ffn
