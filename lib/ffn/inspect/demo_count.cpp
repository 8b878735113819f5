// Where the parameters and the FLOPs of published models are, by the same formulas as `ffn-train params`.
#include <nlohmann/json.hpp>

#include "ffn/config/accounting.hpp"
#include "ffn/inspect/demo.hpp"
#include "ffn/report/format.hpp"

namespace ffn::demo {

namespace {

/// As its paper has it.
struct Published {
  const char* name;
  std::int64_t d_model, d_ff, layers;
  bool gated, bias;
  std::int64_t experts, top_k;  ///< 0 without
  double shared_heads;          ///< keys and values have this share of the heads
  const char *total, *source;
};

constexpr Published kPublished[] = {
    {"Transformer base", 512, 2048, 6, false, true, 0, 0, 1, "", "Vaswani et al. 2017, the encoder"},
    {"BERT base", 768, 3072, 12, false, true, 0, 0, 1, "110M", "Devlin et al. 2018"},
    {"GPT-2 small", 768, 3072, 12, false, true, 0, 0, 1, "124M", "Radford et al. 2019"},
    {"GPT-3", 12288, 49152, 96, false, true, 0, 0, 1, "175B", "Brown et al. 2020"},
    {"LLaMA 7B", 4096, 11008, 32, true, false, 0, 0, 1, "6.7B", "Touvron et al. 2023"},
    {"Mixtral 8x7B", 4096, 14336, 32, true, false, 8, 2, 0.25, "47B", "Jiang et al. 2024"},
};

FfnConfig ffn_of(const Published& p) {
  FfnSize size;
  size.d_ff = p.d_ff;
  size.bias = p.bias;
  if (p.experts > 0) {
    MoeConfig moe;
    static_cast<FfnSize&>(moe) = size;
    moe.num_experts = p.experts;
    moe.top_k = p.top_k;
    moe.gated = p.gated;
    return moe;
  }
  if (p.gated) {
    GatedConfig gated;
    static_cast<FfnSize&>(gated) = size;
    return gated;
  }
  PositionwiseConfig plain;
  static_cast<FfnSize&>(plain) = size;
  return plain;
}

// Queries and outputs of all heads, keys and values of those that they have.
std::int64_t attention_of(const Published& p) {
  AttentionConfig attention;
  attention.bias = p.bias;
  const auto all = attention_cost(attention, p.d_model, 0).parameters;
  return all - 2 * p.d_model * p.d_model + 2 * p.d_model * static_cast<std::int64_t>(p.shared_heads * static_cast<double>(p.d_model));
}

std::string share(std::int64_t part, std::int64_t whole) { return format_percent(static_cast<double>(part) / static_cast<double>(whole)); }

Cost plain_layer(std::int64_t d_model, std::int64_t d_ff) {
  PositionwiseConfig plain;
  plain.d_ff = d_ff;
  return ffn_cost(plain, d_model);
}

Part flops_part(Json& numbers) {
  constexpr std::int64_t kWidth = 768;
  Table table({{"tokens T", Align::right}, {"attention", Align::right}, {"FFN", Align::right}, {"FFN's share", Align::right}});
  const auto ffn = plain_layer(kWidth, 4 * kWidth).flops;
  for (const std::int64_t tokens : {1, 128, 1024, 1536, 8192}) {
    const auto attention = attention_cost({}, kWidth, tokens).flops;
    table.add_row({format_count(tokens), format_count(attention), format_count(ffn), share(ffn, attention + ffn)});
    numbers.push_back({{"tokens", tokens}, {"attention", attention}, {"ffn", ffn}});
  }
  return {
      "FLOPs per token of GPT-2 small's layer, forward. The FFN does the same work whatever the length; attention looks at all T tokens, 8·d² + 4·T·d against 16·d², so that at T = 2·d_model = 1,536 they are equal:",
      {},
      std::move(table)};
}

}  // namespace

Demo count_demo() {
  Demo out;
  out.claim = "Two thirds of a layer's parameters are in its feed-forward network, and where it is a mixture nearly all.";
  Table layers({{"model", Align::left},
                {"d_model", Align::right},
                {"d_ff", Align::right},
                {"attention", Align::right},
                {"FFN", Align::right},
                {"FFN's share", Align::right}});
  Table totals(
      {{"model", Align::left}, {"layers", Align::right}, {"together", Align::right}, {"published", Align::right}, {"source", Align::left}});
  Json models = Json::array(), flops = Json::array();
  for (const auto& p : kPublished) {
    const auto attention = attention_of(p), ffn = ffn_cost(ffn_of(p), p.d_model).parameters;
    layers.add_row(
        {p.name, format_count(p.d_model), format_count(p.d_ff), format_count(attention), format_count(ffn), share(ffn, attention + ffn)});
    totals.add_row({p.name, format_count(p.layers), format_count(p.layers * (attention + ffn)), *p.total ? p.total : "-", p.source});
    models.push_back({{"model", p.name},
                      {"d_model", p.d_model},
                      {"d_ff", p.d_ff},
                      {"layers", p.layers},
                      {"attention", attention},
                      {"ffn", ffn},
                      {"together", p.layers * (attention + ffn)},
                      {"published", p.total}});
  }
  const auto right = plain_layer(512, 2048).parameters, other = plain_layer(1024, 2048).parameters;
  out.parts.push_back(
      {"Parameters of one layer, with biases where the model has them. Attention has four matrices d·d (Mixtral's keys and values a quarter of the heads), the plain FFN two of d·d_ff, LLaMA's and Mixtral's gated "
       "FFNs three, and Mixtral eight of those:",
       {},
       std::move(layers)});
  out.parts.push_back({"All layers, and what was published; the rest are embeddings and norms:", {}, std::move(totals)});
  out.parts.push_back(flops_part(flops));
  out.parts.push_back({"d_model 512, d_ff 2048, with biases: 2·512·2048 + 2048 + 512 = " + format_count(right) +
                       ". Some course texts print " + format_count(other) + ", which is the count of d_model 1024."});
  out.next = "ffn-train params --d-model 768 --d-ff 3072 --sequence 1024";
  out.numbers = Json{{"models", models}, {"flops_per_token", flops}, {"ffn_512_2048", right}, {"ffn_1024_2048", other}};
  return out;
}

}  // namespace ffn::demo
