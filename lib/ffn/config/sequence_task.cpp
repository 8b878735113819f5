#include "ffn/config/sequence_task.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "ffn/base/random.hpp"

namespace ffn {

namespace {

SequenceTaskSpec sequence_spec(const SequenceConfig& config) {
  if (config.label.empty()) throw FunctionProblem{"label", R"(no formula of the label given; such as "s[t-1] ^ s[t-2]")"};
  const std::int64_t length = config.length;
  const std::vector<FormulaInput> names{
      {"s", length, config.alphabet, length}, {"t", 1, length}, {"length", 1, {}, 1, static_cast<double>(length)}};
  const auto compiled = [&](const char* key, const std::string& text) {
    std::string problem;
    auto formula = TaskFormula::compile(text, names, problem);
    if (formula && formula->width() != 1) problem = "this is one number, and has " + std::to_string(formula->width()) + " columns";
    if (!problem.empty()) throw FunctionProblem{key, problem};
    return formula;
  };
  SequenceTaskSpec out;
  out.label = compiled("label", config.label);
  if (!config.scored.empty()) out.scored = compiled("scored", config.scored);
  constexpr std::int64_t kMostClasses = 65536;
  out.classes = out.label->values().value_or(0);
  if (out.classes < 2 || out.classes > kMostClasses)
    throw FunctionProblem{"label", out.classes == 0 ? "the formula does not show how many classes there are; write (…) % n or a comparison"
                                                    : "a label of " + std::to_string(out.classes) + " classes; there must be 2 to 65536"};
  return out;
}

}  // namespace

void SequenceTaskSpec::write_labels(const std::int64_t* tokens, std::int64_t examples, std::int64_t length, std::int64_t* labels) const {
  const auto count = static_cast<std::size_t>(examples * length);
  const std::vector<double> s(tokens, tokens + count);
  std::vector<double> t(count), values(count);
  for (std::size_t i = 0; i < count; ++i) t[i] = static_cast<double>(static_cast<std::int64_t>(i) % length);
  const std::vector<const double*> inputs{s.data(), t.data(), nullptr};
  label->evaluate(inputs, examples * length, values.data());
  std::transform(values.begin(), values.end(), labels,
                 [](double value) { return std::isnan(value) ? -1 : static_cast<std::int64_t>(value); });
  if (!scored) return;
  scored->evaluate(inputs, examples * length, values.data());
  for (std::size_t i = 0; i < count; ++i) {
    if (std::isnan(values[i]) || values[i] == 0) labels[i] = -1;
  }
}

FunctionProblem check_sequence(const SequenceConfig& config) {
  try {
    const SequenceTaskSpec spec = sequence_spec(config);
    constexpr std::int64_t kExamples = 16;
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(kExamples * config.length)), labels(tokens.size());
    RandomStream random(0, 0);
    for (auto& token : tokens) token = random.below(static_cast<std::uint32_t>(config.alphabet));
    spec.write_labels(tokens.data(), kExamples, config.length, labels.data());
    if (*std::max_element(labels.begin(), labels.end()) >= 0) return {};
    return {spec.scored ? "scored" : "label", "no position is scored in a sequence of length " + std::to_string(config.length) +
                                                  ": the label reads outside the sequence everywhere" +
                                                  (spec.scored ? ", or scored is 0" : "")};
  } catch (const FunctionProblem& problem) {
    return problem;
  }
}

SequenceTaskSpec sequence_task(const SequenceConfig& config) {
  try {
    return sequence_spec(config);
  } catch (const FunctionProblem& problem) {
    throw std::logic_error("task." + std::string(problem.key) + ": " + problem.message);  // configs are checked before they get here
  }
}

}  // namespace ffn
