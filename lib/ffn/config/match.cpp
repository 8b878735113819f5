#include "ffn/config/match.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/config/accounting.hpp"
#include "ffn/core/json_document.hpp"

namespace ffn {

namespace {

std::int64_t matched_cost(const std::string& match, const Cost& cost) {
  return match == "flops" ? cost.flops : match == "active_params" ? cost.active_parameters : cost.parameters;
}

// Solves the width of `ffn` against the plain FFN; returns the relative mismatch that is left. Every cost is affine in the
// width, so two points give the line.
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
  const double slope = at_width(2) - at_width(1), offset = at_width(1) - slope;
  const auto width = std::max<std::int64_t>(1, std::llround((target - offset) / slope));
  return at_width(width) / target - 1;
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
  v.require(std::abs(size->mismatch) <= size->match_tolerance, "ffn.match",
            "the nearest width (" + std::to_string(*size->matched_width) + ") misses the plain FFN's " + size->match + " by " +
                std::to_string(size->mismatch * 100).substr(0, 5) + " %, more than match_tolerance (" +
                number_text(size->match_tolerance) + "); use a larger d_model or expansion, or raise match_tolerance",
            {"d_model", "ffn.d_ff", "ffn.expansion", "ffn.match_tolerance", "ffn.num_experts", "ffn.top_k"});
}

}  // namespace ffn
