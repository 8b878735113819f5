#include "ffn/config/coverage.hpp"

namespace ffn {

namespace {

// One overload per alternative of FfnConfig and of RouterConfig: a kind without one does not compile. What has no fused form
// returns `only_nn(…)`, and is complete: LibTorch trains it.
template <class Config>
[[maybe_unused]] std::string only_nn(const char* what, const Config&) {
  return std::string("the ") + what + " kind " + Config::kKind;
}

struct RouterLacks {
  std::string operator()(const SoftmaxTopKConfig&) const { return {}; }
};

struct Lacks {
  std::string operator()(const PositionwiseConfig&) const { return {}; }
  std::string operator()(const GatedConfig&) const { return {}; }
  std::string operator()(const MoeConfig& config) const { return std::visit(RouterLacks{}, config.router); }
  std::string operator()(const FormulaConfig&) const { return {}; }
  std::string operator()(const Conv1x1Config& config) const { return only_nn("FFN", config); }
  std::string operator()(const NoFfnConfig&) const { return {}; }
};

}  // namespace

std::string not_covered(const ModelConfig& model) { return std::visit(Lacks{}, model.ffn); }

}  // namespace ffn
