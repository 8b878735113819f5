#include "ffn/config/accounting.hpp"

namespace ffn {

Cost& Cost::operator+=(const Cost& other) {
  parameters += other.parameters;
  active_parameters += other.active_parameters;
  flops += other.flops;
  return *this;
}

Cost Cost::operator*(std::int64_t times) const { return {parameters * times, active_parameters * times, flops * times}; }

namespace {

Cost dense(std::int64_t parameters, std::int64_t flops) { return {parameters, parameters, flops}; }

Cost two_layer(const FfnSize& ffn, std::int64_t d, bool gated) {
  const auto f = ffn.hidden_width(d);
  const std::int64_t inputs = gated ? 2 : 1;
  return dense((inputs + 1) * d * f + (ffn.bias ? inputs * f + d : 0), 2 * (inputs + 1) * d * f);
}

Cost cost(const PositionwiseConfig& c, std::int64_t d) { return two_layer(c, d, false); }
Cost cost(const GatedConfig& c, std::int64_t d) { return two_layer(c, d, true); }
Cost cost(const Conv1x1Config& c, std::int64_t d) { return two_layer(c, d, false); }
Cost cost(const NoFfnConfig&, std::int64_t) { return {}; }

// Each read slot has `vectors` vectors of width D.
Cost memory_cost(const MemoryFields& c, std::int64_t vectors, std::int64_t d) {
  const auto query = c.heads * c.key_width, norm = c.query_norm ? 2 * c.key_width : 0, read = c.heads * c.top_k * vectors * d;
  const auto finding = d * query + c.heads * c.keys * c.key_width, rest = (c.bias ? query : 0) + norm;
  return {finding + rest + c.slots() * vectors * d, finding + rest + read, 2 * (finding + read)};
}
Cost cost(const PkmConfig& c, std::int64_t d) { return memory_cost(c, 1, d); }
Cost cost(const PeerConfig& c, std::int64_t d) { return memory_cost(c, 2, d); }

Cost formula_cost(const FormulaText& text, const FfnSize& size, std::int64_t d) {
  const auto graph = graph_of(text, d, size);
  return dense(graph.num_parameters(), graph.flops());
}
Cost cost(const FormulaConfig& c, std::int64_t d) { return formula_cost(c.text, c, d); }

// One overload per kind of router.
Cost router_map(const MoeConfig& c, std::int64_t d) { return dense(d * c.num_experts, 2 * d * c.num_experts); }
Cost router_cost(const TopKFields&, const MoeConfig& c, std::int64_t d) { return router_map(c, d); }
Cost router_cost(const NoisyTopKConfig&, const MoeConfig& c, std::int64_t d) { return router_map(c, d) * 2; }
Cost router_cost(const ExpertChoiceConfig&, const MoeConfig& c, std::int64_t d) { return router_map(c, d); }

Cost cost(const MoeConfig& c, std::int64_t d) {
  const Cost expert = c.expert ? formula_cost(*c.expert, c, d) : two_layer(c, d, c.gated);
  Cost out = std::visit([&](const auto& router) { return router_cost(router, c, d); }, c.router);
  out += {c.num_experts * expert.parameters, c.top_k * expert.parameters, c.top_k * expert.flops};
  if (c.shared_experts > 0) out += two_layer(c.shared_size(d), d, c.gated);
  return out;
}

}  // namespace

Cost ffn_cost(const FfnConfig& ffn, std::int64_t d_model) {
  return std::visit([&](const auto& c) { return cost(c, d_model); }, ffn);
}

Cost attention_cost(const AttentionConfig& a, std::int64_t d, std::int64_t t) {
  if (a.scores == "position") return dense(2 * d * d + a.heads * t * t + (a.bias ? 2 * d : 0), 4 * d * d + 2 * t * d);
  return dense(4 * d * d + (a.bias ? 4 * d : 0) + (a.qk_norm ? 2 * d / a.heads : 0), 8 * d * d + 4 * t * d);
}

ModelCost model_cost(const ModelConfig& m, const TaskShape& task) {
  const auto d = m.d_model;
  ModelCost out;
  if (m.attention) out.attention = attention_cost(*m.attention, d, task.sequence_length);
  std::int64_t sublayers = 0;  // of all blocks
  for (std::int64_t b = 0; b < (m.differs_by_block() ? m.blocks : 1); ++b) {
    const ModelConfig block = m.of_block(b);
    const std::int64_t alike = m.differs_by_block() ? 1 : m.blocks;
    const Cost ffn = ffn_cost(block.ffn, d), all = ffn * alike;
    out.ffns += m.share_ffn ? Cost{ffn.parameters, ffn.active_parameters, all.flops} : all;
    sublayers += alike * (block.parallel ? 1 : (m.attention ? 1 : 0) + (std::holds_alternative<NoFfnConfig>(block.ffn) ? 0 : 1));
  }
  const auto places = m.norm.places();
  const std::int64_t per_norm = m.norm.centres() ? 2 * d : d;
  out.norms = dense((sublayers * places.per_sublayer() + (places.at_end ? 1 : 0)) * per_norm, 0);
  const auto in = task.input_width, classes = task.num_classes;
  if (task.tokens) {
    out.ends += dense(in * d, 0);  // a look-up
    if (m.positions == "learned") out.ends += dense(task.sequence_length * d, 0);
  } else {
    out.ends += dense(in * d + d, 2 * in * d);
  }
  out.ends += dense((m.tie ? 0 : d * classes) + classes, 2 * d * classes);

  out.total += out.attention * m.blocks;
  out.total += out.ffns;
  out.total += out.norms;
  out.total += out.ends;
  return out;
}

}  // namespace ffn
