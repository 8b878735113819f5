#include "ffn/config/parameters.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

namespace ffn {

namespace {

constexpr bool kDecays = true, kStays = false;

// A tied embedding of standard normals would make logits of size √D: the loss would start at ten times that of a guess. Positions get
// its size, or they would drown the tokens (text: a loss of 2.1 after 1,500 steps instead of 1.96).
Init usual_start(const RowEntry& p, const ModelConfig& model) {
  const bool tied = model.tie && (p.role == Role::embedding || p.role == Role::position);
  return tied ? Init::normal(1 / std::sqrt(static_cast<double>(model.d_model))) : p.init;
}

bool writes_to_stream(const RowEntry& p) { return p.role == Role::down || p.role == Role::attention_output; }

// D_in of a linear map.
std::int64_t inputs_of(const ParameterSpec& p) { return p.shape[p.shape.size() - 2]; }

// Weights as `of_weight` says and biases at 0; what has no role in it (norms, buffers, learned scores, a formula's own) as its layer says.
Init by_weight(const RowEntry& p, const ModelConfig& model, Init of_weight) {
  if (p.role == Role::norm || p.role == Role::buffer || p.role == Role::scores || p.role == Role::other) return usual_start(p, model);
  return p.decays ? of_weight : Init::constant(0);
}

}  // namespace

WeightAndBias linear_parameters(std::int64_t d_in, std::int64_t d_out, bool bias) {
  WeightAndBias map{{"weight", {d_in, d_out}, Init::fan_in(d_in), kDecays, Export::linear}, {}};
  if (bias) map.bias = ParameterSpec{"bias", {d_out}, Init::fan_in(d_in), kStays};
  return map;
}

WeightAndBias expert_linear_parameters(std::int64_t num_experts, std::int64_t d_in, std::int64_t d_out, bool bias) {
  WeightAndBias maps{{"weight", {num_experts, d_in, d_out}, Init::fan_in(d_in), kDecays, Export::expert_linear}, {}};
  if (bias) maps.bias = ParameterSpec{"bias", {num_experts, d_out}, Init::fan_in(d_in), kStays, Export::expert_bias};
  return maps;
}

WeightAndBias norm_parameters(std::int64_t d_model, const NormConfig& config) {
  WeightAndBias norm{{"weight", {d_model}, Init::constant(1), kStays}, {}};
  if (config.centres()) norm.bias = ParameterSpec{"bias", {d_model}, Init::constant(0), kStays};
  return norm;
}

NormConfig head_norm() {
  NormConfig config;
  config.kind = "rms";
  return config;
}

ParameterSpec embedding_parameter(const std::string& name, std::int64_t count, std::int64_t d_model) {
  return {name, {count, d_model}, Init::normal(1), kDecays};
}

ParameterSpec position_scores_parameter(std::int64_t heads, std::int64_t sequence_length) {
  return {"scores", {heads, sequence_length, sequence_length}, Init::normal(1), kDecays};
}

std::optional<ParameterSpec> selection_bias_parameter(const MoeConfig& config, const TopKFields& fields) {
  if (fields.bias_step == 0) return std::nullopt;
  return ParameterSpec{"bias", {config.num_experts}, Init::constant(0), kStays, Export::as_is, Role::buffer};
}

ParameterSpec router_noise_parameter(std::int64_t d_model, std::int64_t num_experts) {
  return {"noise", {d_model, num_experts}, Init::constant(0), kDecays, Export::linear, Role::router, /*as_asked=*/true};
}

ParameterSpec half_keys_parameter(const MemoryFields& memory) {
  return {"keys",   {memory.heads, 2, memory.keys, memory.key_width / 2}, Init::fan_in(memory.key_width / 2), kDecays, Export::as_is,
          Role::key};
}

ParameterSpec slots_parameter(const std::string& name, const MemoryFields& memory, std::int64_t d_model, Role role) {
  return {name, {memory.slots(), d_model}, Init::normal(1 / std::sqrt(static_cast<double>(d_model))), kDecays, Export::as_is, role};
}

NormConfig query_norm() {
  NormConfig config;
  config.kind = "layer";
  return config;
}

const std::vector<Initialisation>& initialisations() {
  static const std::vector<Initialisation> all{
      {"torch", "as torch.nn.Linear and torch.nn.Embedding", usual_start},
      {"zero_out",
       "likewise, but what sub-layers write starts at zero: attention's output, and the map back to d_model, a memory's values (role down)",
       [](const RowEntry& p, const ModelConfig& model) { return writes_to_stream(p) ? Init::constant(0) : usual_start(p, model); }},
      {"gpt2", "normal with deviation 0.02, of what sub-layers write 0.02/√(sub-layers); biases 0 (Radford et al. 2019, GPT-2)",
       [](const RowEntry& p, const ModelConfig& model) {
         const double sublayers = static_cast<double>(model.blocks) * (model.attention ? 2 : 1);
         return by_weight(p, model, Init::normal(writes_to_stream(p) ? 0.02 / std::sqrt(sublayers) : 0.02));
       }},
      {"fan_in", "normal with deviation 1/√(inputs), so that outputs have the size of inputs; embeddings 1, biases 0 (LeCun et al. 1998)",
       [](const RowEntry& p, const ModelConfig& model) {
         const bool map = p.is_matrix();
         return by_weight(p, model, map ? Init::normal(1 / std::sqrt(static_cast<double>(inputs_of(p)))) : usual_start(p, model));
       }},
      {"nanochat",
       "uniform with deviation 1/√(inputs), of up and gate 0.4/√(inputs); what sub-layers write starts at zero; embeddings normal with "
       "deviation 0.8, the head 0.001; biases 0 (github.com/karpathy/nanochat)",
       [](const RowEntry& p, const ModelConfig& model) {
         if (writes_to_stream(p)) return by_weight(p, model, Init::constant(0));
         if (p.role == Role::head) return by_weight(p, model, Init::normal(0.001));
         const bool looked_up = !p.is_matrix() && (p.role == Role::embedding || p.role == Role::position);
         if (looked_up || !p.is_matrix()) return by_weight(p, model, looked_up ? Init::normal(0.8) : usual_start(p, model));
         const double deviation = (p.role == Role::up || p.role == Role::gate ? 0.4 : 1) / std::sqrt(static_cast<double>(inputs_of(p)));
         return by_weight(p, model, Init::uniform(std::sqrt(3.0) * deviation));
       }},
      {"mup",
       "as torch at the hidden width F₀ = base_d_ff, and so scaled that the output moves alike at every F (Yang et al. 2021, "
       "arXiv:2203.03466): of the map back from F hidden units, torch's bound 1/√F becomes √F₀/F and the learning rate is multiplied by "
       "F₀/F, decay with it",
       [](const RowEntry& p, const ModelConfig& model) {
         Init start = usual_start(p, model);
         start.scale *= std::sqrt(mup_factor(p, model));
         return start;
       }},
  };
  return all;
}

// The output is a sum over F units. A step of Adam moves each weight by the rate in the direction that all units agree on, so the sum
// moves by F times the rate; at the start it adds up to √F times the deviation. Both have to fall with 1/F: the rate by F₀/F, and
// torch's bound, which falls with 1/√F, by √(F₀/F) more. What enters the hidden layer has D inputs at every F, and stays as it is.
double mup_factor(const ParameterSpec& parameter, const ModelConfig& model) {
  const FfnSize* size = size_of(model.ffn);
  if (model.init != "mup" || !size || parameter.role != Role::down || !parameter.is_matrix()) return 1;
  const auto width = size->hidden_width(model.d_model);
  return inputs_of(parameter) == width ? static_cast<double>(model.base_d_ff.value_or(width)) / static_cast<double>(width) : 1;
}

void initialise(const ModelConfig& model, const RowLayout& layout, std::uint64_t seed, float* row) {
  for (const auto& rule : initialisations()) {
    if (rule.name != model.init) continue;
    layout.initialise(seed, row, [&](const RowEntry& p) {
      if (p.as_asked || p.role == Role::buffer) return p.init;
      Init start = rule.start(p, model);
      start.scale *= model.init_scale->value(role_name(p.role), 1.0);
      return start;
    });
  }
}

}  // namespace ffn
