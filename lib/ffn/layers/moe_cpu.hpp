// Mixture of experts: the router by hand, the experts as formulas.
#pragma once

#include "ffn/layers/feed_forward_cpu.hpp"
#include "ffn/layers/formula_cpu.hpp"
#include "ffn/layers/router_cpu.hpp"

namespace ffn::cpu {

class MoE final : public FeedForward {
 public:
  MoE(const Declare& declare, std::int64_t d_model, const MoeConfig& config, std::uint32_t site);
  const float* forward(Pass& pass, std::int64_t rows, const float* x) override;
  const float* backward(Pass& pass, const float* dy, const AuxiliaryValues& auxiliary_weights) override;
  Router* router() override { return router_.get(); }

 private:
  void sort_by_expert(Pass& pass);

  std::int64_t d_model_, num_experts_, top_k_;
  std::unique_ptr<Router> router_;
  FormulaProgram experts_;
  std::optional<FormulaProgram> shared_;

  // State of the current pass. Places are triples sorted by expert.
  std::int64_t rows_ = 0;
  Routing routing_;
  const float* result_ = nullptr;
  std::int64_t *place_ = nullptr, *offsets_ = nullptr;  ///< (M), (E + 1)
};

}  // namespace ffn::cpu
