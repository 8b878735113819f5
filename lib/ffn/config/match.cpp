#include "ffn/config/match.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ffn/base/json_document.hpp"
#include "ffn/config/accounting.hpp"
#include "ffn/config/study_config.hpp"
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

// The parameters outside embeddings and head at this d_model and expansion; none where the formula has no whole sizes there.
std::optional<double> parameters_at(ModelConfig model, std::int64_t d_model, std::optional<double> expansion,
                                    std::int64_t sequence_length) {
  if (model.attention) model.attention->heads = d_model * model.attention->heads / model.d_model;
  model.d_model = d_model;
  FfnSize& size = *size_of(model.ffn);
  size.expansion = expansion;
  resolve_widths(model);
  const FormulaText* formula = formula_of(model.ffn);
  if (formula && !is_possible(*formula, d_model, size.hidden_width(d_model), size.activation)) return std::nullopt;
  TaskShape task;
  task.sequence_length = sequence_length;
  const ModelCost cost = model_cost(model, task);
  return static_cast<double>(cost.total.parameters - cost.ends.parameters);
}

ModelConfig as_written(ModelConfig model) {
  if (model.written) {
    model.d_model = model.written->d_model;
    if (model.attention) model.attention->heads = model.written->heads;
  }
  model.written.reset();
  model.mismatch = 0;
  return model;
}

std::int64_t width_of_head(const ModelConfig& model) { return model.attention ? model.d_model / model.attention->heads : 1; }

// "expansion 1.38 fits d_model 64": parameters are affine in the expansion.
std::string fitting_expansion(const ModelConfig& model, std::int64_t d_model, double target, std::int64_t sequence_length) {
  const auto at_1 = parameters_at(model, d_model, 1, sequence_length), at_2 = parameters_at(model, d_model, 2, sequence_length);
  const double fit = at_1 && at_2 ? 1 + (target - *at_1) / (*at_2 - *at_1) : 0;
  if (!(fit > 0.01 && fit <= 1024)) return "";
  return "; expansion " + number_text(rounded_number(fit, 3)) + " fits d_model " + std::to_string(d_model);
}

std::string percent_text(double share) { return std::to_string(share * 100).substr(0, 5) + " %"; }

}  // namespace

void describe_match_expansion(FieldVisitor& v, ModelConfig& model) {
  v.optional_real(
      {"match_expansion",
       "hold the parameters outside embeddings and head at those of this model with this ffn.expansion: d_model becomes the nearest multiple "
       "of a head's width, d_model / attention.heads, and heads follow. For sweeps of ffn.expansion"},
      model.match_expansion, Bounds<double>{0.0, 1024.0, true});
  v.require(!model.match_expansion || (size_of(model.ffn) && !size_of(model.ffn)->d_ff && model.block_expansion->empty()),
            "match_expansion", "match_expansion is of layers whose width is ffn.expansion; leave it out, or give the width so",
            {"ffn.kind", "ffn.d_ff", "block_expansion"});
}

void resolve_sizes(ModelConfig& model, std::int64_t sequence_length) {
  constexpr std::int64_t kWidest = 65536;
  model = as_written(std::move(model));
  resolve_widths(model);
  const FfnSize* size = size_of(model.ffn);
  const std::int64_t heads = model.attention ? model.attention->heads : 0;
  const bool sane = model.d_model > 0 && model.d_model <= kWidest && (!model.attention || (heads > 0 && model.d_model % heads == 0));
  if (!model.match_expansion || !size || size->d_ff || !model.block_expansion->empty() || !sane) return;
  const auto target = parameters_at(model, model.d_model, model.match_expansion, sequence_length);
  if (!target) return;  // require_formula() says why not
  std::int64_t best = 0;
  double mismatch = std::numeric_limits<double>::infinity();
  const std::int64_t step = width_of_head(model);
  for (std::int64_t d = step; d <= kWidest; d += step) {
    const auto n = parameters_at(model, d, size->expansion, sequence_length);
    if (n && std::abs(*n / *target - 1) < std::abs(mismatch)) {
      best = d;
      mismatch = *n / *target - 1;
    }
    if (n && *n > *target) break;  // they grow with d_model
  }
  if (best == 0) return;
  model.written = {model.d_model, heads};
  model.mismatch = mismatch;
  if (model.attention) model.attention->heads = best / step;
  model.d_model = best;
  resolve_widths(model);
}

namespace {

void require_d_model(FieldVisitor& v, const ModelConfig& model, std::int64_t sequence_length) {
  if (!model.written) return;
  const FfnSize& size = *size_of(model.ffn);
  if (std::abs(model.mismatch) <= size.match_tolerance) return;
  const ModelConfig asked = as_written(model);
  const double target = parameters_at(asked, asked.d_model, asked.match_expansion, sequence_length).value_or(NAN);
  const std::int64_t step = width_of_head(model), other = model.d_model + (model.mismatch < 0 ? step : -step);
  v.require(false, "match_expansion",
            "at expansion " + number_text(size.expansion.value_or(FfnSize::kDefaultExpansion)) + " the nearest d_model (" +
                std::to_string(model.d_model) + (step > 1 ? ", a multiple of a head's width, " + std::to_string(step) : "") +
                ") misses the parameters of expansion " + number_text(*model.match_expansion) + " by " + percent_text(model.mismatch) +
                ", more than ffn.match_tolerance=" + number_text(size.match_tolerance) + " allows" +
                fitting_expansion(asked, model.d_model, target, sequence_length) +
                (other > 0 ? fitting_expansion(asked, other, target, sequence_length) : "") + "; or raise match_tolerance",
            {"d_model", "attention.heads", "ffn.expansion", "ffn.match_tolerance", "ffn.kind"});
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

void require_match(FieldVisitor& v, const ModelConfig& model, std::int64_t sequence_length) {
  require_d_model(v, model, sequence_length);
  const FfnSize* size = size_of(model.ffn);
  if (!size || !size->matched_width) return;
  if (!has_a_width(model)) {
    v.require(std::abs(size->mismatch) <= size->match_tolerance, "ffn.match",
              "no parameter of the formula has F in its shape, so there is no width to solve, and its " + size->match +
                  " miss the plain FFN's by " + percent_text(size->mismatch) + "; leave match out, or give a parameter a size of F",
              {"d_model", "ffn.expansion", "ffn.match_tolerance"});
    return;
  }
  v.require(std::abs(size->mismatch) <= size->match_tolerance, "ffn.match",
            "the nearest width (" + std::to_string(*size->matched_width) +
                (size->match_multiple_of > 1 ? ", a multiple of " + std::to_string(size->match_multiple_of) : "") +
                ") misses the plain FFN's " + size->match + " by " + percent_text(size->mismatch) + ", more than match_tolerance=" +
                number_text(size->match_tolerance) + " allows; use a larger d_model or expansion, or raise match_tolerance",
            {"d_model", "ffn.d_ff", "ffn.expansion", "ffn.match_tolerance", "ffn.match_multiple_of", "ffn.num_experts", "ffn.top_k"});
}

}  // namespace ffn
