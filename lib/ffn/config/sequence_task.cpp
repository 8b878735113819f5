#include "ffn/config/sequence_task.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "ffn/base/error.hpp"

namespace ffn {

namespace {

constexpr std::int64_t kDraws = SequenceTaskSpec::kDraws, kWholeRun = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kFixedStream = std::numeric_limits<std::uint64_t>::max();  // no step of training

SequenceTaskSpec sequence_spec(const SequenceConfig& config) {
  if (config.label.empty()) throw FunctionProblem{"label", R"(no formula of the label given; such as "s[t-1] ^ s[t-2]")"};
  const std::int64_t length = config.length;
  const auto compiled = [&](const char* key, const std::string& text, const FormulaInput& sequence) {
    const std::vector<FormulaInput> names{sequence,
                                          {"t", 1, length},
                                          {"f", config.alphabet, kDraws, kWholeRun},
                                          {"length", 1, {}, 1, static_cast<double>(length)},
                                          {"alphabet", 1, {}, 1, static_cast<double>(config.alphabet)}};
    std::string problem;
    auto formula = TaskFormula::compile(text, names, problem);
    if (formula && formula->width() != 1) problem = "this is one number, and has " + std::to_string(formula->width()) + " columns";
    if (!problem.empty()) throw FunctionProblem{key, problem};
    return formula;
  };
  SequenceTaskSpec out;
  out.alphabet = config.alphabet;
  out.length = length;
  if (!config.tokens.empty()) {
    out.tokens = compiled("tokens", config.tokens, {"r", length, kDraws, length});
    const std::int64_t tokens = out.tokens->values().value_or(0);
    if (tokens == 0) throw FunctionProblem{"tokens", "the formula does not show how many tokens there are; write (…) % n, with n above 0"};
    if (tokens > config.alphabet)
      throw FunctionProblem{
          "tokens", "the formula gives " + std::to_string(tokens) + " tokens, and the alphabet has " + std::to_string(config.alphabet)};
  }
  const FormulaInput s{"s", length, config.alphabet, length};
  out.label = compiled("label", config.label, s);
  if (!config.scored.empty()) out.scored = compiled("scored", config.scored, s);
  constexpr std::int64_t kMostClasses = 65536;
  out.classes = out.label->values().value_or(0);
  if (out.classes < 2 || out.classes > kMostClasses)
    throw FunctionProblem{"label", out.classes == 0 ? "the formula does not show how many classes there are; write (…) % n or a comparison"
                                                    : "a label of " + std::to_string(out.classes) + " classes; there must be 2 to 65536"};
  return out;
}

}  // namespace

static std::vector<double> evaluated(const TaskFormula& formula, const std::vector<double>& sequences, std::int64_t length,
                                     const std::vector<double>& fixed) {
  std::vector<double> t(sequences.size()), out(sequences.size());
  for (std::size_t i = 0; i < t.size(); ++i) t[i] = static_cast<double>(static_cast<std::int64_t>(i) % length);
  formula.evaluate({sequences.data(), t.data(), fixed.data(), nullptr, nullptr}, static_cast<std::int64_t>(t.size()), out.data());
  return out;
}

std::vector<double> SequenceTaskSpec::draw_fixed(std::uint64_t seed) const {
  RandomStream random(seed, kFixedStream);
  std::vector<double> out(static_cast<std::size_t>(alphabet));
  for (auto& number : out) number = random.below(kDraws);
  return out;
}

void SequenceTaskSpec::draw_tokens(RandomStream& random, const std::vector<double>& fixed, std::int64_t examples,
                                   std::int64_t* tokens_out) const {
  std::vector<double> drawn(static_cast<std::size_t>(examples * length));
  for (auto& number : drawn) number = random.below(static_cast<std::uint32_t>(tokens ? kDraws : alphabet));
  if (tokens) drawn = evaluated(*tokens, drawn, length, fixed);
  for (const double token : drawn) {
    if (std::isnan(token))
      throw DataError("task.tokens is undefined for some draws: it reads outside the sequence, or divides by 0",
                      "choose another value there, such as where(t == 0, 0, …)");
    *tokens_out++ = static_cast<std::int64_t>(token);
  }
}

void SequenceTaskSpec::write_labels(const std::int64_t* tokens_in, const std::vector<double>& fixed, std::int64_t examples,
                                    std::int64_t* labels) const {
  const std::vector<double> s(tokens_in, tokens_in + examples * length),
      is_scored = scored ? evaluated(*scored, s, length, fixed) : std::vector<double>(s.size(), 1);
  for (const double value : evaluated(*label, s, length, fixed)) *labels++ = std::isnan(value) ? -1 : static_cast<std::int64_t>(value);
  for (auto value = is_scored.rbegin(); value != is_scored.rend(); ++value) {
    --labels;
    if (std::isnan(*value) || *value == 0) *labels = -1;
  }
}

FunctionProblem check_sequence(const SequenceConfig& config) {
  try {
    const SequenceTaskSpec spec = sequence_spec(config);
    constexpr std::int64_t kExamples = 16;
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(kExamples * config.length)), labels(tokens.size());
    RandomStream random(0, 0);
    const std::vector<double> fixed = spec.draw_fixed(0);
    spec.draw_tokens(random, fixed, kExamples, tokens.data());
    spec.write_labels(tokens.data(), fixed, kExamples, labels.data());
    if (*std::max_element(labels.begin(), labels.end()) >= 0) return {};
    return {spec.scored ? "scored" : "label", "no position is scored in a sequence of length " + std::to_string(config.length) +
                                                  ": the label reads outside the sequence everywhere" +
                                                  (spec.scored ? ", or scored is 0" : "")};
  } catch (const FunctionProblem& problem) {
    return problem;
  } catch (const DataError& error) {
    return {"tokens", error.what()};
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
