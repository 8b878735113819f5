// The routers of mixtures: which token goes to which expert with what weight. A router composes a scorer (a linear map and a
// squashing), a selector and the losses on them, from the functions below or its own.
#pragma once

#include "ffn/config/model_config.hpp"
#include "ffn/kernels/activations.hpp"
#include "ffn/layers/linear_torch.hpp"

namespace ffn::modules {

/// M (token, expert, weight) triples of each run. No triple of a run occurs twice.
struct Routing {
  Tensor token, expert;                ///< (R, M) int64
  Tensor weight;                       ///< (R, M)
  std::int64_t per_token = 0;          ///< K where token n has the triples n·K … n·K + K - 1; 0 where tokens have different numbers
  std::vector<Tensor> auxiliary = {};  ///< (R) each: the losses in the order of auxiliary_losses()
  Tensor load = {};                    ///< (R, E) share of the triples that each expert got, a constant to autograd

  /// A value of each triple (R, M) by token and expert, 0 elsewhere: (R, N, E).
  Tensor dense(const Tensor& values, std::int64_t num_tokens, std::int64_t num_experts) const;
  /// Rows of each triple (R, M, D), added up by token: (R, N, D).
  Tensor add_up(const Tensor& rows, std::int64_t num_tokens) const;
};

class Router : public RunModule {
 public:
  using RunModule::RunModule;
  /// x: (R, N, D), the input of the mixture.
  virtual Routing forward(const Tensor& x, const ForwardContext& context) = 0;
  /// After an optimizer step of the runs that are `alive` (R, 1), with the load of that step: where a router has numbers that are
  /// no gradient's (Role::buffer), they move here, in place.
  virtual void update_buffers(const Tensor& /*load*/, const Tensor& /*alive*/) {}
};

/// The K experts of the largest scores.
struct TopK {
  Tensor expert;     ///< (R, N, K) int64, the largest first; of equals the first
  Tensor is_expert;  ///< (R, N, K, E)
  Tensor chosen;     ///< (R, N, E): 1 where a token goes to the expert, else 0
};
/// scores: (R, N, E)
TopK select_top_k(const Tensor& scores, std::int64_t k, const ForwardContext& context);
/// Triples of that choice with the load; weight_of: (R, N, E).
Routing route_top_k(const TopK& top, const Tensor& weight_of);

/// E·Σ loadᵢPᵢ, Pᵢ the mean of expert i's probability (R, N, E): Fedus et al. 2021, Switch Transformer, eq. 4, arXiv:2101.03961, with
/// the share of the N·K assignments in place of N's: 1 at perfect balance, whatever K.
Tensor balance_loss(const Tensor& load, const Tensor& probability);

/// Squared coefficient of variation, variance/mean², of each run's values (R, E); 0 where all are equal.
Tensor squared_variation(const Tensor& values);

/// How likely a token is to keep each expert under another draw of its noise: Φ((clean - threshold)/deviation), the threshold being the
/// K-th largest noisy logit of the other experts; Shazeer et al. 2017, appendix A. All (R, N, E).
Tensor probability_in_top_k(const Tensor& clean, const Tensor& noisy, const Tensor& deviation, std::int64_t k);

/// p = softmax(x W_r), the K largest kept and divided by their sum; equal to a softmax over the K largest logits, as in
/// Mixtral (Jiang et al. 2024, arXiv:2401.04088). For K = 1 the weight is the probability itself (Fedus et al. 2021): divided by
/// itself it would be 1, and the task would not train the router. The router has no bias. Of equals the first are taken: a
/// token that arrives as zeros goes to the first K experts, in every engine.
/// With σ in place of the softmax: DeepSeek-V3 (2024, arXiv:2412.19437, eq. 12-16). A selection bias (E) is added to the scores to choose
/// by and to nothing else; after a step it moves by ±bias_step towards even loads (Wang et al. 2024, arXiv:2408.15664). x: (R, N, D).
class TopKRouterImpl final : public Router {
 public:
  /// score: an activation of the logits, or "softmax".
  TopKRouterImpl(std::int64_t num_runs, std::int64_t d_model, const MoeConfig& config, const TopKFields& fields, const std::string& score,
                 std::uint32_t site);
  Routing forward(const Tensor& x, const ForwardContext& context) override;
  void update_buffers(const Tensor& load, const Tensor& alive) override;

 private:
  MoeConfig config_;
  TopKFields fields_;
  const Activation* activation_;  ///< nullptr: softmax
  std::uint32_t site_;
  Tensor bias_;  ///< (R, E), undefined for none
  Linear gate_{nullptr};
};

/// H = x W_r + ε·(softplus(x W_noise) + 0.01), ε standard normal in training and 0 after it; the K largest kept, weights their softmax.
/// Shazeer et al. 2017, arXiv:1701.06538, eq. 3-5. W_noise starts at zero. x: (R, N, D).
class NoisyTopKRouterImpl final : public Router {
 public:
  NoisyTopKRouterImpl(std::int64_t num_runs, std::int64_t d_model, const MoeConfig& config, std::uint32_t site);
  Routing forward(const Tensor& x, const ForwardContext& context) override;

 private:
  MoeConfig config_;
  std::uint32_t site_;
  Tensor noise_;  ///< W_noise (R, D, E)
  Linear gate_{nullptr};
};

/// p = softmax(x W_r) over the experts; each takes the max(1, ⌊N·K/E⌋) tokens of its largest p, with p as weight. Zhou et al. 2022,
/// arXiv:2202.09368. x: (R, N, D).
class ExpertChoiceRouterImpl final : public Router {
 public:
  ExpertChoiceRouterImpl(std::int64_t num_runs, std::int64_t d_model, const MoeConfig& config);
  Routing forward(const Tensor& x, const ForwardContext& context) override;

 private:
  MoeConfig config_;
  Linear gate_{nullptr};
};

/// The router of the mixture that is layer `site`.
std::shared_ptr<Router> make_router(std::int64_t num_runs, std::int64_t d_model, const MoeConfig& config, std::uint32_t site);

}  // namespace ffn::modules
