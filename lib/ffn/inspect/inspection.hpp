// Inspection of a trained run: its inputs, the values that its layers computed, and statistics of both.
#pragma once

#include <algorithm>

#include "ffn/inspect/examples.hpp"
#include "ffn/inspect/experts.hpp"
#include "ffn/inspect/neurons.hpp"
#include "ffn/inspect/patterns.hpp"
#include "ffn/inspect/surface.hpp"

namespace ffn::inspect {

/// How far from itself a position looks, and how much: offset -1 is the token before it.
struct Looked {
  std::int64_t offset;
  double share;  ///< of the attention of all positions
};

struct HeadReport {
  double entropy = 0;            ///< mean over positions, in nats
  std::vector<Looked> looks_at;  ///< by share, from the largest on
};

std::vector<HeadReport> heads_of(const AttentionRows& attention);

struct BlockReport {
  std::vector<HiddenReport> hidden;  ///< one; in a mixture one per expert; none where the layer shows no hidden layer
  std::optional<RoutingReport> routing;
  std::vector<HeadReport> heads;
};

struct Inspection {
  Inputs inputs;
  TokenKinds kinds;
  std::vector<BlockValues> values;
  std::vector<BlockReport> blocks;
  std::vector<std::string> notes;  ///< omissions and their reasons
  std::string no_neurons;          ///< why it has none that could be named; empty where it has
  std::optional<Surface> surface;  ///< of a network of one or two numbers; added by who knows the run
};

/// Calls `f(block, part, report)` for every hidden layer, of a mixture for every expert's.
template <class F>
void for_each_part(const Inspection& i, const F& f) {
  for (std::size_t b = 0; b < i.blocks.size(); ++b) {
    for (std::size_t part = 0; part < i.blocks[b].hidden.size(); ++part) f(b, part, i.blocks[b].hidden[part]);
  }
}

/// Calls `f(block, report)` for every router whose numbers are finite.
template <class F>
void for_each_router(const Inspection& i, const F& f) {
  for (std::size_t b = 0; b < i.blocks.size(); ++b) {
    if (const auto& routing = i.blocks[b].routing; routing && routing->finite) f(b, *routing);
  }
}

inline bool is_mixture(const Inspection& i) {
  return std::any_of(i.blocks.begin(), i.blocks.end(), [](const BlockReport& block) { return block.routing.has_value(); });
}

/// The network of a run as its weights say. Throws UsageError for a model that the cpu engine does not cover, CheckpointError for
/// weights that do not fit.
class TrainedNetwork {
 public:
  TrainedNetwork(const RunConfig& config, const TensorFile& weights);

  const ModelConfig& model() const { return model_; }
  cpu::Network& network() { return network_; }
  const float* row() const { return row_.data(); }
  Parameters parameters() const { return {network_.layout(), row_.data()}; }

 private:
  ModelConfig model_;
  cpu::Network network_;
  std::vector<float> row_;
};

/// Number of tokens that takes about a second and little memory.
std::int64_t most_tokens(const RunConfig& config, const TaskShape& shape);

Inspection look_inside(TrainedNetwork& trained, Inputs inputs);

/// "0", in a mixture "0.3": block, expert.
std::string part_name(const Inspection& inspection, std::size_t block, std::size_t part);

/// "0.17", in a mixture "0.3.17": block, expert, neuron.
std::string neuron_name(const Inspection& inspection, std::size_t block, std::size_t part, std::int64_t neuron);

/// "1 2.3 · 0 −1.1": the first `most` classes with their logits.
std::string classes_text(const std::vector<ClassLogit>& classes, const Inputs& inputs, std::size_t most);

struct NeuronPlace {
  std::size_t block, part;
  std::int64_t neuron;
};
/// Throws UsageError for a name that none has.
NeuronPlace find_neuron(const Inspection& inspection, const std::string& name);

/// The first block with a hidden layer to show; their number where none has one.
std::size_t first_hidden_layer(const Inspection& inspection);

/// The most telling neurons of a hidden layer: those that write most on average; by number where that is not known.
std::vector<std::int64_t> strongest_writers(const HiddenReport& report, std::size_t most);

}  // namespace ffn::inspect
