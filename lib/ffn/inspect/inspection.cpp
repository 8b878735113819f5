#include "ffn/inspect/inspection.hpp"

#include <algorithm>
#include <numeric>

#include "ffn/base/error.hpp"
#include "ffn/base/text.hpp"
#include "ffn/config/accounting.hpp"
#include "ffn/config/coverage.hpp"
#include "ffn/report/format.hpp"
#include "ffn/train/trained.hpp"

namespace ffn::inspect {

namespace {

ModelConfig covered(const ModelConfig& model) {
  const std::string lacks = not_covered(model);
  if (!lacks.empty())
    throw UsageError("inspect cannot look into " + lacks + ": it computes with the cpu engine, which does not cover it",
                     "train another kind or router to look into, or load the run in Python");
  return model;
}

TaskShape usable_shape(const RunConfig& config, const TensorFile& weights) {
  const auto shape = trained_shape(config.task, weights.metadata);
  require_usable(config, shape, weights);
  return shape;
}

}  // namespace

TrainedNetwork::TrainedNetwork(const RunConfig& config, const TensorFile& weights)
    : model_(covered(config.model)),
      network_(model_, usable_shape(config, weights)),
      row_(static_cast<std::size_t>(network_.layout().width())) {
  network_.layout().import_row(row_.data(), weights.tensors);
}

std::int64_t most_tokens(const RunConfig& config, const TaskShape& shape) {
  constexpr std::int64_t kMost = 1 << 17, kLeast = 1 << 8, kFlops = 10'000'000'000, kFloats = 1 << 26;
  std::int64_t width = 0;  // of the hidden layers of all blocks
  for (std::int64_t b = 0; b < config.model.blocks; ++b) {
    const ModelConfig block = config.model.of_block(b);
    const FfnSize* size = size_of(block.ffn);
    width += size ? size->hidden_width(block.d_model) : 1;
  }
  const auto* moe = std::get_if<MoeConfig>(&config.model.ffn);
  const bool gated = std::holds_alternative<GatedConfig>(config.model.ffn) || (moe && moe->gated);
  const std::int64_t kept = width * (moe ? moe->top_k : 1) * (gated ? 4 : 2);
  return std::clamp(std::min(kFlops / std::max<std::int64_t>(1, model_cost(config.model, shape).total.flops), kFloats / kept), kLeast,
                    kMost);
}

constexpr std::size_t kMostOffsets = 4;

std::vector<HeadReport> heads_of(const AttentionRows& attention) {
  std::vector<HeadReport> out;
  const std::int64_t length = attention.length;
  for (std::int64_t h = 0; h < attention.heads; ++h) {
    HeadReport head;
    head.entropy = attention.entropy[static_cast<std::size_t>(h)];
    for (std::int64_t offset = 1 - length; offset < length; ++offset) {
      double sum = 0;
      for (std::int64_t i = std::max<std::int64_t>(0, -offset); i < std::min(length, length - offset); ++i)
        sum += attention.mean[static_cast<std::size_t>((h * length + i) * length + i + offset)];
      if (sum > 0) head.looks_at.push_back({offset, sum / static_cast<double>(length)});
    }
    std::stable_sort(head.looks_at.begin(), head.looks_at.end(), [](const Looked& a, const Looked& b) { return a.share > b.share; });
    if (head.looks_at.size() > kMostOffsets) head.looks_at.resize(kMostOffsets);
    out.push_back(std::move(head));
  }
  return out;
}

namespace {

// A formula's text says what its neurons are.
void note_hidden_layer(Inspection& i, const ModelConfig& model) {
  const auto graph = graph_of(*layer_formula(model.ffn), model.d_model, *size_of(model.ffn));
  const auto hidden = hidden_layer(graph).value();
  const auto text = [&](int node) { return graph.nodes[static_cast<std::size_t>(node)].text; };
  i.notes.push_back("the hidden layer is what the last product reads: " + text(hidden.value) + "; a neuron fires where " +
                    (hidden.pre_activation < 0 ? "its value" : text(hidden.pre_activation)) + " is above 0");
}

void note_overflows(Inspection& i) {
  std::vector<std::string> hidden, routers;
  for (std::size_t b = 0; b < i.blocks.size(); ++b) {
    const auto& block = i.blocks[b];
    if (std::any_of(block.hidden.begin(), block.hidden.end(), [](const HiddenReport& part) { return !part.finite; }))
      hidden.push_back(std::to_string(b));
    if (block.routing && !block.routing->finite) routers.push_back(std::to_string(b));
  }
  const auto blocks = [](const std::vector<std::string>& names) { return (names.size() == 1 ? "block " : "blocks ") + join(names); };
  if (!hidden.empty()) i.notes.push_back("activations of " + blocks(hidden) + " are not finite: what rests on them is not shown");
  if (!routers.empty())
    i.notes.push_back("the router's probabilities of " + blocks(routers) + " are not finite: what the experts take is not shown");
}

// An effective rank cannot exceed the number of tokens that it was measured on.
void note_ranks(Inspection& i) {
  constexpr std::size_t kMostNamed = 4;
  std::int64_t drawn = 0;
  std::vector<std::string> few;
  for_each_part(i, [&](std::size_t b, std::size_t part, const HiddenReport& r) {
    if (r.rank_tokens == 0 || r.rank_tokens >= r.width) return;
    if (r.rank_tokens < r.tokens) drawn = r.rank_tokens;
    else if (i.blocks[b].routing)
      few.push_back(part_name(i, b, part) + " (" + std::to_string(r.tokens) + (r.tokens == 1 ? " token)" : " tokens)"));
  });
  if (drawn > 0)
    i.notes.push_back("the layer is wide: its effective rank was measured on " + std::to_string(drawn) +
                      " tokens and cannot be above that");
  if (few.empty()) return;
  const auto named = std::min(kMostNamed, few.size()), more = few.size() - named;
  i.notes.push_back((few.size() == 1 ? "expert " : "experts ") + join({few.begin(), few.begin() + static_cast<std::ptrdiff_t>(named)}) +
                    (more > 0 ? " and " + std::to_string(more) + " more" : std::string()) + " got fewer tokens than " +
                    (few.size() == 1 ? "it has" : "each has") + " neurons: an effective rank cannot be above the number of tokens");
}

void note_dead_layers(Inspection& i) {
  for_each_part(i, [&](std::size_t b, std::size_t, const HiddenReport& r) {
    if (r.tokens == 0 || r.dead != r.width) return;
    i.notes.push_back("all neurons of " + std::string(i.blocks[b].routing ? "an expert of " : "") + "block " + std::to_string(b) +
                      " are dead: whatever it reads, it writes the same");
  });
}

}  // namespace

Inspection look_inside(TrainedNetwork& trained, Inputs inputs) {
  Inspection out;
  const auto& model = trained.model();
  const auto parameters = trained.parameters();
  out.values = capture(model, trained.network(), trained.row(), inputs);
  out.kinds = token_kinds(inputs);
  const ReadOut read_out(parameters, model, inputs.shape.num_classes);
  for (std::size_t b = 0; b < out.values.size(); ++b) {
    const auto& values = out.values[b];
    BlockReport block;
    block.heads = heads_of(values.attention);
    const bool mixture = values.routed.num_experts > 0;
    if (mixture) block.routing = report_on(values.routed, out.kinds, inputs);
    // Without a residual stream the next block makes something else of what this one writes.
    const bool reaches_head = model.residual || b + 1 == out.values.size();
    for (std::size_t e = 0; e < values.hidden.size(); ++e) {
      const auto& rows = values.hidden[e];
      const auto weights = keys_and_values(parameters, model, static_cast<std::int64_t>(b),
                                           mixture ? std::optional<std::int64_t>(e) : std::nullopt, rows.width);
      block.hidden.push_back(report_on(rows, weights, reaches_head ? &read_out : nullptr, inputs.num_tokens()));
      block.hidden.back().agreement = agreement_of(rows, block.hidden.back(), inputs);
    }
    out.blocks.push_back(std::move(block));
  }
  const std::size_t shown = first_hidden_layer(out);
  if (std::holds_alternative<NoFfnConfig>(model.ffn)) out.notes.emplace_back("the model has no feed-forward layer");
  else if (shown == out.blocks.size())
    out.notes.push_back("the formula " + layer_formula(model.ffn)->formula +
                        " does not end in a product: it has no hidden layer, and no neurons are shown");
  const auto& parts = out.blocks[shown == out.blocks.size() ? 0 : shown].hidden;
  if (formula_of(model.ffn) && !parts.empty()) note_hidden_layer(out, model);
  if (parts.empty()) out.no_neurons = join(out.notes, "; ");
  note_overflows(out);
  note_ranks(out);
  note_dead_layers(out);
  const auto norms = model.norm.places();
  if (!parts.empty() && (norms.on_output || norms.after_sum))
    out.notes.push_back(std::string("a norm follows the layer: the ") + inputs.output_word() + " of values ignore it");
  if (!model.residual && model.blocks > 1)
    out.notes.push_back("without a residual stream only what the last block writes gets to the head as it is: the others' " +
                        std::string(inputs.output_word()) + " are not shown");
  out.inputs = std::move(inputs);
  return out;
}

std::string part_name(const Inspection& inspection, std::size_t block, std::size_t part) {
  return std::to_string(block) + (inspection.blocks[block].routing ? "." + std::to_string(part) : "");
}

std::string neuron_name(const Inspection& inspection, std::size_t block, std::size_t part, std::int64_t neuron) {
  return part_name(inspection, block, part) + "." + std::to_string(neuron);
}

std::string classes_text(const std::vector<ClassLogit>& classes, const Inputs& inputs, std::size_t most) {
  std::vector<std::string> out;
  for (std::size_t k = 0; k < std::min(most, classes.size()); ++k)
    out.push_back(inputs.class_name(classes[k].index) + " " + shown_number(classes[k].logit, 2));
  return out.empty() ? "none" : join(out, " · ");
}

NeuronPlace find_neuron(const Inspection& inspection, const std::string& name) {
  for (std::size_t b = 0; b < inspection.blocks.size(); ++b) {
    for (std::size_t part = 0; part < inspection.blocks[b].hidden.size(); ++part) {
      for (const auto& neuron : inspection.blocks[b].hidden[part].neurons) {
        if (neuron_name(inspection, b, part, neuron.index) == name) return {b, part, neuron.index};
      }
    }
  }
  if (!inspection.no_neurons.empty()) throw UsageError("no neuron is called " + name + ": there are none to name", inspection.no_neurons);
  throw UsageError("no neuron is called " + name, is_mixture(inspection) ? "neurons are named block.expert.neuron, from 0.0.0 on"
                                                                         : "neurons are named block.neuron, from 0.0 on");
}

std::size_t first_hidden_layer(const Inspection& inspection) {
  std::size_t b = 0;
  while (b < inspection.blocks.size() && inspection.blocks[b].hidden.empty()) ++b;
  return b;
}

std::vector<std::int64_t> strongest_writers(const HiddenReport& report, std::size_t most) {
  std::vector<std::int64_t> order(report.neurons.size());
  std::iota(order.begin(), order.end(), 0);
  if (report.finite)
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) {
      return report.neurons[static_cast<std::size_t>(a)].writes() > report.neurons[static_cast<std::size_t>(b)].writes();
    });
  order.resize(std::min(most, order.size()));
  return order;
}

}  // namespace ffn::inspect
