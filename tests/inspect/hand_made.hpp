// Networks whose every weight is written down, so that what they compute is known without computing it.
#pragma once

#include <map>
#include <stdexcept>

#include "ffn/inspect/inspection.hpp"

namespace hand_made {

using namespace ffn;

constexpr TaskShape kPairs{false, 2, 1, 2};

template <class Config>
ModelConfig model_with(Config ffn, std::int64_t d_ff, const char* activation = "relu") {
  ffn.d_ff = d_ff;
  ffn.activation = activation;
  ModelConfig model;
  model.d_model = 2;
  model.ffn = ffn;
  return model;
}

/// A network of vectors with all parameters 0 but those that are named: values row by row as they stand in memory, (D_in, D_out).
struct Made {
  ModelConfig model;
  cpu::Network network;
  std::vector<float> row;
  inspect::Inputs inputs;

  Made(ModelConfig config, const TaskShape& shape, const std::map<std::string, std::vector<float>>& values)
      : model(std::move(config)), network(model, shape), row(static_cast<std::size_t>(network.layout().width()), 0.0f) {
    inputs.shape = shape;
    inputs.length = shape.sequence_length;
    std::size_t written = 0;
    for (const auto& entry : network.layout().entries()) {
      const auto found = values.find(entry.name);
      if (found == values.end()) continue;
      if (static_cast<std::int64_t>(found->second.size()) != entry.count)
        throw std::invalid_argument(entry.name + " has " + std::to_string(entry.count) + " elements");
      std::copy(found->second.begin(), found->second.end(), row.begin() + static_cast<std::ptrdiff_t>(entry.offset));
      ++written;
    }
    if (written != values.size()) throw std::invalid_argument("a parameter that is named is not there");
  }

  std::vector<inspect::BlockValues> values() { return inspect::capture(model, network, row.data(), inputs, /*with_ends=*/true); }
  inspect::Parameters parameters() const { return {network.layout(), row.data()}; }
};

/// All four of {-1, 1}², the first bit changing slowest.
inline void show_corners(Made& made) {
  made.inputs.count = 4;
  made.inputs.vectors = {1, 1, 1, -1, -1, 1, -1, -1};
}

inline const std::vector<float> kIdentity = {1, 0, 0, 1};

/// Neuron 0 fires where x₀ > 0, neuron 1 where x₀ < 0, neuron 2 never, neuron 3 always.
inline Made four_neurons() {
  Made made(model_with(PositionwiseConfig{}, 4, "relu"), kPairs,
            {{"projection.weight", kIdentity},
             {"block0.ffn.up.weight", {1, -1, 0, 0, 0, 0, 0, 0}},
             {"block0.ffn.up.bias", {0, 0, -1, 1}},
             {"block0.ffn.down.weight", {3, 4, -2, 0, 0, 1, 0, 0}},
             {"head.weight", kIdentity}});
  show_corners(made);
  return made;
}

/// Expert 0 gets what has x₀ > 0, expert 1 the rest, expert 2 nothing.
inline Made three_experts(std::int64_t top_k) {
  MoeConfig moe;
  moe.num_experts = 3;
  moe.top_k = top_k;
  Made made(model_with(moe, 2, "relu"), kPairs,
            {{"projection.weight", kIdentity},
             {"block0.ffn.router.gate.weight", {10, -10, 0, 0, 0, -40}},
             {"block0.ffn.experts.up.weight", {1, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0}},
             {"block0.ffn.experts.down.weight", {0, 0, 0, 0, 3, 4, 0, 0, 0, 0, 0, 0}},
             {"head.weight", kIdentity}});
  show_corners(made);
  return made;
}

}  // namespace hand_made
