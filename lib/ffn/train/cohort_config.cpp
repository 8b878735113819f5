#include "ffn/train/cohort_config.hpp"

namespace ffn {

double balance_weight(const FfnConfig& ffn) {
  const auto* moe = std::get_if<MoeConfig>(&ffn);
  return moe ? moe->balance_weight : 0;
}

double dropout_rate(const FfnConfig& ffn) {
  struct Rate {
    double operator()(const FfnSize& size) const { return size.dropout; }
    double operator()(const NoFfnConfig&) const { return 0; }
  };
  return std::visit(Rate{}, ffn);
}

}  // namespace ffn
