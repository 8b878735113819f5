#include "ffn/inspect/trace.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ffn/base/text.hpp"
#include "ffn/formula/formula_syntax.hpp"
#include "ffn/report/format.hpp"

namespace ffn::inspect {

namespace {

constexpr std::size_t kMostOutcomes = 3;

/// Writes the steps of one block.
class BlockTracer {
 public:
  /// With `graph`: of a formula, whose own text names the steps.
  BlockTracer(const BlockValues& values, const FfnSize* size, const FormulaGraph* graph, const std::vector<std::string>& tokens)
      : values_(values), size_(size), graph_(graph), tokens_(tokens) {}

  TraceBlock trace() {
    TraceBlock out;
    add_attention(out);
    if (values_.input.empty()) return out;
    add_ends(out, "x", "what the layer reads", values_.input);
    if (values_.routed.num_experts > 0) out.routes = routes();
    if (!values_.hidden.empty()) add_hidden(out);
    add_ends(out, result(), values_.hidden.empty() ? "what the layer writes" : "compress", values_.output);
    return out;
  }

 private:
  std::string bias(const char* name) const { return size_->bias ? std::string(" + ") + name : ""; }

  std::string result() const {
    if (values_.hidden.empty() || graph_) return "y";
    const bool gated = is_gated();
    const std::string down = gated ? "h W_down" + bias("b_down") : "h W₂" + bias("b₂");
    return values_.routed.num_experts > 0 ? "y = Σ weight · (" + down + ")" : "y = " + down;
  }
  bool is_gated() const {
    return std::any_of(values_.hidden.begin(), values_.hidden.end(), [](const HiddenRows& rows) { return rows.gated(); });
  }

  void add_ends(TraceBlock& out, const std::string& name, const std::string& meaning, const std::vector<float>& values) const {
    out.steps.push_back(
        {name, meaning, tokens_, static_cast<std::int64_t>(values.size() / tokens_.size()), {values.begin(), values.end()}});
  }

  void add_attention(TraceBlock& out) const {
    const auto square = static_cast<std::ptrdiff_t>(values_.attention.length * values_.attention.length);
    for (std::int64_t h = 0; h < values_.attention.heads; ++h) {
      const auto first = values_.attention.mean.begin() + h * square;
      out.attention.push_back(
          {"head " + std::to_string(h), "who looks at whom", tokens_, values_.attention.length, {first, first + square}});
    }
  }

  // Rows of all experts, by token.
  void add_hidden(TraceBlock& out) const {
    if (graph_) {
      const auto hidden = hidden_layer(*graph_).value();
      const auto add_node = [&](int node, const std::string& meaning, std::vector<float> HiddenRows::*member) {
        if (node >= 0) add(out, graph_->nodes[static_cast<std::size_t>(node)].text, meaning, member);
      };
      add_node(hidden.pre_activation, "expand", &HiddenRows::pre_activation);
      add_node(hidden.gate, "gate", &HiddenRows::gate);
      add_node(hidden.up, "expand", &HiddenRows::up);
      add_node(hidden.value, "what the last product reads", &HiddenRows::hidden);
      return;
    }
    const std::string phi = is_formula_name(size_->activation) ? size_->activation : "φ";
    if (is_gated()) {
      add(out, "g = x W_gate" + bias("b_gate"), "expand", &HiddenRows::pre_activation);
      add(out, "u = x W_up" + bias("b_up"), "expand", &HiddenRows::up);
      add(out, phi + "(g)", "activate", &HiddenRows::gate);
      add(out, "h = " + phi + "(g) ⊙ u", "gate", &HiddenRows::hidden);
    } else {
      add(out, "z = x W₁" + bias("b₁"), "expand", &HiddenRows::pre_activation);
      add(out, "h = " + phi + "(z)", "activate", &HiddenRows::hidden);
    }
  }

  void add(TraceBlock& out, const std::string& name, const std::string& meaning, std::vector<float> HiddenRows::*member) const {
    struct Row {
      std::int64_t token;
      std::size_t expert;
      std::int64_t row;
    };
    std::vector<Row> order;
    for (std::size_t e = 0; e < values_.hidden.size(); ++e) {
      for (std::int64_t r = 0; r < values_.hidden[e].rows(); ++r)
        order.push_back({values_.hidden[e].token[static_cast<std::size_t>(r)], e, r});
    }
    std::stable_sort(order.begin(), order.end(), [](const Row& a, const Row& b) { return a.token < b.token; });
    TraceStep step{name, meaning, {}, 0, {}};
    for (const auto& [token, expert, row] : order) {
      const auto& hidden = values_.hidden[expert];
      step.width = hidden.width;
      step.rows.push_back(tokens_[static_cast<std::size_t>(token)] +
                          (values_.routed.num_experts > 0 ? " expert " + std::to_string(expert) : ""));
      const auto first = (hidden.*member).begin() + static_cast<std::ptrdiff_t>(row * hidden.width);
      step.values.insert(step.values.end(), first, first + static_cast<std::ptrdiff_t>(hidden.width));
    }
    out.steps.push_back(std::move(step));
  }

  std::vector<std::string> routes() const {
    const auto k = static_cast<std::size_t>(values_.routed.top_k);
    std::vector<std::string> out;
    for (std::size_t n = 0; n < tokens_.size(); ++n) {
      std::vector<std::string> parts;
      for (std::size_t i = n * k; i < (n + 1) * k; ++i)
        parts.push_back("expert " + std::to_string(values_.routed.expert[i]) + " with weight " +
                        shown_number(static_cast<double>(values_.routed.weight[i]), 2));
      out.push_back(tokens_[n] + " goes to " + join(parts, " and "));
    }
    return out;
  }

  const BlockValues& values_;
  const FfnSize* size_;
  const FormulaGraph* graph_;
  const std::vector<std::string>& tokens_;
};

std::vector<ClassLogit> most_probable(const float* logits, std::int64_t classes) {
  std::vector<ClassLogit> out;
  if (!std::all_of(logits, logits + classes, [](float x) { return std::isfinite(x); })) return out;
  const auto top = static_cast<double>(*std::max_element(logits, logits + classes));
  double sum = 0;
  for (std::int64_t c = 0; c < classes; ++c) {
    out.push_back({c, std::exp(static_cast<double>(logits[c]) - top)});
    sum += out.back().logit;
  }
  for (auto& each : out) each.logit /= sum;
  std::stable_sort(out.begin(), out.end(), [](const ClassLogit& a, const ClassLogit& b) { return a.logit > b.logit; });
  out.resize(std::min(kMostOutcomes, out.size()));
  return out;
}

}  // namespace

std::vector<std::string> Trace::outcome_names(std::size_t token, const Inputs& inputs) const {
  std::vector<std::string> out;
  if (outcomes[token].empty()) out.push_back("-");
  for (const auto& each : outcomes[token]) {
    if (inputs.shape.target == Target::vectors) out.push_back(inputs.class_name(each.index) + ": " + shown_number(each.logit, 3));
    else
      out.push_back((inputs.characters.empty() ? "class " + inputs.class_name(each.index) + ":" : inputs.class_name(each.index)) + " " +
                    format_percent(each.logit, 0));
  }
  return out;
}

Trace trace(TrainedNetwork& trained, const Inputs& inputs) {
  Trace out;
  for (std::int64_t n = 0; n < inputs.num_tokens(); ++n) out.tokens.push_back(inputs.token_name(n));
  for (const auto& values : capture(trained.model(), trained.network(), trained.row(), inputs, /*with_ends=*/true)) {
    const ModelConfig model = trained.model().of_block(static_cast<std::int64_t>(out.blocks.size()));
    std::optional<FormulaGraph> graph;
    if (const FormulaText* text = formula_of(model.ffn)) graph = graph_of(*text, model.d_model, *size_of(model.ffn));
    out.blocks.push_back(BlockTracer(values, size_of(model.ffn), graph ? &*graph : nullptr, out.tokens).trace());
  }
  const float* logits = trained.network().logits(trained.row(), inputs.examples(0, inputs.count));
  const std::int64_t width = inputs.shape.num_classes;
  for (std::int64_t n = 0; n < inputs.num_tokens(); ++n) {
    if (inputs.shape.target == Target::classes) out.outcomes.push_back(most_probable(logits + n * width, width));
    else {
      auto& values = out.outcomes.emplace_back();
      for (std::int64_t j = 0; j < width; ++j) values.push_back({j, static_cast<double>(logits[n * width + j])});
    }
  }
  return out;
}

}  // namespace ffn::inspect
