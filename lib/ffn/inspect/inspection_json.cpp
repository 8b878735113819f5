#include "ffn/inspect/inspection_json.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "ffn/base/text.hpp"

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

struct PatternLimits {
  std::size_t kinds = 64, neurons = 64;
};

Json hidden_json(const Inspection& inspection, std::size_t block, std::size_t part, const PatternLimits& most) {
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
  const auto patterns = patterns_of(inspection.values[block].hidden[part], inspection.kinds, most.kinds, most.neurons);
  Json kinds = Json::array();
  for (const auto kind : patterns.kinds) kinds.push_back(inspection.kinds.names[static_cast<std::size_t>(kind)]);
  out["patterns"] = {{"inputs", kinds}, {"neurons", patterns.neurons}, {"mean", patterns.mean}};
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

namespace {

// Without its neurons one by one, and without its surface.
Json outline_json(const Inspection& inspection, const PatternLimits& most) {
  Json out = {{"inputs", inspection.inputs.source},
              {"tokens", inspection.inputs.num_tokens()},
              {"near_zero_below", kNearZero},
              {"notes", inspection.notes}};
  Json blocks = Json::array();
  for (std::size_t b = 0; b < inspection.blocks.size(); ++b) {
    const auto& report = inspection.blocks[b];
    Json block = {{"block", b}};
    Json hidden = Json::array();
    for (std::size_t part = 0; part < report.hidden.size(); ++part) hidden.push_back(hidden_json(inspection, b, part, most));
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
  return out;
}

// As a picture has them: runs of [kind · 9 + strength in eighths, cells], -1 without a number, on at most `most` × `most` places.
Json cells_json(const Surface& s, std::int64_t most) {
  constexpr std::int64_t kLevels = 8;
  const std::int64_t side = std::min(s.side, most);
  std::vector<std::int64_t> runs;
  for (std::int64_t row = 0; row < side; ++row) {
    for (std::int64_t column = 0; column < side; ++column) {
      const auto cell = s.cell((2 * column + 1) * s.side / (2 * side), (2 * row + 1) * s.side / (2 * side));
      const std::int64_t code = cell.kind < 0 ? -1 : cell.kind * (kLevels + 1) + std::lround(cell.strength * kLevels);
      if (runs.empty() || runs[runs.size() - 2] != code) runs.insert(runs.end(), {code, 0});
      ++runs.back();
    }
  }
  return {{"side", side}, {"runs", runs}};
}

}  // namespace

Json to_json(const Inspection& inspection) {
  Json out = outline_json(inspection, {});
  for_each_part(inspection, [&](std::size_t b, std::size_t part, const HiddenReport& report) {
    Json& each = out["blocks"][b]["hidden"][part]["each"] = Json::array();
    for (const auto& neuron : report.neurons) each.push_back(neuron_json(inspection, {b, part, neuron.index}, {3, 0, 24}));
  });
  if (inspection.surface) out["surface"] = surface_json(*inspection.surface);
  return out;
}

Json drawn_json(const Inspection& inspection) {
  Json out = outline_json(inspection, is_mixture(inspection) ? PatternLimits{24, 64} : PatternLimits{40, 80});
  out["pattern_rows"] = !inspection.inputs.shape.tokens    ? "an input"
                        : inspection.kinds.tokens_each > 1 ? "what the last tokens are"
                                                           : "a character";
  out["kinds"] = inspection.kinds.names.size();
  if (inspection.surface)
    out["surfaces"] = {{"panels", {drawn_json(SurfacePanel{"", {""}, {*inspection.surface}})}}, {"notes", Json::array()}};
  return out;
}

Json drawn_json(const SurfacePanel& panel) {
  constexpr std::int64_t kAlone = 100, kBeside = 44;  // places
  const std::size_t most_examples = panel.surfaces.size() == 1 ? 2000 : 120;
  Json out = {{"title", panel.title}, {"names", panel.names}, {"surfaces", Json::array()}};
  for (const auto& s : panel.surfaces) {
    Json one = surface_json(s);
    one.erase("values");
    one.erase("examples");
    if (s.kind == Surface::Kind::curve) one["values"] = s.values;
    else one["cells"] = cells_json(s, panel.surfaces.size() == 1 ? kAlone : kBeside);
    const std::size_t stride = (s.examples.size() + most_examples - 1) / most_examples;
    for (std::size_t i = 0; i < s.examples.size(); i += stride) {
      const auto& e = s.examples[i];
      one["marks"].push_back({e.x, e.y, e.kind, e.trained ? 1 : 0});
    }
    if (s.kind == Surface::Kind::curve && !out["surfaces"].empty()) one.erase("marks");  // they are those of the first
    out["surfaces"].push_back(std::move(one));
  }
  return out;
}

Json to_json(const Trace& trace, const Inputs& inputs) {
  const auto step_json = [](const TraceStep& step) -> Json {
    return {{"name", step.name}, {"meaning", step.meaning}, {"rows", step.rows}, {"width", step.width}, {"values", step.values}};
  };
  Json blocks = Json::array();
  for (const auto& block : trace.blocks) {
    Json steps = Json::array();
    for (const auto& step : block.steps) steps.push_back(step_json(step));
    Json heads = Json::array();
    for (const auto& head : block.attention) heads.push_back(step_json(head));
    blocks.push_back({{"attention", heads}, {"routes", block.routes}, {"steps", steps}});
  }
  Json outcomes = Json::array();
  for (const auto& classes : trace.outcomes) {
    Json each = classes.empty() ? Json() : Json::array();
    for (const auto& outcome : classes) each.push_back({{"class", inputs.class_name(outcome.index)}, {"probability", outcome.logit}});
    outcomes.push_back(each);
  }
  return {{"tokens", trace.tokens}, {"blocks", blocks}, {"outcomes", outcomes}, {"notes", trace.notes}};
}

}  // namespace ffn::inspect
