// Parameters and FLOPs against published models and sums by hand.
#include <nlohmann/json.hpp>

#include "ffn/config/accounting.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

template <class Ffn>
Ffn of_width(std::int64_t d_ff, bool bias) {
  Ffn ffn;
  ffn.d_ff = d_ff;
  ffn.bias = bias;
  return ffn;
}

AttentionConfig attention(std::int64_t heads, bool bias = false, const char* scores = "content") {
  AttentionConfig config;
  config.heads = heads;
  config.bias = bias;
  config.scores = scores;
  return config;
}

}  // namespace

TEST_CASE("the base Transformer's layer: 1 048 576 in attention, 2 099 712 in the FFN") {
  CHECK(attention_cost(attention(8), 512, 64).parameters == 1'048'576);
  CHECK(ffn_cost(of_width<PositionwiseConfig>(2048, true), 512).parameters == 2'099'712);
  CHECK(ffn_cost(of_width<PositionwiseConfig>(2048, true), 512).flops == 4 * 512 * 2048);
}

TEST_CASE("the toy layer of width 8 and 32: 256 and 552") {
  CHECK(attention_cost(attention(2), 8, 8).parameters == 256);
  CHECK(ffn_cost(of_width<PositionwiseConfig>(32, true), 8).parameters == 552);
}

TEST_CASE("GPT-3's layer: attention a third, FFN two thirds") {
  // Brown et al. 2020, arXiv:2005.14165, table 2.1: d_model 12288, 96 heads, d_ff = 4 d_model.
  CHECK(attention_cost(attention(96), 12288, 2048).parameters == 603'979'776);
  CHECK(attention_cost(attention(96, true), 12288, 2048).parameters == 604'028'928);
  CHECK(ffn_cost(of_width<PositionwiseConfig>(49152, false), 12288).parameters == 1'207'959'552);
  CHECK(ffn_cost(of_width<PositionwiseConfig>(49152, true), 12288).parameters == 1'208'020'992);
}

TEST_CASE("Mixtral's experts") {
  // Jiang et al. 2024, arXiv:2401.04088: d_model 4096, d_ff 14336, 2 of 8 experts, SwiGLU without biases.
  CHECK(ffn_cost(of_width<GatedConfig>(14336, false), 4096).parameters == 176'160'768);
  auto moe = of_width<MoeConfig>(14336, false);
  moe.gated = true;
  const Cost cost = ffn_cost(moe, 4096);
  CHECK(cost.parameters == 8 * std::int64_t{176'160'768} + 32'768);
  CHECK(cost.active_parameters == 2 * std::int64_t{176'160'768} + 32'768);
  CHECK(cost.flops == 2 * cost.active_parameters);
}

TEST_CASE("a mixture of one plain expert is the plain layer and its router") {
  auto moe = of_width<MoeConfig>(32, true);
  moe.num_experts = moe.top_k = 1;
  const Cost plain = ffn_cost(of_width<PositionwiseConfig>(32, true), 8), one = ffn_cost(moe, 8);
  CHECK(one.parameters == plain.parameters + 8);
  CHECK(one.active_parameters == one.parameters);
  CHECK(one.flops == plain.flops + 2 * 8);
}

TEST_CASE("a gated layer has three matrices, and biases for gate, up and down") {
  const Cost cost = ffn_cost(of_width<GatedConfig>(32, true), 8);
  CHECK(cost.parameters == 3 * 8 * 32 + 2 * 32 + 8);
  CHECK(cost.flops == 6 * 8 * 32);
  CHECK(ffn_cost(NoFfnConfig{}, 8).parameters == 0);
}

TEST_CASE("attention's FLOPs grow with the sequence, its parameters by position with its square") {
  CHECK(attention_cost(attention(2), 8, 16).flops == 8 * 64 + 4 * 16 * 8);
  const Cost position = attention_cost(attention(2, true, "position"), 8, 16);
  CHECK(position.parameters == 2 * 64 + 2 * 16 * 16 + 2 * 8);
  CHECK(position.flops == 4 * 64 + 2 * 16 * 8);
}

TEST_CASE("normed queries and keys have a gain for each element of a head") {
  auto normed = attention(2);
  normed.qk_norm = true;
  CHECK(attention_cost(normed, 8, 16).parameters == 4 * 64 + 2 * 4);
  CHECK(attention_cost(normed, 8, 16).flops == attention_cost(attention(2), 8, 16).flops);
}

TEST_CASE("a parallel block has one norm") {
  ModelConfig model;
  model.d_model = 8;
  model.blocks = 2;
  model.attention = attention(2);
  model.norm.kind = "rms";
  model.parallel = true;
  CHECK(model_cost(model, TaskShape{true, 2, 8, 2}).norms.parameters == (2 + 1) * 8);  // one in each block, one before the head
}

TEST_CASE("blocks that differ are counted one by one") {
  ModelConfig model;
  model.d_model = 8;
  model.blocks = 3;
  model.attention = attention(2);
  model.norm.kind = "rms";
  model.block_expansion = Json{2, 0, 0.5};
  const TaskShape tokens{true, 5, 4, 5};
  const auto serial = model_cost(model, tokens);
  CHECK(serial.ffns.parameters == (2 * 8 * 16 + 16 + 8) + (2 * 8 * 4 + 4 + 8));
  CHECK(serial.ffns.flops == 4 * 8 * 16 + 4 * 8 * 4);
  CHECK(serial.norms.parameters == (2 + 1 + 2 + 1) * 8);  // none before a layer that is not there; one before the head
  model.parallel = true;
  model.parallel_from = 2;
  CHECK(model_cost(model, tokens).norms.parameters == (2 + 1 + 1 + 1) * 8);
}

TEST_CASE("shared experts may have a width of their own") {
  MoeConfig moe;
  moe.d_ff = 16;
  moe.shared_experts = 2;
  CHECK(moe.shared_size(8).hidden_width(8) == 32);
  moe.shared_expansion = 0.5;
  CHECK(moe.shared_size(8).hidden_width(8) == 8);
}

TEST_CASE("a shared layer's parameters count once, its FLOPs in every block") {
  ModelConfig model;
  model.d_model = 8;
  model.blocks = 3;
  const TaskShape task{true, 2, 8, 2};
  const Cost apart = model_cost(model, task).total;
  model.share_ffn = true;
  const Cost shared = model_cost(model, task).total;
  CHECK(apart.parameters - shared.parameters == 2 * 552);
  CHECK(apart.active_parameters - shared.active_parameters == 2 * 552);
  CHECK(shared.flops == apart.flops);
}

TEST_CASE("a tied head has the embedding's matrix: V·D parameters fewer, the same FLOPs") {
  ModelConfig model;
  model.d_model = 48;
  const TaskShape text{true, 65, 64, 65};
  const Cost apart = model_cost(model, text).total;
  model.tie = true;
  const Cost tied = model_cost(model, text).total;
  CHECK(apart.parameters - tied.parameters == 65 * 48);
  CHECK(apart.active_parameters - tied.active_parameters == 65 * 48);
  CHECK(tied.flops == apart.flops);
}

TEST_CASE("the hidden width is d_ff, or a rounded multiple of d_model") {
  PositionwiseConfig ffn;
  CHECK(ffn.hidden_width(8) == 32);
  ffn.expansion = 8.0 / 3;
  CHECK(ffn.hidden_width(128) == 341);
  ffn.expansion = 0.01;
  CHECK(ffn.hidden_width(8) == 1);
  ffn.d_ff = 7;
  CHECK(ffn.hidden_width(8) == 7);
}

TEST_CASE("a whole model for vectors, counted by hand") {
  ModelConfig model;
  model.d_model = 8;
  const auto cost = model_cost(model, TaskShape{false, 2, 1, 2});
  CHECK(cost.ffns.parameters == 552);
  CHECK(cost.ends.parameters == (2 * 8 + 8) + (8 * 2 + 2));
  CHECK(cost.norms.parameters == 0);
  CHECK(cost.attention.parameters == 0);
  CHECK(cost.total.parameters == 594);
  CHECK(cost.total.active_parameters == 594);
  CHECK(cost.total.flops == 2 * 2 * 8 + 4 * 8 * 32 + 2 * 8 * 2);
}

TEST_CASE("a whole model for tokens, counted by hand") {
  ModelConfig model;
  model.d_model = 8;
  model.blocks = 2;
  model.attention = attention(2);
  model.norm.kind = "layer";
  const TaskShape task{true, 2, 8, 2};
  const auto cost = model_cost(model, task);
  CHECK(cost.norms.parameters == (2 * 2 + 1) * 2 * 8);  // two sub-layers in two blocks, one before the head
  CHECK(cost.ends.parameters == 2 * 8 + 8 * 8 + (8 * 2 + 2));
  CHECK(cost.total.parameters == 16 + 64 + 2 * (256 + 552) + 80 + 18);
  model.norm.kind = "rms";
  CHECK(model_cost(model, task).norms.parameters == 5 * 8);
  model.norm.placement = "post";
  CHECK(model_cost(model, task).norms.parameters == 4 * 8);
  model.norm.placement = "sandwich";
  CHECK(model_cost(model, task).norms.parameters == 9 * 8);
  model.positions = "none";
  CHECK(model_cost(model, task).ends.parameters == 2 * 8 + (8 * 2 + 2));
  model.ffn = NoFfnConfig{};
  CHECK(model_cost(model, task).norms.parameters == 5 * 8);
}

TEST_CASE("the largest model that a config can describe is still counted exactly") {
  ModelConfig model;
  model.d_model = 65536;
  model.blocks = 256;
  model.attention = attention(65536, true, "position");
  auto moe = of_width<MoeConfig>(1 << 20, true);
  moe.num_experts = moe.top_k = 1024;
  moe.gated = true;
  model.ffn = moe;
  const auto cost = model_cost(model, TaskShape{true, 0x110000, 65536, 0x110000});
  CHECK(cost.total.parameters > 0);
  CHECK(cost.total.flops > 0);
  CHECK(static_cast<double>(ffn_cost(moe, model.d_model).parameters) == Approx(1024.0 * 3 * 65536 * (1 << 20)).epsilon(1e-4));
}
