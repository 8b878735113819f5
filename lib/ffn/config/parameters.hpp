// The parameters of the parts that networks are made of: name, shape, start, form in a weight file, whether weight decay
// acts on them. The layers of both engines register their parameters from here, so that each is described once.
//
// Weights of two or more dimensions decay, per expert as for a plain FFN; biases and norms do not.
#pragma once

#include <optional>

#include "ffn/base/parameters.hpp"
#include "ffn/config/model_config.hpp"

namespace ffn {

struct WeightAndBias {
  ParameterSpec weight;
  std::optional<ParameterSpec> bias;
};

/// y = x W + b, as torch.nn.Linear starts. W: (D_in, D_out), b: (D_out)
WeightAndBias linear_parameters(std::int64_t d_in, std::int64_t d_out, bool bias);
/// E such maps. W: (E, D_in, D_out), b: (E, D_out)
WeightAndBias expert_linear_parameters(std::int64_t num_experts, std::int64_t d_in, std::int64_t d_out, bool bias);
/// Weight (D) of ones; bias (D) of zeros for layer normalisation.
WeightAndBias norm_parameters(std::int64_t d_model, const NormConfig& config);
/// The norm of attention.qk_norm, over the width of a head.
NormConfig head_norm();
/// A vector for each of `count` tokens or positions, as torch.nn.Embedding starts: (count, D)
ParameterSpec embedding_parameter(const std::string& name, std::int64_t count, std::int64_t d_model);
/// The learned scores of attention by position: (H, T, T)
ParameterSpec position_scores_parameter(std::int64_t heads, std::int64_t sequence_length);

/// Selection bias of a router: (E) zeros, which its bias_step moves. None without bias_step.
std::optional<ParameterSpec> selection_bias_parameter(const MoeConfig& config, const TopKFields& fields);
/// An expert whose load differs from an even share by less than this part of it keeps its selection bias: float32 makes no more of it.
constexpr double kEvenLoad = 1e-6;
/// W_noise of noisy_top_k: (D, E) zeros.
ParameterSpec router_noise_parameter(std::int64_t d_model, std::int64_t num_experts);

/// Half keys (H, 2, n, d_k/2), as torch.nn.Linear starts; and a vector for each slot, (n², D): normal with deviation 1/√D.
ParameterSpec half_keys_parameter(const MemoryFields& memory);
ParameterSpec slots_parameter(const std::string& name, const MemoryFields& memory, std::int64_t d_model, Role role);
/// LayerNorm of a head's query.
NormConfig query_norm();

/// A rule for how the parameters of a model start: `model.init`.
struct Initialisation {
  const char* name;
  const char* doc;
  Init (*start)(const RowEntry& parameter, const ModelConfig& model);
};
const std::vector<Initialisation>& initialisations();

/// Under init mup the factor base_d_ff/F on the learning rate of the matrices that map F hidden units back; 1 for all else.
double mup_factor(const ParameterSpec& parameter, const ModelConfig& model);

/// Draws a run's parameters as its config says.
void initialise(const ModelConfig& model, const RowLayout& layout, std::uint64_t seed, float* row);

}  // namespace ffn
