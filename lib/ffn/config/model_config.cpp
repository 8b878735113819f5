#include "ffn/config/model_config.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include "ffn/base/json_document.hpp"
#include "ffn/base/marked_names.hpp"
#include "ffn/config/by_block.hpp"
#include "ffn/config/match.hpp"
#include "ffn/config/parameters.hpp"
#include "ffn/formula/activation_formula.hpp"
#include "ffn/formula/named_formulas.hpp"
#include "ffn/kernels/activations.hpp"

namespace ffn {

namespace {

std::vector<Choice> activation_choices() {
  std::vector<Choice> choices;
  for (const auto& activation : activations()) choices.push_back({activation.name, activation.formula});
  choices.push_back({"", "a formula in z", /*is_open=*/true});
  return choices;
}

template <class Row>
std::vector<Choice> choices_of(const std::vector<Row>& rows) {
  std::vector<Choice> choices;
  for (const auto& row : rows) choices.push_back({row.name, row.doc});
  return choices;
}

template <class Row>
const Row& row_named(const std::vector<Row>& rows, const std::string& name) {
  for (const auto& row : rows) {
    if (row.name == name) return row;
  }
  throw std::out_of_range("no choice named " + name);  // configs are checked before they get here
}

}  // namespace

std::int64_t FfnSize::hidden_width(std::int64_t d_model) const {
  if (matched_width) return *matched_width;
  if (d_ff) return *d_ff;
  const double width = expansion.value_or(kDefaultExpansion) * static_cast<double>(d_model);
  return std::max<std::int64_t>(1, std::llround(width));
}

const FfnSize* size_of(const FfnConfig& ffn) {
  const auto visit = [](const auto& kind) -> const FfnSize* {
    if constexpr (std::is_base_of_v<FfnSize, std::decay_t<decltype(kind)>>) return &kind;
    else return nullptr;
  };
  return std::visit(visit, ffn);
}

FfnSize* size_of(FfnConfig& ffn) { return const_cast<FfnSize*>(size_of(std::as_const(ffn))); }

const FormulaText* formula_of(const FfnConfig& ffn) {
  if (const auto* formula = std::get_if<FormulaConfig>(&ffn)) return &formula->text;
  const auto* moe = std::get_if<MoeConfig>(&ffn);
  return moe && moe->expert ? &*moe->expert : nullptr;
}

std::optional<FormulaText> layer_formula(const FfnConfig& ffn) {
  if (const FormulaText* text = formula_of(ffn)) return *text;
  if (const auto* plain = std::get_if<PositionwiseConfig>(&ffn)) return built_in_formula(false, plain->bias);
  if (const auto* gated = std::get_if<GatedConfig>(&ffn)) return built_in_formula(true, gated->bias);
  if (const auto* moe = std::get_if<MoeConfig>(&ffn)) return built_in_formula(moe->gated, moe->bias);
  return std::nullopt;
}

FormulaGraph graph_of(const FormulaText& text, std::int64_t d_model, const FfnSize& size) {
  return compile_formula(text, d_model, size.hidden_width(d_model), size.activation);
}

void FfnSize::describe_width(FieldVisitor& v) {
  v.optional_integer({"d_ff", "hidden width F (of each expert in a mixture); excludes expansion"}, d_ff, between(std::int64_t{1}, 1 << 20));
  v.optional_real({"expansion", "hidden width as a multiple of d_model; 4 if neither is set"}, expansion,
                  Bounds<double>{0.0, 1024.0, true});
  v.require(!(d_ff && expansion), "expansion", "both d_ff (" + number_text(d_ff.value_or(0)) + ") and expansion are set; remove one",
            {"d_ff"});
}

namespace {

void describe_phi(FieldVisitor& v, std::string& activation) {
  v.choice({"activation", "φ: a name, or a formula in z such as \"z * sin(z)\""}, activation, activation_choices());
  const std::string problem = activation_problem(activation);
  v.require(problem.empty(), "activation", problem);
}

}  // namespace

void FfnSize::describe_activation(FieldVisitor& v) {
  describe_phi(v, activation);
  v.json(
      {"activation_parameters",
       "trained parameters of the activation: name → start, as in {\"beta\": 1} for \"z * sigmoid(beta * z)\"; {\"beta\": {\"start\": 1, "
       "\"size\": \"F\"}} trains one per hidden unit. The layer becomes the formula that it is"},
      *activation_parameters, Shape::object);
}

void FfnSize::describe_dropout_and_match(FieldVisitor& v) {
  v.real({"dropout", "probability of zeroing a hidden unit in training"}, dropout, between(0.0, 0.95));
  v.choice({"match", "choose the hidden width so that this FFN costs the same as the plain FFN of the same expansion"}, match,
           {{"none", "no matching"},
            {"params", "equal parameters"},
            {"flops", "equal forward FLOPs per token"},
            {"active_params", "equal active parameters per token"}});
  v.real({"match_tolerance", "largest accepted relative mismatch"}, match_tolerance, between(0.0, 1.0));
  v.integer({"match_multiple_of", "match rounds the width up to a multiple of this, as LLaMA does to 256"}, match_multiple_of,
            between(std::int64_t{1}, 1 << 20));
  v.require(match_multiple_of == 1 || match != "none", "match_multiple_of",
            "match_multiple_of rounds the width that match chooses, and match is none; set match or leave it out", {"match"});
  v.require(!(d_ff && match != "none"), "match",
            "match chooses the hidden width, but d_ff (" + number_text(d_ff.value_or(0)) + ") fixes it; remove one", {"d_ff"});
}

void FfnSize::describe_size(FieldVisitor& v) {
  describe_width(v);
  describe_activation(v);
  v.flag({"bias", "add biases"}, bias);
  describe_dropout_and_match(v);
}

void PositionwiseConfig::describe(FieldVisitor& v) { describe_size(v); }
void GatedConfig::describe(FieldVisitor& v) { describe_size(v); }
void Conv1x1Config::describe(FieldVisitor& v) { describe_size(v); }

void FormulaConfig::describe(FieldVisitor& v) {
  text.describe(v);
  describe_width(v);
  // Without phi in the formula it would be a key that changes nothing.
  if (text.formula.empty() || text.calls_phi()) describe_activation(v);
  describe_dropout_and_match(v);
}

void MemoryFields::describe_memory(FieldVisitor& v) {
  v.integer({"keys", "half keys of a head: the memory has keys² slots"}, keys, between(std::int64_t{1}, 4096));
  v.integer({"key_width", "width of a head's query, of which each half key has half"}, key_width, between(std::int64_t{2}, 65536));
  v.require(key_width % 2 == 0, "key_width", "key_width (" + number_text(key_width) + ") is odd, and a key has two halves");
  v.integer({"heads", "queries of a token, each with keys of its own; all read the same slots"}, heads, between(std::int64_t{1}, 256));
  v.integer({"top_k", "slots that a head reads, and half keys of each half that it tries"}, top_k, between(std::int64_t{1}, 4096));
  v.require(top_k <= keys, "top_k", "top_k (" + number_text(top_k) + ") exceeds keys (" + number_text(keys) + ")", {"keys"});
  v.flag({"bias", "a bias of the map from x to the queries"}, bias);
  v.flag({"query_norm", "LayerNorm of each query over its width. The paper has batch normalisation, which mixes the examples of a batch"},
         query_norm);
}

std::vector<Role> MemoryFields::with_norm(std::vector<Role> roles) const {
  if (query_norm) roles.push_back(Role::norm);
  return roles;
}

void PeerConfig::describe(FieldVisitor& v) {
  describe_memory(v);
  describe_phi(v, activation);
}

namespace {

std::vector<Role> roles_of(const FormulaText& text) {
  std::vector<Role> out;
  for (const auto& parameter : text.parameters->items()) out.push_back(role_of(parameter.key()));
  return out;
}

}  // namespace

std::vector<Role> FormulaConfig::roles() const { return roles_of(text); }

std::vector<Role> MoeConfig::roles() const {
  std::vector<Role> out = expert ? roles_of(*expert) : gated ? GatedConfig().roles() : FfnSize::roles();
  out.push_back(Role::router);
  return out;
}

std::vector<Role> ModelConfig::roles() const {
  std::set<Role> out{Role::embedding, Role::head};
  if (positions == "learned") out.insert(Role::position);
  if (attention) {
    out.insert({Role::value, Role::attention_output});
    if (attention->scores == "position") out.insert(Role::scores);
    else out.insert({Role::query, Role::key});
  }
  if (norm.kind != "none" || (attention && attention->qk_norm)) out.insert(Role::norm);
  const auto of_ffn = std::visit([](const auto& kind) { return kind.roles(); }, ffn);
  out.insert(of_ffn.begin(), of_ffn.end());
  return {out.begin(), out.end()};
}

const std::vector<NamedChoice>& attention_scores() {
  static const std::vector<NamedChoice> all{
      {"content", true, "softmax of q·k/√d_head"},
      {"position", true, "softmax of a learned T×T matrix per head, so the layer is linear in its input"},
  };
  return all;
}

const std::vector<NamedChoice>& position_encodings() {
  static const std::vector<NamedChoice> all{
      {"learned", true, "add a learned vector per position"},
      {"rotary", true,
       "turn queries and keys by angles that grow with the position (Su et al. 2021, arXiv:2104.09864); see attention.rotary_base"},
      {"sinusoidal", true, "add fixed sines and cosines of falling frequency (Vaswani et al. 2017, §3.5, arXiv:1706.03762)"},
      {"none", true, "no position encoding"},
  };
  return all;
}

const NamedChoice& find_scores(const std::string& name) { return row_named(attention_scores(), name); }
const NamedChoice& find_positions(const std::string& name) { return row_named(position_encodings(), name); }

void AttentionConfig::describe(FieldVisitor& v) {
  v.integer({"heads", "heads H; d_model must be a multiple"}, heads, at_least(std::int64_t{1}));
  v.flag({"causal", "each position attends to itself and earlier positions only"}, causal);
  v.choice({"scores", "what attention weights are computed from"}, scores, choices_of(attention_scores()));
  v.flag({"bias", "biases in the projections"}, bias);
  v.flag({"qk_norm",
          "RMSNorm of queries and keys over the width of a head, with a gain per element, before they are turned (Henry et al. 2020, "
          "arXiv:2010.04245; in this form Gemma 3, Qwen3)"},
         qk_norm);
  v.require(!qk_norm || scores == "content", "qk_norm",
            "qk_norm acts on queries and keys, and attention by " + scores + " has none; set scores=content or qk_norm=false", {"scores"});
  v.real({"rotary_base", "with positions=rotary: pair i turns by base^(-2i/d_head) per position"}, rotary_base, above(1.0));
  v.choice({"rotary_layout", "with positions=rotary: which numbers of a head make a pair"}, rotary_layout,
           {{"halves", "i and i + d_head/2, as in Hugging Face's weights"}, {"pairs", "2i and 2i + 1, as in the paper"}});
}

// Sources: layers/block_torch.hpp.
const std::vector<NormPlacement>& norm_placements() {
  // clang-format off
  static const std::vector<NormPlacement> all{
      // name, before, on_output, after_sum, at_end
      {"pre", true, false, false, true, "x + f(norm(x)), and once more before the head"},
      {"post", false, false, true, false, "norm(x + f(x))"},
      {"sandwich", true, true, false, true, "x + norm(f(norm(x))), and once more before the head"},
  };
  // clang-format on
  return all;
}

void NormConfig::describe(FieldVisitor& v) {
  v.choice({"kind", "normalisation of each token vector"}, kind,
           {{"none", "no normalisation"},
            {"layer", "LayerNorm, Ba et al. 2016, arXiv:1607.06450"},
            {"rms", "RMSNorm, Zhang & Sennrich 2019, arXiv:1910.07467"}});
  v.choice({"placement", "position in x + f(x)"}, placement, choices_of(norm_placements()));
  v.real({"epsilon", "added to the variance"}, epsilon, at_least(1e-30));
}

NormPlacement NormConfig::places() const { return kind == "none" ? NormPlacement{} : row_named(norm_placements(), placement); }

bool ModelConfig::starts_per_seed() const { return names_every_seed(init_from); }

std::string ModelConfig::initial_weights(std::int64_t seed) const {
  std::error_code ignored;
  std::filesystem::path path = init_from;
  if (starts_per_seed()) path = named_directory(path.replace_filename("seed-" + std::to_string(seed)));
  return std::filesystem::is_directory(path, ignored) ? (path / "model.safetensors").string() : path.string();
}

namespace {

void require_rotary(FieldVisitor& v, const std::string& positions, std::int64_t d_model, const std::optional<AttentionConfig>& attention) {
  const AttentionConfig default_attention;
  if (positions != "rotary") {
    if (!attention) return;
    const std::string unused = " is for positions=rotary, and positions is " + positions + "; set model.positions=rotary or leave it out";
    v.require(attention->rotary_base == default_attention.rotary_base, "attention.rotary_base", "rotary_base" + unused, {"positions"});
    v.require(attention->rotary_layout == default_attention.rotary_layout, "attention.rotary_layout", "rotary_layout" + unused,
              {"positions"});
    return;
  }
  v.require(attention.has_value(), "positions",
            "rotary positions turn the queries and keys of attention, and this model has none; set model.attention.heads or another "
            "position encoding",
            {"attention"});
  if (!attention) return;
  v.require(attention->scores == "content", "positions",
            "rotary positions turn queries and keys, and attention.scores=" + attention->scores +
                " has none; set model.attention.scores=content or another position encoding",
            {"attention.scores"});
  v.require(d_model % attention->heads != 0 || d_model / attention->heads % 2 == 0, "positions",
            "rotary positions turn pairs of numbers, and the width of a head is odd: d_model / attention.heads is " + number_text(d_model) +
                " / " + number_text(attention->heads) + "; set model.attention.heads or model.d_model so that it is even",
            {"d_model", "attention.heads"});
}

// An init that is about the map back to d_model changes nothing of a layer in which that is not found.
void require_map_back(FieldVisitor& v, const ModelConfig& model) {
  const bool has_layer = !std::holds_alternative<NoFfnConfig>(model.ffn);
  const auto roles = std::visit([](const auto& kind) { return kind.roles(); }, model.ffn);
  const bool is_found = std::find(roles.begin(), roles.end(), Role::down) != roles.end();
  v.require(!has_layer || is_found || (model.init != "zero_out" && model.init != "nanochat" && model.init != "mup"), "init",
            "init " + model.init +
                " is about the map back to d_model, and no parameter of the formula is called down; call it so, or choose "
                "another init",
            {"ffn.formula", "ffn.kind"});
  v.require(model.init != "mup" || size_of(model.ffn), "init",
            "init mup keeps a rate good at other hidden widths, and this layer has none; choose another init", {"ffn.kind"});
}

}  // namespace

bool has_memory(const FfnConfig& ffn) {
  return std::visit([](const auto& kind) { return std::is_base_of_v<MemoryFields, std::decay_t<decltype(kind)>>; }, ffn);
}

bool has_expert_choice(const ModelConfig& model) {
  const auto* moe = std::get_if<MoeConfig>(&model.ffn);
  return moe && std::holds_alternative<ExpertChoiceConfig>(moe->router);
}

void ModelConfig::describe(FieldVisitor& v) {
  v.integer({"d_model", "width D of the residual stream"}, d_model, between(std::int64_t{1}, 65536));
  v.integer({"blocks", "number of (attention, FFN) blocks"}, blocks, between(std::int64_t{1}, 256));
  v.choice({"positions", "position encoding for token tasks"}, positions, choices_of(position_encodings()));
  v.choice({"init", "initial weights"}, init, choices_of(initialisations()));
  v.json(
      {"init_scale",
       "role of a parameter → factor on what it starts with, after init's rule, such as {\"down\": 0.5}: on bound, deviation or constant. "
       "Roles as of train.optimizer.lr_scale, without norm. A start that a formula's init asks for stays"},
      *init_scale, Shape::object);
  v.optional_integer({"base_d_ff", "hidden width F₀ at which mup starts and trains as torch does; of mup alone"}, base_d_ff,
                     between(std::int64_t{1}, 1 << 20));
  v.require((init == "mup") == base_d_ff.has_value(), "base_d_ff",
            init == "mup" ? "init mup needs base_d_ff, the hidden width whose learning rate is known; where inits vary, set both in "
                            "sweep.include"
                          : "base_d_ff is of init mup alone; where inits vary, set it beside mup in sweep.include",
            {"init"});
  v.path({"init_from",
          "start from the weights of this run (its directory, or a model.safetensors) instead of init's; names and shapes have to match. A "
          "study or one of its variants: seed K starts from its seed K. The file's content is part of the run's identity"},
         init_from);
  v.text({"init_hash", "set by the program: SHA-256 of the file of init_from, which stands for it in the run's identity"}, init_hash);
  v.require(init_hash.empty() || !init_from.empty(), "init_hash", "init_hash is of the weights of init_from, which is not set",
            {"init_from"});
  v.require(init_from.empty() || init_scale->empty(), "init_scale",
            "init_scale is a factor on what init draws, and init_from starts from a file; remove one", {"init_from"});
  v.optional_group({"attention", "multi-head self-attention before each FFN; null for none"}, attention);
  v.group({"norm", "normalisation"}, norm);
  v.flag({"residual", "add each sub-layer's input to its output"}, residual);
  v.flag({"parallel",
          "attention and feed-forward layer read the same norm of x: x + attention(norm(x)) + ffn(norm(x)) (GPT-J; PaLM, Chowdhery et al. "
          "2022, arXiv:2204.02311)"},
         parallel);
  v.integer({"parallel_from", "with parallel: the first block that is so, counted from 0; those before are serial"}, parallel_from,
            between(std::int64_t{0}, 255));
  v.require(!parallel || attention, "parallel",
            "parallel puts the feed-forward layer beside attention, and this model has none; set model.attention.heads or parallel=false",
            {"attention"});
  v.require(!parallel || norm.kind == "none" || norm.placement == "pre", "parallel",
            "parallel has one norm before both layers, and norm.placement is " + norm.placement +
                "; set model.norm.placement=pre or parallel=false",
            {"norm.placement", "norm.kind"});
  v.flag({"share_ffn",
          "all blocks have one feed-forward layer, that of the first (Pires et al. 2023, arXiv:2309.01826; with attention shared as well: "
          "ALBERT, Lan et al. 2020, arXiv:1909.11942)"},
         share_ffn);
  v.real(
      {"residual_dropout",
       "probability of zeroing, in training, an element of what attention and the feed-forward layer add to the residual stream (GPT-2's "
       "resid_pdrop); before a norm on the output"},
      residual_dropout, between(0.0, 0.95));
  v.require(residual_dropout == 0 || residual, "residual_dropout",
            "residual_dropout acts on what is added to the residual stream, and this model has none; set residual=true", {"residual"});
  v.flag(
      {"tie",
       "the head's matrix is the transposed embedding (Press and Wolf 2017, arXiv:1608.05859; GPT-2): one matrix with the role of the "
       "embedding; it and learned positions start at a deviation of 1/√d_model. The head's bias stays. For tasks whose classes are their "
       "tokens, as of text"},
      tie);
  v.one_of({"ffn", "the feed-forward layer"}, ffn);
  v.json({"block_expansion", "expansion of each block's feed-forward layer, such as [4, 4, 8, 0]; 0: that block has none"},
         *block_expansion, Shape::list);
  v.json({"block_activation", "activation of each block's feed-forward layer, such as [\"identity\", \"gelu\"]"}, *block_activation,
         Shape::list);
  require_blocks(v, *this);
  describe_match_expansion(v, *this);
  v.require(!has_expert_choice(*this) || !attention || !attention->causal, "ffn.router",
            "expert_choice compares a token with later ones, so a causal model would see what it must not; choose another router",
            {"attention.causal", "ffn.router.kind"});
  require_map_back(v, *this);
  if (attention) {
    v.require(d_model % attention->heads == 0, "d_model",
              "d_model (" + number_text(d_model) + ") is not divisible by attention.heads (" + number_text(attention->heads) + ")",
              {"attention.heads"});
  }
  require_rotary(v, positions, d_model, attention);
}

}  // namespace ffn
