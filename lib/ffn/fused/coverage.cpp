#include "ffn/fused/coverage.hpp"

namespace ffn::fused {

namespace {

// One overload per alternative of FfnConfig: a kind without one does not compile. A layer that has no fused form returns
// `only_nn(config)`, and is complete: LibTorch trains it.
struct Lacks {
  std::string operator()(const PositionwiseConfig&) const { return {}; }
  std::string operator()(const GatedConfig&) const { return {}; }
  std::string operator()(const MoeConfig&) const { return {}; }
  std::string operator()(const NoFfnConfig&) const { return {}; }

  template <class Config>
  [[maybe_unused]] static std::string only_nn(const Config&) {
    return std::string("the FFN kind ") + Config::kKind;
  }
};

}  // namespace

std::string not_covered(const ModelConfig& model) { return std::visit(Lacks{}, model.ffn); }

}  // namespace ffn::fused
