// ffn-train params: where the parameters and FLOPs of a Transformer layer are, by closed formula.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "../commands.hpp"
#include "../load_config.hpp"
#include "ffn/base/text.hpp"
#include "ffn/config/accounting.hpp"
#include "ffn/config/study_config.hpp"
#include "ffn/data/task.hpp"
#include "ffn/formula/formula.hpp"
#include "ffn/report/format.hpp"

namespace ffn::app {

namespace {

struct CountedPart {
  std::string name;
  Cost cost;
};

Json cost_json(const Cost& cost) {
  return {{"parameters", cost.parameters}, {"active_parameters", cost.active_parameters}, {"flops_per_token", cost.flops}};
}

std::string share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? "-" : format_percent(static_cast<double>(part) / static_cast<double>(whole));
}

void print_params(const std::vector<CountedPart>& parts, const Cost& total, const CommonOptions& common) {
  if (common.json) {
    Json out = Json::object();
    for (const auto& part : parts) out[part.name] = cost_json(part.cost);
    out["total"] = cost_json(total);
    print_json(out);
    return;
  }
  Table table({{"part", Align::left},
               {"parameters", Align::right},
               {"share", Align::right},
               {"active", Align::right},
               {"FLOPs/token", Align::right},
               {"share", Align::right}});
  for (const auto& [name, cost] : parts) {
    table.add_row({name, format_count(cost.parameters), share(cost.parameters, total.parameters), format_count(cost.active_parameters),
                   format_count(cost.flops), share(cost.flops, total.flops)});
  }
  table.add_row({"total", format_count(total.parameters), "", format_count(total.active_parameters), format_count(total.flops), ""});
  print_table(table, common);
}

// A formula step by step: what each of its operations gives, (tokens, width), or a vector for all tokens.
void print_steps(const ModelConfig& model, const CommonOptions& common) {
  const FormulaText* text = formula_of(model.ffn);
  if (!text) return;
  const FfnSize& size = *size_of(model.ffn);
  const auto width = size.hidden_width(model.d_model);
  const auto graph = compile_formula(*text, model.d_model, width, size.activation);
  const auto shape = [](const std::vector<std::int64_t>& sizes) {
    std::string out;
    for (const auto each : sizes) out += (out.empty() ? "" : ", ") + format_count(each);
    return "(" + out + ")";
  };
  print_text("\n" + printable((text->name.empty() ? "formula" : text->name) + ": " + text->formula) +
             "\nD = " + format_count(model.d_model) + ", F = " + format_count(width) +
             (text->calls_phi() ? ", phi is " + size.activation : "") + "\n\n");
  Table table({{"step", Align::left}, {"shape", Align::left}, {"with", Align::left}});
  for (const auto& node : graph.nodes) {
    if (node.op == FormulaOp::number) continue;
    std::string with;
    for (const int parameter : {node.op == FormulaOp::parameter ? -1 : node.parameter, node.bias}) {
      if (parameter < 0) continue;
      const auto& spec = graph.parameters[static_cast<std::size_t>(parameter)];
      with += (with.empty() ? "" : ", ") + spec.name + " " + shape(spec.shape);
    }
    const auto w = format_count(node.width);
    table.add_row({printable(node.text), node.batched ? "(N, " + w + ")" : "(" + w + ")", with});
  }
  print_table(table, common);
}

// The whole models of a study, one beside the other.
void print_variants(const Study& study, const CommonOptions& common) {
  Table table({{"variant", Align::left},
               {"parameters", Align::right},
               {"of the FFN", Align::right},
               {"active", Align::right},
               {"FLOPs/token", Align::right}});
  Json variants = Json::array();
  for (const auto& variant : study.variants) {
    const auto cost = model_cost(variant.config.model, task_shape(variant.config.task));
    table.add_row({variant.shown(), format_count(cost.total.parameters), share(cost.ffns.parameters, cost.total.parameters),
                   format_count(cost.total.active_parameters), format_count(cost.total.flops)});
    variants.push_back({{"name", variant.name}, {"ffn", cost_json(cost.ffns)}, {"total", cost_json(cost.total)}});
  }
  if (common.json) print_json({{"variants", variants}});
  else print_table(table, common);
}

// A whole model from a config.
void print_model(const CommonOptions& common) {
  const auto document = load_with_overrides(common.config, common.overrides);
  refuse_program(document, "params");
  if (is_study(document)) return print_variants(read_study(document, common.config), common);
  const auto config = read_run_config(document, common.config);
  const auto cost = model_cost(config.model, task_shape(config.task));
  const auto blocks = config.model.blocks;
  const std::string times = blocks > 1 ? " ×" + std::to_string(blocks) : "";
  std::vector<CountedPart> parts;
  if (config.model.attention) parts.push_back({"attention" + times, cost.attention * blocks});
  parts.push_back({"ffn" + times, cost.ffns});
  if (cost.norms.parameters > 0) parts.push_back({"norms", cost.norms});
  parts.push_back({"embedding and head", cost.ends});
  print_params(parts, cost.total, common);
  if (!common.json) print_steps(config.model, common);
}

struct LayerOptions {
  std::int64_t d_model = 0, d_ff = 0, sequence = 0, experts = 0, top_k = 2;
  bool no_bias = false, gated = false, attention_bias = false, llama = false;
};

constexpr std::int64_t kLlamaMultiple = 256;

/// ⌊2·4D/3⌋ rounded up: github.com/meta-llama/llama, model.py.
std::int64_t llama_width(std::int64_t d_model) { return (8 * d_model / 3 + kLlamaMultiple - 1) / kLlamaMultiple * kLlamaMultiple; }

// One attention + FFN layer from a few numbers.
void print_layer(LayerOptions o, const CommonOptions& common) {
  if (o.llama) {
    o.gated = o.no_bias = true;
    o.d_ff = llama_width(o.d_model);
  }
  FfnSize size;
  if (o.d_ff > 0) size.d_ff = o.d_ff;
  size.bias = !o.no_bias;
  FfnConfig ffn;
  if (o.experts > 0) {
    MoeConfig moe;
    static_cast<FfnSize&>(moe) = size;
    moe.num_experts = o.experts;
    moe.top_k = o.top_k;
    moe.gated = o.gated;
    if (moe.top_k > moe.num_experts)
      throw UsageError("--top-k (" + std::to_string(moe.top_k) + ") exceeds --experts (" + std::to_string(moe.num_experts) + ")");
    ffn = moe;
  } else if (o.gated) {
    GatedConfig gated;
    static_cast<FfnSize&>(gated) = size;
    ffn = gated;
  } else {
    PositionwiseConfig plain;
    static_cast<FfnSize&>(plain) = size;
    ffn = plain;
  }
  AttentionConfig attention;
  attention.bias = o.attention_bias;
  const Cost a = attention_cost(attention, o.d_model, o.sequence), f = ffn_cost(ffn, o.d_model);
  Cost total = a;
  total += f;
  print_params({{"attention", a}, {"ffn", f}}, total, common);
  if (o.llama && !common.json)
    print_text("d_ff " + format_count(o.d_ff) + " is ⌊8/3 · d_model⌋ = " + format_count(8 * o.d_model / 3) +
                   ", rounded up to a multiple of " + std::to_string(kLlamaMultiple) + ": " +
                   format_percent(3.0 * static_cast<double>(o.d_ff) / (8.0 * static_cast<double>(o.d_model)) - 1, 2) +
                   " more parameters than the plain FFN of 4 · d_model",
               0);
  if (o.sequence == 0 && !common.json)
    print_text("without attention's scores and sums over T tokens, another 4·T·d_model FLOPs/token: --sequence T counts them", 0);
}

}  // namespace

void add_params(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("params", "count parameters and FLOPs of attention and FFN");
  auto options = std::make_shared<LayerOptions>();
  add_config_options(command, common);
  const auto width = command.option("--d-model", options->d_model, "width of the residual stream").integer_in(1, 1 << 20);
  const auto d_ff = command.option("--d-ff", options->d_ff, "hidden width; 4 · d_model by default").integer_in(1, 1 << 22);
  const auto sequence =
      command.option("--sequence", options->sequence, "tokens T that attention looks at; adds 4·T·d_model FLOPs").integer_in(0, 1 << 22);
  const auto experts = command.option("--experts", options->experts, "mixture of this many experts").integer_in(1, 1 << 16);
  const auto top_k = command.option("--top-k", options->top_k, "experts per token").integer_in(1, 1 << 16);
  const auto gated = command.flag("--gated", options->gated, "gated FFN");
  const auto no_bias = command.flag("--no-bias", options->no_bias, "FFN without biases");
  const auto attention_bias = command.flag("--attention-bias", options->attention_bias, "attention projections with biases");
  const auto llama = command.flag("--llama", options->llama, "LLaMA's FFN: gated, without biases, d_ff by its rule");
  const std::vector<Option> of_layer = {width, d_ff, sequence, experts, top_k, gated, no_bias, attention_bias, llama};
  add_output_options(command, common);
  command.run([&common, options, of_layer, width, top_k, d_ff, llama] {
    const bool describes_layer = std::any_of(of_layer.begin(), of_layer.end(), [](const Option& option) { return option.given(); });
    parse_config(common);
    if (!common.config.empty()) {
      if (describes_layer)
        throw UsageError("--d-model and the options beside it describe a layer without a config, so they would not change " + common.config,
                         "change the config with key=value, for example model.d_model=512, model.ffn.d_ff=2048 or model.ffn.kind=gated");
      print_model(common);
    } else if (width.given()) {
      if (!common.overrides.empty())
        throw UsageError(
            "--d-model describes a layer without a config, so " + common.overrides[0] + " would have no effect",
            "use --d-ff, --gated, --experts, …, or change a config: ffn-train params xor model.d_model=512 model.ffn.kind=gated");
      if (top_k.given() && options->experts == 0)
        throw UsageError("--top-k is of a mixture, and --experts is not given", "for example: --experts 8 --top-k 2");
      if (llama.given() && (d_ff.given() || options->experts > 0))
        throw UsageError("--llama says d_ff, and is no mixture", "leave out --d-ff and --experts, or --llama");
      print_layer(*options, common);
    } else {
      throw UsageError("params needs a config or --d-model N", "for example: ffn-train params --d-model 512 --d-ff 2048");
    }
    return 0;
  });
}

}  // namespace ffn::app
