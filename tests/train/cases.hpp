// Run configs over the catalogues, at odd sizes. New activations, FFN kinds, routers, norms, placements, scores, tasks, optimizers and
// schedules join by themselves; what cannot, test_cases.cpp asks for.
#pragma once

#include "../base/helpers.hpp"
#include "ffn/config/coverage.hpp"
#include "ffn/data/task.hpp"
#include "support/choices.hpp"

namespace ffn::test {

using Case = std::pair<std::string, RunConfig>;

/// A short text, in a file that lives as long as the program.
inline std::string text_file() {
  static const ScratchDirectory scratch;
  static const std::string file = [] {
    std::string text;
    for (int i = 0; i < 24; ++i) text += "the " + std::to_string(i * i) + " cats sat on " + std::to_string(97 % (i + 2)) + " mats.\n";
    return scratch.write("text.txt", text);
  }();
  return file;
}

// At a size that trains in no time: a task's defaults, unless it has an overload here.
template <class Config>
TaskConfig small(Config task) {
  return task;
}
inline TaskConfig small(XorConfig task) {
  task.bits = 3;
  task.jitter = 0.1;
  task.label_noise = 0.05;
  return task;
}
inline TaskConfig small(SequenceXorConfig task) {
  task.length = 7;
  return task;
}
inline TaskConfig small(FunctionConfig task) {
  task.noise = 0.1;
  return task;
}
inline TaskConfig small(SequenceConfig task) {
  task.alphabet = 3;
  task.length = 7;
  task.label = "(s[t-1] + 2 * s[t-2]) % 5";
  return task;
}
inline TaskConfig small(FactsConfig task) {
  task.facts = 24;
  task.values = 5;
  return task;
}
inline TaskConfig small(TextConfig task) {
  task.file = text_file();
  task.context = 5;
  return task;
}

inline RunConfig base(const FfnConfig& ffn, bool attention) {
  RunConfig config;
  config.task = attention ? small(SequenceXorConfig{}) : small(XorConfig{});
  config.model.d_model = 10;  // odd sizes: vector bodies and scalar tails both occur
  config.model.ffn = ffn;
  if (attention) {
    config.model.blocks = 2;
    config.model.attention.emplace();
    config.model.attention->heads = 2;
    config.model.norm.kind = "layer";
    config.model.residual = true;
  }
  config.train.steps = 23;
  config.train.batch_size = 9;
  config.train.eval_every = 5;
  config.train.eval_examples = 33;
  config.train.checkpoint_every = 1000;
  config.train.clip_norm = 1.0;
  return config;
}

constexpr double kDropout = 0.2;   ///< of every case with an FFN that drops
constexpr double kEpsilon = 0.01;  ///< of formulas, and of norms that vary: not the default, so that one who has that instead differs

template <class Config>
Config some_ffn(const std::string& activation, double dropout = kDropout) {
  Config config = usable(Config{});
  config.d_ff = 13;
  config.activation = activation;
  config.dropout = dropout;
  return config;
}

template <class Config>
Config some_memory() {
  Config config;
  config.keys = 5;
  config.key_width = 6;
  config.heads = 2;
  config.top_k = 3;
  return config;
}

inline void add_ffns(std::vector<Case>& out, const std::vector<std::string>& activations) {
  for (const bool attention : {false, true}) {
    const std::string where = attention ? " in blocks" : " alone";
    each_alternative(FfnConfig{}, [&](auto kind) {
      using Kind = decltype(kind);
      if constexpr (std::is_base_of_v<FfnSize, Kind>) {
        for (const auto& phi : activations)
          out.emplace_back(std::string(Kind::kKind) + " " + phi + where, base(some_ffn<Kind>(phi), attention));
        auto unbiased = some_ffn<Kind>("silu");
        unbiased.bias = false;
        out.emplace_back(std::string(Kind::kKind) + " without biases" + where, base(unbiased, attention));
      } else if constexpr (std::is_base_of_v<MemoryFields, Kind>) {
        Kind memory = some_memory<Kind>();
        out.emplace_back(Kind::kKind + where, base(memory, attention));
        memory.bias = false;
        memory.query_norm = true;
        out.emplace_back(std::string(Kind::kKind) + " of normed queries" + where, base(memory, attention));
        if constexpr (std::is_same_v<Kind, PeerConfig>) {
          for (const auto& phi : activations) {
            memory.activation = phi;
            out.emplace_back("peer " + phi + where, base(memory, attention));
          }
        }
      } else {
        out.emplace_back(Kind::kKind + where, base(kind, attention));
      }
    });
  }
}

// Every formula that has a name, and experts that are formulas.
inline void add_formulas(std::vector<Case>& out) {
  for (const auto& row : named_formulas()) {
    FormulaConfig config;
    config.text = formula_text(row);
    config.d_ff = 13;
    config.activation = "silu";
    config.text.epsilon = kEpsilon;
    if (config.text.formula.find("dropout(") != std::string::npos) config.dropout = kDropout;
    out.emplace_back(std::string("formula ") + row.name, base(config, out.size() % 2 == 0));
    out.back().second.model.d_model = 12;  // some have sizes of D/4
  }
  for (const char* name : {"swiglu", "normformer", "poly_norm", "gated"}) {
    for (const bool attention : {false, true}) {
      auto moe = some_ffn<MoeConfig>("gelu", name == std::string("gated") ? kDropout : 0);
      moe.expert = formula_called(name);
      moe.expert->epsilon = kEpsilon;
      moe.num_experts = attention ? 3 : 20;  // more than tokens: some get none
      out.emplace_back(std::string("moe of ") + name + (attention ? " in blocks" : " alone"), base(moe, attention));
    }
  }
}

/// Two hidden units of ReLU without biases: many tokens reach the second block as zeros, where all experts are equally likely. Not a
/// case to train for long: what is nearly zero is nearly a tie, and no two orders of operations settle it alike.
inline RunConfig mixture_of_zeros() {
  auto moe = some_ffn<MoeConfig>("relu", 0);
  moe.num_experts = 4;
  moe.top_k = 1;
  moe.d_ff = 2;
  moe.bias = false;
  auto config = base(moe, false);
  config.model.blocks = 2;
  config.train.batch_size = 64;
  return config;
}

inline void add_mixtures(std::vector<Case>& out, const RouterConfig& router, const std::string& routed) {
  for (const bool attention : {false, true}) {
    const std::string where = " routed by " + routed + (attention ? " in blocks" : " alone");
    auto moe = some_ffn<MoeConfig>("mish");
    moe.router = router;
    moe.gated = true;
    moe.num_experts = 3;
    moe.balance_weight = 0.7;
    out.emplace_back("moe of gated" + where, base(moe, attention));
    out.back().second.train.layer_metrics = true;
    moe.gated = false;
    moe.top_k = 3;
    out.emplace_back("moe with all experts" + where, base(moe, attention));
    moe.num_experts = 20;  // more than tokens: some get none
    moe.top_k = 1;
    out.emplace_back("moe with idle experts" + where, base(moe, attention));
  }
}

// Options of a router that takes the K largest scores, and of a mixture.
template <class Router>
void add_router_options(std::vector<Case>& out) {
  for (const bool attention : {false, true}) {
    const std::string where = std::string(" routed by ") + Router::kKind + (attention ? " in blocks" : " alone");
    auto moe = some_ffn<MoeConfig>("mish");
    moe.num_experts = 4;
    Router router;
    router.scale = 1.5;
    router.bias_step = 0.05;
    router.center_bias = attention;
    moe.router = router;
    moe.z_loss_weight = 0.3;
    moe.importance_weight = 0.6;
    moe.sequence_balance_weight = 0.5;
    out.emplace_back("moe with every loss and a bias" + where, base(moe, attention));
    router.weights = "raw";
    moe.router = router;
    moe.capacity_factor = 0.8;
    moe.gated = attention;
    moe.shared_experts = 2;
    out.emplace_back("moe with raw weights, a capacity and shared experts" + where, base(moe, attention));
  }
}

inline void add_blocks(std::vector<Case>& out) {
  int i = 0, vectors = 0;
  for (const auto& kind : choices("model.norm.kind")) {
    for (const auto& placement : choices("model.norm.placement")) {
      auto config = base(some_ffn<PositionwiseConfig>("gelu"), false);
      config.model.norm.kind = kind;
      config.model.norm.placement = placement;
      config.model.norm.epsilon = kEpsilon;
      config.model.residual = vectors++ % 2 == 1;
      out.emplace_back(kind + " " + placement + " on vectors", config);
      for (const auto& scores : choices("model.attention.scores")) {
        auto blocks = base(some_ffn<GatedConfig>("gelu"), true);
        blocks.model.norm = config.model.norm;
        blocks.model.attention->scores = scores;
        blocks.model.attention->causal = i % 3 != 0;
        blocks.model.attention->bias = i % 4 < 2;
        blocks.model.residual = i % 5 < 3;
        out.emplace_back(kind + " " + placement + " " + scores, blocks);
        ++i;
      }
    }
  }
  for (const auto& positions : choices("model.positions")) {
    auto placed = base(some_ffn<PositionwiseConfig>("gelu"), true);
    placed.model.positions = positions;
    placed.model.d_model = 12;  // rotary turns pairs
    out.emplace_back("positions " + positions, placed);
    if (positions != "rotary") continue;
    placed.model.attention->rotary_layout = "pairs";
    placed.model.attention->rotary_base = 50;
    placed.model.attention->causal = false;
    placed.model.attention->qk_norm = true;
    out.emplace_back("positions rotary, in pairs and normed", placed);
  }
  auto normed = base(some_ffn<PositionwiseConfig>("gelu"), true);
  normed.model.attention->qk_norm = true;
  normed.model.norm.kind = "none";
  out.emplace_back("queries and keys normed", normed);
  for (const char* kind : {"none", "layer", "rms"}) {
    auto parallel = base(some_ffn<MoeConfig>("gelu"), true);
    parallel.model.parallel = true;
    parallel.model.norm.kind = kind;
    parallel.model.residual = kind != std::string("layer");
    parallel.model.residual_dropout = parallel.model.residual ? 0.3 : 0;
    out.emplace_back(std::string("in parallel, norm ") + kind, parallel);
  }
  auto shares = base(some_ffn<GatedConfig>("silu"), true);
  shares.model.share_ffn = true;
  shares.model.blocks = 3;
  out.emplace_back("one FFN for all blocks", shares);
  auto mixture = some_ffn<MoeConfig>("gelu");
  mixture.num_experts = 3;
  mixture.top_k = 1;
  SoftmaxTopKConfig balanced;
  balanced.bias_step = 0.05;
  mixture.router = balanced;
  shares.model.ffn = mixture;
  out.emplace_back("one mixture for all blocks", shares);
  auto alone = base(NoFfnConfig{}, true);
  alone.model.parallel = true;
  out.emplace_back("in parallel to nothing", alone);
  auto bare = base(NoFfnConfig{}, true);
  bare.model.positions = "none";
  bare.model.attention.reset();
  out.emplace_back("nothing in the blocks, no positions", bare);
}

inline void add_training(std::vector<Case>& out) {
  each_alternative(TaskConfig{}, [&](auto task) {
    for (const char* norm : {"none", "layer"}) {
      auto config = base(some_ffn<MoeConfig>("gelu"), false);
      config.task = small(task);
      config.model.norm.kind = norm;
      out.emplace_back(std::string("moe on ") + decltype(task)::kKind + ", norm " + norm, config);
    }
  });
  for (const auto& loss : choices("train.loss")) {
    for (const bool attention : {false, true}) {
      auto config = base(some_ffn<PositionwiseConfig>("gelu"), attention);
      config.train.loss = loss;
      if (target_of_loss(loss) == Target::vectors) {
        if (attention) continue;  // no task of tokens has such targets
        config.task = small(usable(FunctionConfig{}));
      }
      out.emplace_back("loss " + loss + (attention ? " in blocks" : " alone"), config);
    }
  }
  FunctionConfig classes;
  *classes.inputs = {{"a", {{"integer", 5}}}, {"b", {{"bit", 2}}}};
  classes.label = "(a + b[0] + 2 * b[1]) % 5";
  classes.held_out = 0.3;
  auto of_classes = base(some_ffn<PositionwiseConfig>("tanh"), false);
  of_classes.task = classes;
  out.emplace_back("a function with five classes", of_classes);
  TableConfig numbers = usable(TableConfig{});
  numbers.label.clear();
  numbers.target = "petal_width";
  auto of_numbers = base(some_ffn<PositionwiseConfig>("tanh"), false);
  of_numbers.task = numbers;
  out.emplace_back("a table with a target", of_numbers);
  for (const auto& init : choices("model.init")) {
    auto config = base(some_ffn<GatedConfig>("silu"), true);
    config.model.init = init;
    if (init == "mup") config.model.base_d_ff = 26;
    out.emplace_back("init " + init, config);
  }
  auto scaled = base(some_ffn<GatedConfig>("silu"), true);
  scaled.model.init_scale = Json{{"down", 0.5}, {"embedding", 2}};
  out.emplace_back("starts scaled by role", scaled);
  auto tied = base(some_ffn<PositionwiseConfig>("gelu"), true);
  tied.model.tie = true;
  out.emplace_back("tied, bits", tied);
  tied.task = small(TextConfig{});
  out.emplace_back("tied, text", tied);
  for (const auto& placement : choices("model.norm.placement")) {
    auto drops = base(some_ffn<PositionwiseConfig>("gelu"), true);
    drops.model.norm.placement = placement;
    drops.model.residual_dropout = 0.3;
    out.emplace_back("residual dropout, norm " + placement, drops);
  }
  for (const bool attention : {false, true}) {
    auto unlike = base(some_ffn<GatedConfig>(FfnSize().activation), attention);
    std::get<GatedConfig>(unlike.model.ffn).d_ff.reset();
    unlike.model.blocks = 4;
    unlike.model.block_expansion = Json{2, 0, 1.3, 0.5};
    unlike.model.block_activation = Json{"silu", "relu", "identity", "z * sin(z)"};
    unlike.model.residual_dropout = 0.3;
    unlike.model.parallel = attention;
    unlike.model.parallel_from = attention ? 1 : 0;
    out.emplace_back(std::string("blocks that differ") + (attention ? ", the later ones parallel" : " alone"), unlike);
  }
  auto wide = some_ffn<MoeConfig>("gelu");
  wide.shared_experts = 2;
  wide.shared_expansion = 1.7;
  out.emplace_back("shared experts of another width", base(wide, true));
  auto drops_alone = base(NoFfnConfig{}, true);  // no other dropout
  drops_alone.model.residual_dropout = 0.3;
  out.emplace_back("residual dropout alone", drops_alone);
  TextConfig windows;
  windows.split = "per_seed";
  auto of_windows = base(some_ffn<PositionwiseConfig>("gelu"), true);
  of_windows.task = small(windows);
  out.emplace_back("a text of which each seed holds out another window", of_windows);
  windows.alphabet = "bytes";
  of_windows.task = small(windows);
  out.emplace_back("a text of bytes", of_windows);
  int i = 0;
  each_alternative(OptimizerConfig{}, [&](auto optimizer) {
    each_alternative(ScheduleConfig{}, [&](auto schedule) {
      for (const auto& decay : choices(std::string("train.optimizer[") + optimizer.kKind + "].decay")) {
        auto config = base(some_ffn<PositionwiseConfig>("tanh"), i % 2 == 1);
        optimizer.weight_decay = 0.1;
        optimizer.decay = decay;
        optimizer.decay_scale = Json{{"down", 0.5}, {"head", i % 2 == 0 ? 0 : 3}};
        if constexpr (std::is_same_v<decltype(optimizer), SgdConfig>) optimizer.nesterov = i % 4 < 2;
        if constexpr (std::is_same_v<decltype(optimizer), MuonConfig>) {
          const auto scalings = choices("train.optimizer[muon].scaling");
          optimizer.scaling = scalings[static_cast<std::size_t>(i) % scalings.size()];
          optimizer.nesterov = i % 4 < 2;
        }
        schedule.warmup_steps = i % 3 * 4;
        config.train.optimizer = optimizer;
        config.train.schedule = schedule;
        out.emplace_back(std::string(optimizer.kKind) + ", " + schedule.kKind + ", decay " + decay, config);
        ++i;
      }
    });
  });
}

/// Over these activations; the others cannot matter to what is checked.
inline std::vector<Case> cases_with(const std::vector<std::string>& activations) {
  std::vector<Case> out;
  add_ffns(out, activations);
  add_formulas(out);
  each_alternative(RouterConfig{}, [&](auto router) {
    add_mixtures(out, router, router.kKind);
    if constexpr (std::is_base_of_v<TopKFields, decltype(router)>) add_router_options<decltype(router)>(out);
  });
  add_blocks(out);
  add_training(out);
  return out;
}

inline std::vector<Case> cases() { return cases_with(choices("model.ffn[positionwise].activation")); }

/// Whether the cpu engine trains it; a layer that exists in LibTorch alone is LibTorch's (train/test_learner_torch.cpp).
inline bool is_cpu(const RunConfig& config) { return not_covered(config).empty(); }

inline std::vector<Case> only_cpu(std::vector<Case> all) {
  all.erase(std::remove_if(all.begin(), all.end(), [](const Case& c) { return !is_cpu(c.second); }), all.end());
  return all;
}
inline std::vector<Case> cpu_cases() { return only_cpu(cases()); }
inline std::vector<Case> cpu_cases_with(const std::vector<std::string>& activations) { return only_cpu(cases_with(activations)); }

}  // namespace ffn::test
