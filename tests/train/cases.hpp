// Run configs over the catalogue: every activation and FFN kind, alone and in blocks, at odd sizes.
#pragma once

#include "ffn/config/run_config.hpp"
#include "ffn/kernels/activations.hpp"

namespace ffn::test {

inline RunConfig base(const FfnConfig& ffn, bool attention) {
  RunConfig config;
  SequenceXorConfig sequence;
  sequence.length = 7;
  XorConfig bits;
  bits.bits = 3;
  bits.jitter = 0.1;
  bits.label_noise = 0.05;
  if (attention) config.task = sequence;
  else config.task = bits;
  config.model.d_model = 10;  // odd sizes: vector bodies and scalar tails both occur
  config.model.ffn = ffn;
  if (attention) {
    config.model.blocks = 2;
    config.model.attention.emplace();
    config.model.attention->heads = 2;
    config.model.norm.kind = "layer";
    config.model.residual = true;
  }
  config.train.steps = 23;
  config.train.batch_size = 9;
  config.train.eval_every = 5;
  config.train.eval_examples = 33;
  config.train.checkpoint_every = 1000;
  config.train.clip_norm = 1.0;
  return config;
}

template <class Config>
FfnConfig some_ffn(const char* activation, double dropout = 0.2) {
  Config config;
  config.d_ff = 13;
  config.activation = activation;
  config.dropout = dropout;
  return config;
}

inline std::vector<std::pair<std::string, RunConfig>> cases() {
  std::vector<std::pair<std::string, RunConfig>> out;
  for (const bool attention : {false, true}) {
    const std::string where = attention ? " in blocks" : " alone";
    for (const auto& phi : activations())
      out.emplace_back(std::string("positionwise ") + phi.name + where, base(some_ffn<PositionwiseConfig>(phi.name), attention));
    out.emplace_back("gated" + where, base(some_ffn<GatedConfig>("silu"), attention));
    out.emplace_back("moe" + where, base(some_ffn<MoeConfig>("gelu"), attention));
    auto moe = std::get<MoeConfig>(some_ffn<MoeConfig>("mish"));
    moe.gated = true;
    moe.num_experts = 3;
    out.emplace_back("moe of gated" + where, base(moe, attention));
  }
  auto position = base(some_ffn<PositionwiseConfig>("relu"), true);
  position.model.attention->scores = "position";
  position.model.norm.kind = "rms";
  position.model.norm.placement = "sandwich";
  out.emplace_back("attention by position, sandwich RMS", position);
  auto sgd = base(some_ffn<PositionwiseConfig>("tanh"), false);
  sgd.train.optimizer = SgdConfig{};
  sgd.train.schedule = CosineSchedule{};
  out.emplace_back("SGD with cosine", sgd);
  return out;
}

}  // namespace ffn::test
