#include "ffn/config/match.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ffn/base/json_document.hpp"
#include "ffn/config/accounting.hpp"
#include "ffn/formula/formula.hpp"

namespace ffn {

namespace {

std::int64_t matched_cost(const std::string& match, const Cost& cost) {
  return match == "flops" ? cost.flops : match == "active_params" ? cost.active_parameters : cost.parameters;
}

constexpr std::int64_t kMaxWidth = 1 << 20;

// For costs that are affine in the width: two points give the line.
template <class Cost>
std::int64_t width_on_a_line(double target, const Cost& cost) {
  const double slope = cost(2) - cost(1), offset = cost(1) - slope;
  return std::max<std::int64_t>(1, std::llround((target - offset) / slope));
}

// For all other increasing costs, at multiples of `step`.
template <class Cost>
std::int64_t width_by_halving(double target, std::int64_t step, const Cost& cost) {
  std::int64_t below = 1, above = kMaxWidth / step;  // in steps
  while (above - below > 1) {
    const std::int64_t middle = below + (above - below) / 2;
    (cost(middle * step) <= target ? below : above) = middle;
  }
  return step * (std::abs(cost(above * step) - target) < std::abs(cost(below * step) - target) ? above : below);
}

bool is_possible(const FormulaText& text, std::int64_t d_model, std::int64_t width, const std::string& activation) {
  std::vector<FormulaProblem> problems;
  compile_formula(text, d_model, width, activation, problems);
  return problems.empty();
}

// The least width of which all multiples give whole sizes ("F/2"), or 0. A formula in which F has to be D is possible at one width alone.
std::int64_t width_step(const FormulaText& text, std::int64_t d_model, const std::string& activation) {
  for (std::int64_t step = 1; step <= 64; ++step) {
    if (is_possible(text, d_model, step, activation) && is_possible(text, d_model, 2 * step, activation)) return step;
  }
  return 0;
}

// Solves the width of `ffn` against the plain FFN; returns the relative mismatch that is left.
double solve_width(FfnConfig& ffn, std::int64_t d_model) {
  FfnSize& size = *size_of(ffn);
  PositionwiseConfig plain;
  plain.expansion = size.expansion;
  plain.bias = size.bias;
  const auto target = static_cast<double>(matched_cost(size.match, ffn_cost(plain, d_model)));
  const auto at_width = [&](std::int64_t width) {
    size.matched_width = width;
    return static_cast<double>(matched_cost(size.match, ffn_cost(ffn, d_model)));
  };
  const FormulaText* formula = formula_of(ffn);
  const auto up_to = [&](std::int64_t width, std::int64_t multiple) { return (width + multiple - 1) / multiple * multiple; };
  if (!formula) return at_width(up_to(width_on_a_line(target, at_width), size.match_multiple_of)) / target - 1;
  const auto cost = [&](std::int64_t width) {  // too wide is too dear
    return is_possible(*formula, d_model, width, size.activation) ? at_width(width) : std::numeric_limits<double>::infinity();
  };
  const auto step = width_step(*formula, d_model, size.activation);
  if (step > 0) return at_width(up_to(width_by_halving(target, step, cost), std::lcm(step, size.match_multiple_of))) / target - 1;
  size.matched_width.reset();
  const auto width = size.hidden_width(d_model);
  return is_possible(*formula, d_model, width, size.activation) ? at_width(width) / target - 1 : 0;  // require_formula() says why not
}

// Whether what the layer costs depends on F: of a formula that has no F in a shape it does not.
bool has_a_width(const ModelConfig& model) {
  const FormulaText* formula = formula_of(model.ffn);
  if (!formula) return true;
  FfnConfig ffn = model.ffn;
  FfnSize& size = *size_of(ffn);
  const auto cost = [&](std::int64_t width) {
    size.matched_width = width;
    return matched_cost(size.match, ffn_cost(ffn, model.d_model));
  };
  const auto step = width_step(*formula, model.d_model, size.activation);
  return step == 0 || cost(step) != cost(2 * step);
}

}  // namespace

void resolve_widths(ModelConfig& model) {
  FfnSize* size = size_of(model.ffn);
  if (!size) return;
  size->matched_width.reset();
  size->mismatch = 0;
  const double expansion = size->expansion.value_or(1);
  const bool sane = model.d_model > 0 && model.d_model <= 65536 && !size->d_ff && expansion > 0 && expansion <= 1024;
  if (size->match != "none" && sane) size->mismatch = solve_width(model.ffn, model.d_model);
}

void require_match(FieldVisitor& v, const ModelConfig& model) {
  const FfnSize* size = size_of(model.ffn);
  if (!size || !size->matched_width) return;
  if (!has_a_width(model)) {
    v.require(std::abs(size->mismatch) <= size->match_tolerance, "ffn.match",
              "no parameter of the formula has F in its shape, so there is no width to solve, and its " + size->match +
                  " miss the plain FFN's by " + std::to_string(size->mismatch * 100).substr(0, 5) +
                  " %; leave match out, or give a parameter a size of F",
              {"d_model", "ffn.expansion", "ffn.match_tolerance"});
    return;
  }
  v.require(std::abs(size->mismatch) <= size->match_tolerance, "ffn.match",
            "the nearest width (" + std::to_string(*size->matched_width) +
                (size->match_multiple_of > 1 ? ", a multiple of " + std::to_string(size->match_multiple_of) : "") +
                ") misses the plain FFN's " + size->match + " by " + std::to_string(size->mismatch * 100).substr(0, 5) +
                " %, more than match_tolerance=" + number_text(size->match_tolerance) +
                " allows; use a larger d_model or expansion, or raise match_tolerance",
            {"d_model", "ffn.d_ff", "ffn.expansion", "ffn.match_tolerance", "ffn.match_multiple_of", "ffn.num_experts", "ffn.top_k"});
}

}  // namespace ffn
