// Mixtures of experts and their routers.
#include <type_traits>

#include "ffn/config/model_config.hpp"

namespace ffn {

void TopKFields::describe_top_k(FieldVisitor& v) {
  v.choice({"weights", "what an expert's output is multiplied by"}, weights,
           {{"normalized", "the score divided by the sum over the token's experts (top_k 1: not divided)"}, {"raw", "the score itself"}});
  v.real({"scale", "multiplies the weights"}, scale, above(0.0));
  v.real({"bias_step",
          "auxiliary-loss-free balancing (Wang et al. 2024, arXiv:2408.15664): a bias per expert is added to the scores to choose by, and "
          "after each step rises by this for experts with less than an even share of the tokens, and falls for those with more; 0: none"},
         bias_step, at_least(0.0));
  v.flag({"center_bias", "subtract the mean over the experts from what the biases move by"}, center_bias);
  v.require(!center_bias || bias_step > 0, "center_bias", "there is no bias to centre; set bias_step, or center_bias=false", {"bias_step"});
  v.real(
      {"jitter",
       "in training, multiply what the router reads by uniform draws from 1 - jitter to 1 + jitter (Fedus et al. 2021, arXiv:2101.03961); "
       "computed by LibTorch alone"},
      jitter, between(0.0, 0.99));
}

void SoftmaxTopKConfig::describe(FieldVisitor& v) { describe_top_k(v); }
void SigmoidTopKConfig::describe(FieldVisitor& v) { describe_top_k(v); }

void NoisyTopKConfig::describe(FieldVisitor& v) {
  v.real(
      {"load_weight",
       "weight in the training loss of CV² of the experts' loads: how likely they are to be chosen under another draw of the noise, summed "
       "over the tokens (Shazeer et al. 2017, appendix A)"},
      load_weight, at_least(0.0));
}

const TopKFields* top_k_fields(const RouterConfig& router) {
  const auto visit = [](const auto& kind) -> const TopKFields* {
    if constexpr (std::is_base_of_v<TopKFields, std::decay_t<decltype(kind)>>) return &kind;
    else return nullptr;
  };
  return std::visit(visit, router);
}

FfnSize MoeConfig::shared_size(std::int64_t d_model) const {
  FfnSize size = *this;
  FfnSize one = *this;
  if (shared_expansion) {
    one.d_ff.reset();
    one.matched_width.reset();
    one.expansion = shared_expansion;
  }
  size.d_ff = shared_experts * one.hidden_width(d_model);
  size.matched_width.reset();
  return size;
}

std::int64_t MoeConfig::capacity(std::int64_t num_tokens) const {
  return static_cast<std::int64_t>(*capacity_factor * static_cast<double>(num_tokens * top_k) / static_cast<double>(num_experts));
}

void MoeConfig::describe(FieldVisitor& v) {
  if (!expert) {
    describe_size(v);
  } else {  // the formula has its own biases
    describe_width(v);
    if (expert->calls_phi()) describe_activation(v);
    describe_dropout_and_match(v);
  }
  v.integer({"num_experts", "experts E"}, num_experts, between(std::int64_t{1}, 1024));
  v.integer({"top_k", "experts K per token"}, top_k, at_least(std::int64_t{1}));
  v.one_of({"router", "how tokens are assigned to experts"}, router);
  v.flag({"gated", "experts are gated FFNs instead of plain ones"}, gated);
  v.optional_group({"expert", "use this formula for each expert; F is the hidden width of one expert"}, expert);
  v.real({"balance_weight", "weight of the balance loss (1 at perfect balance, averaged over the blocks) in the training loss"},
         balance_weight, at_least(0.0));
  v.real({"z_loss_weight",
          "weight of the mean of (log Σ exp logits)², which keeps the router's logits small (ST-MoE, Zoph et al. 2022, "
          "arXiv:2202.08906)"},
         z_loss_weight, at_least(0.0));
  v.real({"importance_weight", "weight of CV² = variance/mean² of the experts' sums of weights (Shazeer et al. 2017, arXiv:1701.06538)"},
         importance_weight, at_least(0.0));
  v.real(
      {"sequence_balance_weight", "weight of the balance loss of each sequence alone, averaged over them (DeepSeek-V3, arXiv:2412.19437)"},
      sequence_balance_weight, at_least(0.0));
  v.optional_real(
      {"capacity_factor",
       "in training an expert takes floor(this·N·top_k/E) of a batch's N·top_k assignments, first choices before second ones; the "
       "rest is dropped, which train/dropped counts. null: none is"},
      capacity_factor, above(0.0));
  v.integer({"shared_experts",
             "experts that every token goes to with weight 1, computed as one FFN of so many times the width (DeepSeekMoE, "
             "Dai et al. 2024, arXiv:2401.06066)"},
            shared_experts, between(std::int64_t{0}, 64));
  v.optional_real({"shared_expansion", "hidden width of a shared expert as a multiple of d_model; like the others' if it is not set"},
                  shared_expansion, Bounds<double>{0.0, 1024.0, true});
  v.require(!shared_expansion || shared_experts > 0, "shared_expansion",
            "shared_expansion is of shared experts, and there is none; set shared_experts or leave it out", {"shared_experts"});
  v.require(top_k <= num_experts, "top_k",
            "top_k (" + std::to_string(top_k) + ") exceeds num_experts (" + std::to_string(num_experts) + ")", {"num_experts"});
  const bool expert_choice = std::holds_alternative<ExpertChoiceConfig>(router);
  v.require(!(expert_choice && capacity_factor), "capacity_factor", "expert_choice gives each expert its share; remove one",
            {"router.kind"});
  v.require(!expert_choice || balance_weight == 0 || balance_weight == MoeConfig().balance_weight, "balance_weight",
            "expert_choice gives each expert its share: there is nothing to balance; leave it out", {"router.kind"});
  v.require(!(expert && shared_experts > 0), "shared_experts",
            "experts of a formula have no shared ones; write them into it, or set shared_experts=0", {"expert"});
  v.require(!(expert && gated), "gated", "set either gated or expert, not both", {"expert"});
}

}  // namespace ffn
