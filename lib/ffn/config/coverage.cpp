#include "ffn/config/coverage.hpp"

namespace ffn {

namespace {

// One overload per alternative of FfnConfig and of RouterConfig: a kind without one does not compile. What has no CPU form
// returns `only_torch(…)`, and is complete: LibTorch trains it.
std::string only_torch(const char* what, const char* name) { return std::string("the ") + what + " " + name; }
template <class Config>
std::string only_torch(const char* what, const Config&) {
  return only_torch((std::string(what) + " kind").c_str(), Config::kKind);
}

struct RouterLacks {
  std::string operator()(const TopKFields& config) const { return config.jitter > 0 ? only_torch("router's", "jitter") : ""; }
  std::string operator()(const NoisyTopKConfig& config) const { return only_torch("router", config); }
  std::string operator()(const ExpertChoiceConfig& config) const { return only_torch("router", config); }
};

struct FfnLacks {
  std::string operator()(const PositionwiseConfig&) const { return {}; }
  std::string operator()(const GatedConfig&) const { return {}; }
  std::string operator()(const MoeConfig& config) const { return std::visit(RouterLacks{}, config.router); }
  std::string operator()(const FormulaConfig&) const { return {}; }
  std::string operator()(const Conv1x1Config& config) const { return only_torch("FFN", config); }
  std::string operator()(const PkmConfig& config) const { return only_torch("FFN", config); }
  std::string operator()(const PeerConfig& config) const { return only_torch("FFN", config); }
  std::string operator()(const NoFfnConfig&) const { return {}; }
};

template <class Row>
std::string row_lacks(const char* what, const Row& row) {
  return row.cpu ? "" : only_torch(what, row.name);
}

}  // namespace

std::string not_covered(const ModelConfig& model) {
  std::string lacks = std::visit(FfnLacks{}, model.ffn);
  if (lacks.empty()) lacks = row_lacks("position encoding", find_positions(model.positions));
  if (lacks.empty() && model.attention) lacks = row_lacks("attention by", find_scores(model.attention->scores));
  return lacks;
}

std::string not_covered(const RunConfig& config) {
  const std::string lacks = not_covered(config.model);
  if (!lacks.empty()) return lacks;
  if (config.train.accumulate > 1) return "train.accumulate";
  if (config.compute.precision == "bfloat16") return "bfloat16";
  return std::visit([](const auto& loss) { return loss.kCpu ? "" : only_torch("loss", loss.kName); }, config.loss());
}

}  // namespace ffn
