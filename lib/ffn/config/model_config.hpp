// The network: input → blocks of (attention, FFN) → head. Each part has its own config struct.
#pragma once

#include "ffn/base/field_visitor.hpp"
#include "ffn/base/json.hpp"
#include "ffn/base/parameters.hpp"
#include "ffn/formula/formula.hpp"
#include "ffn/formula/formula_text.hpp"

namespace ffn {

/// Fields that every FFN kind shares. The hidden width is d_ff, or expansion · d_model when d_ff is not set, or what
/// gives the cost of the plain FFN of that expansion when `match` is set.
struct FfnSize {
  std::optional<std::int64_t> d_ff;
  std::optional<double> expansion;
  std::string activation = "gelu";
  JsonValue activation_parameters = JsonValue::object();  ///< of a config as it was written; see config/trained_activation.hpp
  bool bias = true;
  double dropout = 0.0;
  std::string match = "none";
  double match_tolerance = 0.01;
  std::int64_t match_multiple_of = 1;
  std::optional<std::int64_t> matched_width;  ///< solved by resolve_widths() when `match` asks for it
  double mismatch = 0.0;                      ///< what that leaves, relative to the plain FFN's cost

  static constexpr double kDefaultExpansion = 4.0;  // Vaswani et al. 2017, arXiv:1706.03762: d_ff = 2048 at d_model = 512
  std::int64_t hidden_width(std::int64_t d_model) const;
  /// Roles of the layer's parameters; kinds with others override this.
  std::vector<Role> roles() const { return {Role::up, Role::down}; }

 protected:
  void describe_size(FieldVisitor& v);
  void describe_width(FieldVisitor& v);
  void describe_activation(FieldVisitor& v);
  void describe_dropout_and_match(FieldVisitor& v);
};

/// y = φ(x W₁ + b₁) W₂ + b₂
struct PositionwiseConfig : FfnSize {
  static constexpr const char* kKind = "positionwise";
  static constexpr const char* kDoc = "Two linear maps with an activation between: φ(x W₁ + b₁) W₂ + b₂.";
  void describe(FieldVisitor& v);
};

/// y = (φ(x W_gate) ⊙ x W_up) W_down
struct GatedConfig : FfnSize {
  static constexpr const char* kKind = "gated";
  static constexpr const char* kDoc =
      "A gate multiplies the hidden layer: (φ(x W_gate) ⊙ x W_up) W_down. silu gives SwiGLU, gelu GEGLU, relu ReGLU.";
  void describe(FieldVisitor& v);
  std::vector<Role> roles() const { return {Role::up, Role::gate, Role::down}; }
};

/// y = whatever the formula says
struct FormulaConfig : FfnSize {
  static constexpr const char* kKind = "formula";
  static constexpr const char* kDoc =
      "A layer in a line: an expression of x, of named parameters with sizes in D and F, and of functions. `ffn-train list ffns` shows "
      "those that have a name.";
  FormulaText text;
  void describe(FieldVisitor& v);
  std::vector<Role> roles() const;
};

/// y = conv1d(φ(conv1d(x, W₁) + b₁), W₂) + b₂, kernels of width 1
struct Conv1x1Config : FfnSize {
  static constexpr const char* kKind = "conv1x1";
  static constexpr const char* kDoc =
      "The plain FFN as two convolutions of kernel 1 over the positions (\"position-wise\" in Vaswani et al. 2017, §3.3): the same "
      "function. Computed by LibTorch alone.";
  void describe(FieldVisitor& v);
};

/// Fields of routers that take the K largest scores. Each says which activation of the logits its scores are (kScore), or softmax.
struct TopKFields {
  std::string weights = "normalized";
  double scale = 1;
  double bias_step = 0;  ///< of the selection bias; 0: there is none
  bool center_bias = false;
  double jitter = 0;

 protected:
  void describe_top_k(FieldVisitor& v);
};

/// The K experts of the largest probabilities p = softmax(x W), with weights p divided by their sum (K = 1: p itself).
struct SoftmaxTopKConfig : TopKFields {
  static constexpr const char* kKind = "softmax_top_k";
  static constexpr const char* kScore = "softmax";
  static constexpr const char* kDoc =
      "p = softmax(x W); a token goes to its top_k most probable experts, with p divided by the sum over them as weights (top_k 1: with p "
      "itself). Balance loss E·Σ fᵢPᵢ.";
  void describe(FieldVisitor& v);
};

/// The K experts of the largest scores s = σ(x W), with weights s divided by their sum (K = 1: s itself).
struct SigmoidTopKConfig : TopKFields {
  static constexpr const char* kKind = "sigmoid_top_k";
  static constexpr const char* kScore = "sigmoid";
  static constexpr const char* kDoc =
      "s = σ(x W), each expert scored for itself (DeepSeek-V3, 2024, arXiv:2412.19437, eq. 12-16); a token goes to its top_k largest, "
      "with s divided by the sum over them as weights (top_k 1: with s itself). Losses take s divided by its sum over all experts as "
      "probability.";
  void describe(FieldVisitor& v);
};

/// The K experts of the largest H = x W + ε·(softplus(x W_noise) + 0.01), ε standard normal in training and 0 after it.
struct NoisyTopKConfig {
  static constexpr const char* kKind = "noisy_top_k";
  static constexpr const char* kDoc =
      "Noisy top-k gating (Shazeer et al. 2017, arXiv:1701.06538, eq. 3-5): in training, normal noise of a trained deviation is added to "
      "the logits; weights are the softmax over the top_k kept (top_k 1: its probability among all experts). Computed by LibTorch alone.";
  double load_weight = 0.01;
  void describe(FieldVisitor& v);
};

/// Each expert takes the N·K/E tokens of the batch whose probability for it, softmax(x W) over the experts, is largest.
struct ExpertChoiceConfig {
  static constexpr const char* kKind = "expert_choice";
  static constexpr const char* kDoc =
      "Each expert chooses its top_k·N/E tokens of a batch of N (Zhou et al. 2022, arXiv:2202.09368): loads are equal, and tokens have "
      "different numbers of experts, some none. A token's experts depend on the whole batch, of an evaluation too; not for causal models. "
      "Computed by LibTorch alone.";
  void describe(FieldVisitor&) {}
};

/// Which tokens go to which experts with what weight. What every router needs (num_experts, top_k, losses) stands in MoeConfig.
using RouterConfig = std::variant<SoftmaxTopKConfig, SigmoidTopKConfig, NoisyTopKConfig, ExpertChoiceConfig>;

/// The fields of a router that takes the K largest scores, nullptr for the others.
const TopKFields* top_k_fields(const RouterConfig& router);

/// y = Σ over the top-k experts of weight · expert(x)
struct MoeConfig : FfnSize {
  static constexpr const char* kKind = "moe";
  static constexpr const char* kDoc =
      "Mixture of experts: a router sends each token to its top_k experts, whose outputs are added with its weights.";
  std::int64_t num_experts = 8;
  std::int64_t top_k = 2;
  RouterConfig router;
  bool gated = false;
  std::optional<FormulaText> expert;
  double balance_weight = 0.01;
  double z_loss_weight = 0, importance_weight = 0, sequence_balance_weight = 0;
  std::optional<double> capacity_factor;
  std::int64_t shared_experts = 0;
  std::optional<double> shared_expansion;
  void describe(FieldVisitor& v);
  /// Size of the one FFN that the shared experts form.
  FfnSize shared_size(std::int64_t d_model) const;
  /// How many assignments of a batch of N tokens an expert takes, with capacity_factor: ⌊factor·N·K/E⌋
  std::int64_t capacity(std::int64_t num_tokens) const;
  std::vector<Role> roles() const;
};

/// A memory of n² slots, found by product keys: H heads of two half keys each, d_k/2 wide, of which the K best sums are read.
struct MemoryFields {
  std::int64_t keys = 32;       ///< n, of each half
  std::int64_t key_width = 16;  ///< d_k
  std::int64_t heads = 4, top_k = 8;
  bool bias = true;         ///< of the query's map
  bool query_norm = false;  ///< layer normalisation of each head's query
  std::int64_t slots() const { return keys * keys; }

 protected:
  void describe_memory(FieldVisitor& v);
  std::vector<Role> with_norm(std::vector<Role> roles) const;
};

/// y = Σ w V[slot]
struct PkmConfig : MemoryFields {
  static constexpr const char* kKind = "pkm";
  static constexpr const char* kDoc =
      "Product-key memory (Lample et al. 2019, arXiv:1907.05242): each head reads the top_k of keys² slots whose two half keys fit its "
      "query best, and adds up their values with softmax weights. Computed by LibTorch alone.";
  void describe(FieldVisitor& v) { describe_memory(v); }
  std::vector<Role> roles() const { return with_norm({Role::query, Role::key, Role::down}); }
};

/// y = Σ w φ(u[slot]·x) v[slot]
struct PeerConfig : MemoryFields {
  static constexpr const char* kKind = "peer";
  static constexpr const char* kDoc =
      "Parameter-efficient expert retrieval (He 2024, arXiv:2407.04153): found as in pkm, a slot is an expert of one hidden unit, φ(u·x) "
      "v. Computed by LibTorch alone.";
  std::string activation = "gelu";
  void describe(FieldVisitor& v);
  std::vector<Role> roles() const { return with_norm({Role::query, Role::key, Role::up, Role::down}); }
};

struct NoFfnConfig {
  static constexpr const char* kKind = "none";
  static constexpr const char* kDoc = "No feed-forward layer: what attention can do alone.";
  void describe(FieldVisitor&) {}
  std::vector<Role> roles() const { return {}; }
};

using FfnConfig =
    std::variant<PositionwiseConfig, GatedConfig, MoeConfig, FormulaConfig, Conv1x1Config, PkmConfig, PeerConfig, NoFfnConfig>;

/// The size of an FFN that has one, nullptr for the others.
const FfnSize* size_of(const FfnConfig& ffn);
FfnSize* size_of(FfnConfig& ffn);

/// Whether it is a memory: pkm, peer.
bool has_memory(const FfnConfig& ffn);

/// The formula of a layer or of its experts, nullptr where there is none.
const FormulaText* formula_of(const FfnConfig& ffn);

/// The formula that a layer is, or each expert of a mixture, the built-in kinds written out; none for kinds that are no formula.
std::optional<FormulaText> layer_formula(const FfnConfig& ffn);

/// A formula that was checked, in the sizes of a layer.
FormulaGraph graph_of(const FormulaText& text, std::int64_t d_model, const FfnSize& size);

/// A way in which positions enter a model, or by which attention weighs.
struct NamedChoice {
  const char* name;
  bool cpu;  ///< whether the cpu engine computes it
  const char* doc;
};

/// The values of attention.scores and of model.positions, and the row of one of them.
const std::vector<NamedChoice>& attention_scores();
const std::vector<NamedChoice>& position_encodings();
const NamedChoice& find_scores(const std::string& name);
const NamedChoice& find_positions(const std::string& name);

struct AttentionConfig {
  std::int64_t heads = 4;
  bool causal = true;
  std::string scores = "content";
  bool bias = false;
  bool qk_norm = false;
  double rotary_base = 10000;            ///< with model.positions = rotary
  std::string rotary_layout = "halves";  ///< likewise
  void describe(FieldVisitor& v);
};

/// Placement of norms. A sub-layer f computes after_sum(x + on_output(dropout(f(before(x))))), in which a norm that is not there does
/// nothing; without residual the "x +" is left out.
struct NormPlacement {
  const char* name = "none";
  bool before = false, on_output = false, after_sum = false;
  bool at_end = false;  ///< once more before the head
  const char* doc = "";

  std::int64_t per_sublayer() const { return before + on_output + after_sum; }
};

/// Numbers the dropout of a block's sub-layer (0 attention, 1 FFN) among the sites of dropout masks; those within FFNs have no such bit.
constexpr std::uint32_t residual_site(std::uint32_t block, std::uint32_t sublayer) { return 0x80000000u | (2 * block + sublayer); }

/// Sites of the layer's shared experts and of its router's noise.
constexpr std::uint32_t shared_site(std::uint32_t layer) { return 0x20000000u | layer; }
constexpr std::uint32_t router_site(std::uint32_t layer) { return 0x40000000u | layer; }

/// All of them, in the order in which they are documented.
const std::vector<NormPlacement>& norm_placements();

struct NormConfig {
  std::string kind = "none";
  std::string placement = "pre";
  double epsilon = 1e-5;
  void describe(FieldVisitor& v);
  /// LayerNorm subtracts the mean and has a bias for it; RMSNorm does neither.
  bool centres() const { return kind == "layer"; }
  /// The norms that there are: none of them for the kind "none".
  NormPlacement places() const;
};

struct ModelConfig {
  std::int64_t d_model = 32;
  std::int64_t blocks = 1;
  std::string positions = "learned";
  std::string init = "torch";
  JsonValue init_scale = JsonValue::object();  ///< role → factor on what a parameter starts with
  std::optional<std::int64_t> base_d_ff;       ///< hidden width F₀ at which mup changes nothing
  std::string init_from;                       ///< a run, or a file of weights, to start from in place of `init`; empty for none
  std::string init_hash;                       ///< SHA-256 of that file
  std::optional<AttentionConfig> attention;
  NormConfig norm;
  bool residual = false;
  bool parallel = false;           ///< attention and FFN read the same input: x + attention(x) + ffn(x)
  std::int64_t parallel_from = 0;  ///< the first block of which they do
  bool share_ffn = false;          ///< one FFN for all blocks
  double residual_dropout = 0.0;
  bool tie = false;
  JsonValue block_expansion = JsonValue::array();   ///< in place of the FFN's expansion, one per block; 0: no layer
  JsonValue block_activation = JsonValue::array();  ///< likewise of its activation
  FfnConfig ffn;
  std::optional<double> match_expansion;  ///< d_model is solved to keep the size of the model of this expansion
  /// d_model and heads as they were written, where resolve_d_model() solved them.
  struct Written {
    std::int64_t d_model = 0, heads = 0;
  };
  std::optional<Written> written;
  double mismatch = 0.0;  ///< what that leaves, relative to the parameters outside embeddings and head
  void describe(FieldVisitor& v);
  /// Whether blocks differ.
  bool differs_by_block() const;
  /// The hidden widths as a person reads them: "256", or "64, 0" by block; "-" of layers without one.
  std::string widths_text() const;
  /// The same with what holds for this block as what holds for all.
  ModelConfig of_block(std::int64_t block) const;
  /// Roles of its parameters, each once, with those of learned positions.
  std::vector<Role> roles() const;
  /// Whether `init_from` has a start for each seed: DIR/seed-*.
  bool starts_per_seed() const;
  /// The file of `init_from` for a run of this seed.
  std::string initial_weights(std::int64_t seed) const;
};

/// Whether its experts choose tokens of the whole batch, later ones among them.
bool has_expert_choice(const ModelConfig& model);

}  // namespace ffn
