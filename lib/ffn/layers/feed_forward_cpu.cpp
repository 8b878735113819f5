#include "ffn/layers/feed_forward_cpu.hpp"

#include <stdexcept>

#include "ffn/formula/named_formulas.hpp"
#include "ffn/layers/formula_cpu.hpp"
#include "ffn/layers/moe_cpu.hpp"

namespace ffn::fused {

namespace {

struct BuildFeedForward {
  const Declare& declare;
  std::int64_t d_model;
  std::uint32_t site;

  std::unique_ptr<FeedForward> operator()(const PositionwiseConfig& c) const { return formula(built_in_formula(false, c.bias), c); }
  std::unique_ptr<FeedForward> operator()(const GatedConfig& c) const { return formula(built_in_formula(true, c.bias), c); }
  std::unique_ptr<FeedForward> operator()(const MoeConfig& c) const { return std::make_unique<MoE>(declare, d_model, c, site); }
  std::unique_ptr<FeedForward> operator()(const FormulaConfig& c) const { return formula(c.text, c); }
  std::unique_ptr<FeedForward> operator()(const NoFfnConfig&) const { return nullptr; }
  // A layer that exists in nn alone, which config/coverage.cpp keeps away from here.
  template <class Config>
  std::unique_ptr<FeedForward> operator()(const Config&) const {
    throw std::logic_error(std::string("the FFN kind ") + Config::kKind +
                           " has no fused form: write one in layers/feed_forward_cpu.cpp, or say only_nn in config/coverage.cpp");
  }

 private:
  std::unique_ptr<FeedForward> formula(const FormulaText& text, const FfnSize& size) const {
    return std::make_unique<FormulaProgram>(declare, graph_of(text, d_model, size), site);
  }
};

}  // namespace

std::unique_ptr<FeedForward> make_feed_forward(const Declare& declare, std::int64_t d_model, const FfnConfig& config, std::uint32_t site) {
  return std::visit(BuildFeedForward{declare, d_model, site}, config);
}

}  // namespace ffn::fused
