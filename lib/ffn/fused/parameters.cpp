#include "ffn/fused/parameters.hpp"

namespace ffn::fused {

namespace {

class Lister {
 public:
  Lister(const ModelConfig& config, const TaskShape& task) : config_(config), task_(task), d_(config.d_model) {}

  RowLayout list() {
    if (task_.tokens) {
      add("embedding", {task_.input_width, d_}, Init::normal(1.0));
      if (config_.positions == "learned") add("position", {task_.sequence_length, d_}, Init::normal(1.0));
    } else {
      linear("projection.", task_.input_width, d_, true);
    }
    for (std::int64_t b = 0; b < config_.blocks; ++b) block("block" + std::to_string(b) + ".");
    if (config_.norm.kind != "none" && config_.norm.placement != "post") norm("final_norm.");
    linear("head.", d_, task_.num_classes, true);
    return std::move(layout_);
  }

 private:
  void add(const std::string& name, std::vector<std::int64_t> shape, Init init, Export layout = Export::as_is) {
    layout_.add(name, std::move(shape), {init, layout});
  }
  void linear(const std::string& at, std::int64_t d_in, std::int64_t d_out, bool bias) {
    add(at + "weight", {d_in, d_out}, Init::fan_in(d_in), Export::linear);
    if (bias) add(at + "bias", {d_out}, Init::fan_in(d_in));
  }
  void grouped_linear(const std::string& at, std::int64_t experts, std::int64_t d_in, std::int64_t d_out, bool bias) {
    add(at + "weight", {experts, d_in, d_out}, Init::fan_in(d_in), Export::expert_linear);
    if (bias) add(at + "bias", {experts, d_out}, Init::fan_in(d_in), Export::expert_bias);
  }
  void norm(const std::string& at) {
    add(at + "weight", {d_}, Init::constant(1));
    if (config_.norm.kind == "layer") add(at + "bias", {d_}, Init::constant(0));
  }
  void norms(const std::string& at) {
    if (config_.norm.kind == "none") return;
    if (config_.norm.placement != "post") norm(at + "_norm.");
    if (config_.norm.placement != "pre") norm(at + "_post_norm.");
  }

  void block(const std::string& at) {
    if (config_.attention) {
      attention(at + "attention.", *config_.attention);
      norms(at + "attention");
    }
    if (std::holds_alternative<NoFfnConfig>(config_.ffn)) return;
    std::visit([&](const auto& c) { ffn(at + "ffn.", c); }, config_.ffn);
    norms(at + "ffn");
  }

  void attention(const std::string& at, const AttentionConfig& c) {
    if (c.scores == "position") {
      add(at + "scores", {c.heads, task_.sequence_length, task_.sequence_length}, Init::normal(1.0));
    } else {
      linear(at + "query.", d_, d_, c.bias);
      linear(at + "key.", d_, d_, c.bias);
    }
    linear(at + "value.", d_, d_, c.bias);
    linear(at + "output.", d_, d_, c.bias);
  }

  void ffn(const std::string& at, const PositionwiseConfig& c) { dense(at, c, false); }
  void ffn(const std::string& at, const GatedConfig& c) { dense(at, c, true); }
  void ffn(const std::string&, const NoFfnConfig&) {}
  void ffn(const std::string& at, const MoeConfig& c) {
    const auto d_ff = c.hidden_width(d_);
    linear(at + "router.gate.", d_, c.num_experts, false);
    if (c.gated) grouped_linear(at + "experts.gate.", c.num_experts, d_, d_ff, c.bias);
    grouped_linear(at + "experts.up.", c.num_experts, d_, d_ff, c.bias);
    grouped_linear(at + "experts.down.", c.num_experts, d_ff, d_, c.bias);
  }
  void dense(const std::string& at, const FfnSize& c, bool gated) {
    const auto d_ff = c.hidden_width(d_);
    if (gated) linear(at + "gate.", d_, d_ff, c.bias);
    linear(at + "up.", d_, d_ff, c.bias);
    linear(at + "down.", d_ff, d_, c.bias);
  }

  const ModelConfig& config_;
  const TaskShape& task_;
  std::int64_t d_;
  RowLayout layout_;
};

}  // namespace

RowLayout network_parameters(const ModelConfig& config, const TaskShape& task) { return Lister(config, task).list(); }

}  // namespace ffn::fused
