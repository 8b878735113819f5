// One Transformer block: attention and FFN, each with its norm and residual connection, all optional.
#pragma once

#include "ffn/layers/attention_torch.hpp"
#include "ffn/layers/feed_forward_torch.hpp"
#include "ffn/layers/norm_torch.hpp"

namespace ffn::modules {

/// x → attention sub-layer → FFN sub-layer. A sub-layer f with residual and norm is
///   pre:      x + f(norm(x))        Xiong et al. 2020, arXiv:2002.04745
///   post:     norm(x + f(x))        Vaswani et al. 2017
///   sandwich: x + norm(f(norm(x)))  Ding et al. 2021 (CogView), arXiv:2105.13290
/// without residual the "x +" is left out, without norm the norm. x: (R, N, D) → (R, N, D).
/// parallel: x + attention(norm(x)) + ffn(norm(x)) with one norm, as in GPT-J (Wang and Komatsuzaki 2021) and PaLM (Chowdhery et al.
/// 2022, §2, arXiv:2204.02311).
/// residual_dropout acts on f(…), as in GPT-2 and in CogView's code.
class BlockImpl final : public RunModule {
 public:
  /// shared: the FFN of another block, which holds its parameters, in place of one of its own
  BlockImpl(std::int64_t num_runs, const ModelConfig& config, std::int64_t sequence_length, std::uint32_t index,
            const std::shared_ptr<FeedForward>& shared = nullptr);
  const std::shared_ptr<FeedForward>& feed_forward() const { return ffn_; }
  FfnOutput forward(const Tensor& x, std::int64_t sequence_length, const ForwardContext& context);
  void update_buffers(const Tensor& load, const Tensor& alive) {
    if (ffn_) ffn_->update_buffers(load, alive);
  }

 private:
  /// In the places of NormPlacement.
  struct SubLayer {
    Norm before{nullptr}, on_output{nullptr}, after_sum{nullptr};
    std::uint32_t site = 0;  ///< of its dropout
  };
  SubLayer make_sublayer(const std::string& name, const ModelConfig& config, std::uint32_t site);
  Tensor in_parallel(const Tensor& x, const ForwardContext& context, const std::function<Tensor(const Tensor&)>& attend,
                     const std::function<Tensor(const Tensor&)>& feed);
  template <class F>
  Tensor apply(SubLayer& sublayer, const Tensor& x, const ForwardContext& context, const F& f);

  bool residual_, parallel_;
  double residual_dropout_;
  Attention attention_{nullptr};
  std::shared_ptr<FeedForward> ffn_;
  std::uint32_t site_shift_;
  SubLayer around_attention_, around_ffn_;
};
TORCH_MODULE(Block);

}  // namespace ffn::modules
