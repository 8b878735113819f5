#include "ffn/layers/feed_forward_cpu.hpp"

#include <stdexcept>

#include "ffn/layers/formula_cpu.hpp"
#include "ffn/layers/moe_cpu.hpp"

namespace ffn::cpu {

std::unique_ptr<FeedForward> make_feed_forward(const Declare& declare, std::int64_t d_model, const FfnConfig& config, std::uint32_t site) {
  if (std::holds_alternative<NoFfnConfig>(config)) return nullptr;
  if (const auto* moe = std::get_if<MoeConfig>(&config)) return std::make_unique<MoE>(declare, d_model, *moe, site);
  if (const auto text = layer_formula(config))
    return std::make_unique<FormulaProgram>(declare, graph_of(*text, d_model, *size_of(config)), site);
  throw std::logic_error(
      "an FFN kind that has no CPU form: give it a formula in layer_formula(), or say only_torch in config/coverage.cpp");
}

}  // namespace ffn::cpu
