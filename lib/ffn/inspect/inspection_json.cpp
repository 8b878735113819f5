#include "ffn/inspect/inspection_json.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "ffn/base/suggest.hpp"

namespace ffn::inspect {

namespace {

Json logits_json(const std::vector<ClassLogit>& classes, const Inputs& inputs) {
  Json out = Json::array();
  for (const auto& each : classes)
    out.push_back({{"class", inputs.characters.empty() ? Json(each.index) : Json(inputs.characters[static_cast<std::size_t>(each.index)])},
                   {"logit", each.logit}});
  return out;
}

Json examples_json(const std::vector<Example>& examples, const Inputs& inputs) {
  Json out = Json::array();
  for (const auto& example : examples) {
    Json along = Json::array();
    for (const float x : example.along) along.push_back(std::isfinite(x) ? Json(static_cast<double>(x)) : Json());
    out.push_back({{"example", example.token / inputs.length},
                   {"position", example.token % inputs.length},
                   {"activation", example.activation},
                   {"text", join(example.names, "")},
                   {"along", along}});
  }
  return out;
}

Json signs_json(const std::array<double, 4>& signs) {
  return {{"gate+ up+", signs[0]}, {"gate+ up-", signs[1]}, {"gate- up+", signs[2]}, {"gate- up-", signs[3]}};
}

Json neuron_json(const Inspection& inspection, const NeuronPlace& place, const ExampleLimits& limits) {
  const auto& rows = inspection.values[place.block].hidden[place.part];
  const auto& report = inspection.blocks[place.block].hidden[place.part];
  const auto& neuron = report.neurons[static_cast<std::size_t>(place.neuron)];
  const auto if_finite = [&](const auto& x) { return report.finite ? Json(x) : Json(); };
  Json out = {{"name", neuron_name(inspection, place.block, place.part, neuron.index)},
              {"fires", neuron.fires},
              {"mean_size", neuron.mean_size},
              {"peak", neuron.peak},
              {"dead", if_finite(neuron.dead)},
              {"always_on", if_finite(neuron.always_on)},
              {"key_norm", neuron.key_norm},
              {"value_norm", neuron.value_norm},
              {"cosine", neuron.cosine},
              {"writes", neuron.writes()}};
  if (rows.gated()) {
    out["up_norm"] = neuron.up_norm;
    out["signs"] = signs_json(neuron.signs);
  }
  if (neuron.reads_out()) {
    out["towards"] = logits_json(neuron.towards, inspection.inputs);
    out["against"] = logits_json(neuron.against, inspection.inputs);
  }
  if (!report.finite) {
    out["examples"] = nullptr;
    return out;
  }
  const auto examples = examples_of(rows, neuron.index, inspection.inputs, limits);
  out["examples"]["top"] = examples_json(examples.top, inspection.inputs);
  if (limits.random > 0) {
    out["examples"]["middle"] = examples_json(examples.middle, inspection.inputs);
    out["examples"]["random"] = examples_json(examples.random, inspection.inputs);
  }
  return out;
}

Json hidden_json(const Inspection& inspection, std::size_t block, std::size_t part) {
  const auto& report = inspection.blocks[block].hidden[part];
  const auto if_finite = [&](const auto& x) { return report.finite ? Json(x) : Json(); };
  Json out = {{"tokens", report.tokens},
              {"neurons", report.width},
              {"rms", report.rms},
              {"zeros", report.zeros},
              {"near_zeros", report.near_zeros},
              {"fires", report.fires},
              {"dead", if_finite(report.dead)},
              {"always_on", if_finite(report.always_on)},
              {"rates", if_finite(report.rates)},
              {"effective_rank", report.effective_rank},
              {"rank_tokens", if_finite(report.rank_tokens)}};
  if (report.gated) {
    out["gate_near_zeros"] = report.gate_near_zeros;
    out["up_near_zeros"] = report.up_near_zeros;
    out["signs"] = signs_json(report.signs);
  }
  if (report.agreement) {
    out["agreement"] = report.agreement->share;
    out["agreement_by_chance"] = report.agreement->by_chance;
  }
  const auto patterns = patterns_of(inspection.values[block].hidden[part], inspection.kinds, 64, 64);
  Json kinds = Json::array();
  for (const auto kind : patterns.kinds) kinds.push_back(inspection.kinds.names[static_cast<std::size_t>(kind)]);
  out["patterns"] = {{"inputs", kinds}, {"neurons", patterns.neurons}, {"mean", patterns.mean}};
  Json neurons = Json::array();
  for (const auto& neuron : report.neurons) neurons.push_back(neuron_json(inspection, {block, part, neuron.index}, {3, 0, 24}));
  out["each"] = std::move(neurons);
  return out;
}

Json routing_json(const RoutingReport& report, const TokenKinds& kinds) {
  if (!report.finite) return {{"experts", report.num_experts}, {"top_k", report.top_k}, {"tokens", report.tokens}, {"each", nullptr}};
  Json out = {{"experts", report.num_experts},
              {"top_k", report.top_k},
              {"tokens", report.tokens},
              {"load_entropy", report.load_entropy},
              {"effective_experts", report.effective_experts},
              {"max_violation", report.max_violation},
              {"token_entropy", report.token_entropy},
              {"repeats", report.repeats},
              {"repeats_by_chance", report.repeats_by_chance},
              {"together", report.together}};
  Json each = Json::array();
  for (const auto& expert : report.experts) {
    Json takes = Json::array();
    for (const auto& taken : expert.takes)
      takes.push_back({{"token", kinds.names[static_cast<std::size_t>(taken.kind)]}, {"share", taken.share}});
    each.push_back({{"load", expert.load}, {"mean_weight", expert.mean_weight}, {"takes", takes}, {"by_position", expert.by_position}});
  }
  out["each"] = std::move(each);
  return out;
}

Json surface_json(const Surface& s) {
  constexpr const char* kKinds[] = {"curve", "classes", "numbers"};
  Json examples = Json::array();
  for (const auto& e : s.examples) {
    examples.push_back({{"for", e.trained ? "training" : "validation"}, {"at", {e.x, e.y}}});
    if (s.kind == Surface::Kind::classes) examples.back()["class"] = e.kind;
  }
  std::vector<std::int64_t> shape(s.names.size(), s.side);
  shape.push_back(s.outputs);
  return {{"kind", kKinds[static_cast<int>(s.kind)]},
          {"inputs", s.names},
          {"kinds", s.kinds},
          {"low", s.low},
          {"high", s.high},
          {"shape", shape},
          {"values", s.values},
          {"zeros", s.zeros},
          {"examples", examples}};
}

}  // namespace

Json to_json(const Inspection& inspection, const NeuronPlace& place) {
  Json out = neuron_json(inspection, place, {});
  out["notes"] = inspection.notes;
  return out;
}

Json to_json(const Inspection& inspection) {
  Json out = {{"inputs", inspection.inputs.source},
              {"tokens", inspection.inputs.num_tokens()},
              {"near_zero_below", kNearZero},
              {"notes", inspection.notes}};
  Json blocks = Json::array();
  for (std::size_t b = 0; b < inspection.blocks.size(); ++b) {
    const auto& report = inspection.blocks[b];
    Json block = {{"block", b}};
    Json hidden = Json::array();
    for (std::size_t part = 0; part < report.hidden.size(); ++part) hidden.push_back(hidden_json(inspection, b, part));
    block["hidden"] = std::move(hidden);
    if (report.routing) block["routing"] = routing_json(*report.routing, inspection.kinds);
    Json heads = Json::array();
    const auto& attention = inspection.values[b].attention;
    const auto square = static_cast<std::ptrdiff_t>(attention.length * attention.length);
    for (std::size_t h = 0; h < report.heads.size(); ++h) {
      Json looks_at = Json::array();
      for (const auto& looked : report.heads[h].looks_at) looks_at.push_back({{"offset", looked.offset}, {"share", looked.share}});
      const auto first = attention.mean.begin() + static_cast<std::ptrdiff_t>(h) * square;
      heads.push_back(
          {{"entropy", report.heads[h].entropy}, {"looks_at", looks_at}, {"mean_map", std::vector<double>(first, first + square)}});
    }
    if (!report.heads.empty()) block["attention"] = std::move(heads);
    blocks.push_back(std::move(block));
  }
  out["blocks"] = std::move(blocks);
  if (inspection.surface) out["surface"] = surface_json(*inspection.surface);
  return out;
}

}  // namespace ffn::inspect
