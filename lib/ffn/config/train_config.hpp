// How the network is trained.
#pragma once

#include "ffn/base/field_visitor.hpp"
#include "ffn/base/json.hpp"

namespace ffn {

/// Fields of the Adam family. Defaults are those of torch.optim.
struct AdamFields {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  JsonValue lr_scale = JsonValue::object();     ///< role → factor on lr
  JsonValue decay_scale = JsonValue::object();  ///< role → factor on weight_decay

 protected:
  void describe_adam(FieldVisitor& v);
};

/// Decoupled weight decay: Loshchilov & Hutter 2019, arXiv:1711.05101.
struct AdamWConfig : AdamFields {
  static constexpr const char* kKind = "adamw";
  static constexpr const char* kDoc = "Adam with decoupled weight decay (Loshchilov & Hutter 2019, arXiv:1711.05101).";
  double weight_decay = 0.01;
  std::string decay = "matrices";
  void describe(FieldVisitor& v);
};

/// Kingma & Ba 2015, arXiv:1412.6980; weight decay as an L2 term of the gradient, as torch.optim.Adam has it.
struct AdamConfig : AdamFields {
  static constexpr const char* kKind = "adam";
  static constexpr const char* kDoc = "Adam (Kingma & Ba 2015, arXiv:1412.6980); weight decay is an L2 term of the gradient.";
  double weight_decay = 0.0;
  std::string decay = "matrices";
  void describe(FieldVisitor& v);
};

struct SgdConfig {
  static constexpr const char* kKind = "sgd";
  static constexpr const char* kDoc = "Stochastic gradient descent with momentum, in torch.optim.SGD's form.";
  double lr = 0.1;
  double momentum = 0.9;
  bool nesterov = false;
  JsonValue lr_scale = JsonValue::object(), decay_scale = JsonValue::object();
  double weight_decay = 0.0;
  std::string decay = "matrices";
  void describe(FieldVisitor& v);
};

/// Chen et al. 2023, arXiv:2302.06675, algorithm 2: p ← p·(1 - lr·wd) - lr·sign(β₁m + (1 - β₁)g), then m ← β₂m + (1 - β₂)g; sign(0) = 0.
struct LionConfig {
  static constexpr const char* kKind = "lion";
  static constexpr const char* kDoc =
      "Lion (Chen et al. 2023, arXiv:2302.06675): every parameter moves by the rate, in the direction of a sign. Its rate is 3 to 10 "
      "times lower than AdamW's, its weight decay as much higher.";
  double lr = 1e-4;
  double beta1 = 0.9, beta2 = 0.99;
  JsonValue lr_scale = JsonValue::object(), decay_scale = JsonValue::object();
  double weight_decay = 0.0;
  std::string decay = "matrices";
  void describe(FieldVisitor& v);
};

/// Jordan et al. 2024, https://kellerjordan.github.io/posts/muon: m ← μm + (1 - μ)g, u = (1 - μ)g + μm with Nesterov, else m; O = u with
/// its singular values brought near 1 by five Newton–Schulz iterations; p ← p·(1 - lr·wd) - lr·step_scale·O.
struct MuonConfig {
  static constexpr const char* kKind = "muon";
  static constexpr const char* kDoc =
      "Muon (Jordan et al. 2024, https://kellerjordan.github.io/posts/muon): the matrices of attention and feed-forward layers, each "
      "expert's by itself, move by their momentum with all singular values brought near 1. Embeddings, head, router, positions, keys and "
      "slots of memories, vectors, and matrices of one row or column move by AdamW at adam_lr. A step costs some 15 matrix products of a "
      "matrix's own size, whatever the batch.";
  double lr = 0.02;
  double momentum = 0.95;
  bool nesterov = true;
  std::string scaling = "shape";
  double adam_lr = 1e-3, beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
  JsonValue lr_scale = JsonValue::object(), decay_scale = JsonValue::object();
  double weight_decay = 0.01;
  std::string decay = "matrices";
  void describe(FieldVisitor& v);
  /// Factor on the step of a map from d_in to d_out.
  double step_scale(std::int64_t d_in, std::int64_t d_out) const;
  AdamWConfig adamw() const;  ///< for all other parameters
};

using OptimizerConfig = std::variant<AdamWConfig, AdamConfig, SgdConfig, LionConfig, MuonConfig>;

struct ConstantSchedule {
  static constexpr const char* kKind = "constant";
  static constexpr const char* kDoc = "The same rate throughout, after an optional linear warm-up.";
  std::int64_t warmup_steps = 0;
  void describe(FieldVisitor& v);
};

struct CosineSchedule {
  static constexpr const char* kKind = "cosine";
  static constexpr const char* kDoc = "Linear warm-up, then half a cosine down to final_fraction of the rate.";
  std::int64_t warmup_steps = 0;
  double final_fraction = 0.1;
  void describe(FieldVisitor& v);
};

struct WsdSchedule {
  static constexpr const char* kKind = "wsd";
  static constexpr const char* kDoc = "Warm-up, stable, decay: constant after the warm-up, linear decay over the last part.";
  std::int64_t warmup_steps = 0;
  double decay_fraction = 0.1;
  double final_fraction = 0.0;
  void describe(FieldVisitor& v);
};

using ScheduleConfig = std::variant<ConstantSchedule, CosineSchedule, WsdSchedule>;

/// Factor on the learning rate at `step` (0-based) of `total`. Pure: resuming needs nothing but the step.
double schedule_factor(const ScheduleConfig& schedule, std::int64_t step, std::int64_t total);

struct TargetConfig {
  std::string metric = "val/accuracy";
  std::optional<double> at_least;
  std::optional<double> at_most;
  bool stop = false;
  std::int64_t patience = 0;
  void describe(FieldVisitor& v);
  bool reached(double value) const { return at_least ? value >= *at_least : value <= at_most.value_or(0); }
};

constexpr std::int64_t kEvalExamples = 512;  ///< where there is no end of them

struct TrainConfig {
  std::int64_t steps = 1000;
  std::int64_t batch_size = 64;
  std::int64_t accumulate = 1;
  std::int64_t eval_every = 100;
  std::optional<std::int64_t> eval_examples = kEvalExamples;  ///< all if not set, which is for data that has an end
  std::int64_t checkpoint_every = 1000;
  double clip_norm = 0.0;
  bool layer_metrics = false;
  std::string loss = "auto";
  double label_smoothing = 0.0;
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  std::optional<TargetConfig> target;
  void describe(FieldVisitor& v);

  /// For Task::validation().
  std::int64_t most_eval_examples() const { return eval_examples.value_or(INT64_MAX); }
};

}  // namespace ffn
