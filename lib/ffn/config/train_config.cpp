#include "ffn/config/train_config.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/base/json_document.hpp"
#include "ffn/config/loss.hpp"
#include "ffn/config/metrics.hpp"

namespace ffn {

namespace {

void describe_decay(FieldVisitor& v, std::string& decay, JsonValue& decay_scale) {
  v.json({"decay_scale", "role of a parameter → factor on weight_decay, such as {\"router\": 0}; roles as of lr_scale"}, *decay_scale,
         Shape::object);
  v.choice(
      {"decay", "parameters that decay"}, decay,
      {{"matrices", "weights of two or more dimensions; not biases and norms"}, {"all", "all parameters, the default of torch.optim"}});
}

void describe_lr_scale(FieldVisitor& v, JsonValue& lr_scale) {
  v.json(
      {"lr_scale",
       "role of a parameter → factor on lr, such as {\"embedding\": 0, \"head\": 0}; 0 keeps its start, decay included. Roles: embedding "
       "(also of vectors: the map that they enter by), position, query, key, value, output, scores, up, gate, down, router, norm, head; "
       "other: parameters of a formula without such a name"},
      *lr_scale, Shape::object);
}

void describe_warmup(FieldVisitor& v, std::int64_t& warmup_steps) {
  v.integer({"warmup_steps", "number of steps w of linear warm-up: lr/w at the first step, lr at step w"}, warmup_steps,
            at_least(std::int64_t{0}));
}

// Linear warm-up reaches 1 at step warmup - 1, so that the first step already moves.
double warmup_factor(std::int64_t step, std::int64_t warmup) {
  return step < warmup ? static_cast<double>(step + 1) / static_cast<double>(warmup) : 1.0;
}

double factor(const ConstantSchedule& s, std::int64_t step, std::int64_t) { return warmup_factor(step, s.warmup_steps); }

double factor(const CosineSchedule& s, std::int64_t step, std::int64_t total) {
  if (step < s.warmup_steps) return warmup_factor(step, s.warmup_steps);
  const auto length = static_cast<double>(std::max<std::int64_t>(1, total - s.warmup_steps));
  const double progress = std::min(1.0, static_cast<double>(step - s.warmup_steps) / length);
  constexpr double kPi = 3.141592653589793;
  return s.final_fraction + (1 - s.final_fraction) * 0.5 * (1 + std::cos(kPi * progress));
}

double factor(const WsdSchedule& s, std::int64_t step, std::int64_t total) {
  if (step < s.warmup_steps) return warmup_factor(step, s.warmup_steps);
  const double decay_steps = std::max(1.0, std::round(s.decay_fraction * static_cast<double>(total)));
  const double left = static_cast<double>(total - step) / decay_steps;
  return left >= 1 ? 1.0 : s.final_fraction + (1 - s.final_fraction) * std::max(0.0, left);
}

}  // namespace

double schedule_factor(const ScheduleConfig& schedule, std::int64_t step, std::int64_t total) {
  return std::visit([&](const auto& s) { return factor(s, step, total); }, schedule);
}

void AdamFields::describe_adam(FieldVisitor& v) {
  v.real({"lr", "learning rate"}, lr, above(0.0));
  v.real({"beta1", "decay of the gradient's running mean"}, beta1, between(0.0, 0.9999999));
  v.real({"beta2", "decay of the squared gradient's running mean"}, beta2, between(0.0, 0.9999999));
  v.real({"epsilon", "added to the square root of the second moment"}, epsilon, at_least(1e-30));
  describe_lr_scale(v, lr_scale);
}

void AdamWConfig::describe(FieldVisitor& v) {
  describe_adam(v);
  v.real({"weight_decay", "each step multiplies decaying parameters by 1 - lr · weight_decay"}, weight_decay, at_least(0.0));
  describe_decay(v, decay, decay_scale);
}

void AdamConfig::describe(FieldVisitor& v) {
  describe_adam(v);
  v.real({"weight_decay", "weight_decay · parameter is added to the gradient"}, weight_decay, at_least(0.0));
  describe_decay(v, decay, decay_scale);
}

void SgdConfig::describe(FieldVisitor& v) {
  v.real({"lr", "learning rate"}, lr, above(0.0));
  describe_lr_scale(v, lr_scale);
  v.real({"momentum", "decay of the velocity; 0 is plain gradient descent"}, momentum, between(0.0, 0.9999999));
  v.flag({"nesterov", "Nesterov momentum"}, nesterov);
  v.real({"weight_decay", "weight_decay · parameter is added to the gradient"}, weight_decay, at_least(0.0));
  describe_decay(v, decay, decay_scale);
  v.require(!nesterov || momentum > 0, "nesterov", "nesterov needs momentum above 0", {"momentum"});
}

void LionConfig::describe(FieldVisitor& v) {
  v.real({"lr", "learning rate"}, lr, above(0.0));
  v.real({"beta1", "share of the running mean in what the sign is taken of"}, beta1, between(0.0, 0.9999999));
  v.real({"beta2", "decay of the gradient's running mean"}, beta2, between(0.0, 0.9999999));
  describe_lr_scale(v, lr_scale);
  v.real({"weight_decay", "each step multiplies decaying parameters by 1 - lr · weight_decay"}, weight_decay, at_least(0.0));
  describe_decay(v, decay, decay_scale);
}

void MuonConfig::describe(FieldVisitor& v) {
  v.real({"lr", "learning rate of the matrices"}, lr, above(0.0));
  v.real({"momentum", "decay μ of the gradient's running mean"}, momentum, between(0.0, 0.9999999));
  v.flag({"nesterov", "Nesterov momentum"}, nesterov);
  v.choice({"scaling", "factor on the step of a matrix with r outputs and c inputs"}, scaling,
           {{"shape", "√max(1, r/c), Jordan's"},
            {"rms", "0.2·√max(r, c), which gives the elements AdamW's size, so that AdamW's rates fit (Liu et al. 2025, arXiv:2502.16982)"},
            {"spectral", "√(r/c) (Bernstein 2025, https://jeremybernste.in/writing/deriving-muon)"}});
  v.real({"adam_lr", "learning rate of all other parameters"}, adam_lr, above(0.0));
  v.real({"beta1", "of AdamW: decay of the gradient's running mean"}, beta1, between(0.0, 0.9999999));
  v.real({"beta2", "of AdamW: decay of the squared gradient's running mean"}, beta2, between(0.0, 0.9999999));
  v.real({"epsilon", "of AdamW: added to the square root of the second moment"}, epsilon, at_least(1e-30));
  describe_lr_scale(v, lr_scale);
  v.real({"weight_decay", "each step multiplies decaying parameters by 1 - weight_decay · their learning rate"}, weight_decay,
         at_least(0.0));
  describe_decay(v, decay, decay_scale);
}

double MuonConfig::step_scale(std::int64_t d_in, std::int64_t d_out) const {
  const auto rows = static_cast<double>(d_out), columns = static_cast<double>(d_in);  // in torch.nn.Linear's layout
  if (scaling == "rms") return 0.2 * std::sqrt(std::max(rows, columns));
  return std::sqrt(scaling == "shape" ? std::max(1.0, rows / columns) : rows / columns);
}

AdamWConfig MuonConfig::adamw() const {
  AdamWConfig out;
  out.lr = adam_lr;
  out.beta1 = beta1;
  out.beta2 = beta2;
  out.epsilon = epsilon;
  out.weight_decay = weight_decay;
  return out;
}

void ConstantSchedule::describe(FieldVisitor& v) { describe_warmup(v, warmup_steps); }

void CosineSchedule::describe(FieldVisitor& v) {
  describe_warmup(v, warmup_steps);
  v.real({"final_fraction", "end of the schedule, as a fraction of lr; reached one step after the last"}, final_fraction,
         between(0.0, 1.0));
}

void WsdSchedule::describe(FieldVisitor& v) {
  describe_warmup(v, warmup_steps);
  v.real({"decay_fraction", "fraction of all steps over which the rate decays"}, decay_fraction, between(0.0, 1.0));
  v.real({"final_fraction", "end of the schedule, as a fraction of lr; reached one step after the last"}, final_fraction,
         between(0.0, 1.0));
}

void TargetConfig::describe(FieldVisitor& v) {
  std::vector<Choice> choices;
  for (const auto& row : metric_catalogue()) choices.push_back({row.name, row.doc});
  v.choice({"metric", "metric checked at every evaluation"}, metric, choices);
  v.optional_real({"at_least", "reached when the metric is at least this"}, at_least, {});
  v.optional_real({"at_most", "reached when the metric is at most this"}, at_most, {});
  v.flag({"stop", "end the run at its hit; a run that never hits trains to the end"}, stop);
  v.integer({"patience", "with stop: number of evaluations after the hit, in a row, that must meet the target, too"}, patience,
            ffn::at_least(std::int64_t{0}));
  v.require(stop || patience == 0, "patience", "patience is for runs that end at their hit; set stop to true as well", {"stop"});
  v.require(at_least.has_value() != at_most.has_value(), "at_least", "a target needs exactly one of at_least and at_most", {"at_most"});
  const MetricRow* row = find_metric_row(metric);
  if (!row) return;
  const auto never = [&](const char* where, double limit, const char* what, double goal) {
    return metric + " is never " + where + " " + number_text(limit) + ", so it cannot be " + what + " " + number_text(goal);
  };
  if (at_least) v.require(*at_least <= row->high, "at_least", never("above", row->high, "at least", *at_least), {"metric"});
  if (at_most) v.require(*at_most >= row->low, "at_most", never("below", row->low, "at most", *at_most), {"metric"});
}

void TrainConfig::describe(FieldVisitor& v) {
  v.integer({"steps", "optimizer steps"}, steps, at_least(std::int64_t{1}));
  v.integer({"batch_size", "examples B per step"}, batch_size, between(std::int64_t{1}, 1 << 20));
  v.integer({"accumulate",
             "parts of a batch that are computed one after the other: the same step, up to rounding, in less memory. "
             "Auxiliary losses of mixtures are those of a part"},
            accumulate, at_least(std::int64_t{1}));
  v.require(batch_size % accumulate == 0, "accumulate",
            std::to_string(batch_size) + " examples cannot be divided into " + std::to_string(accumulate) + " equal parts", {"batch_size"});
  v.integer({"eval_every", "steps between evaluations; the first is before training, the last after it"}, eval_every,
            at_least(std::int64_t{1}));
  v.optional_integer(
      {"eval_examples",
       "maximum number of validation examples (sequences, for sequence tasks); default: all that is held out of a text, a table or "
       "images, all facts, 512 for other tasks"},
      eval_examples, between(std::int64_t{1}, 1 << 24));
  v.integer({"checkpoint_every", "steps between checkpoints"}, checkpoint_every, at_least(std::int64_t{1}));
  v.real({"clip_norm", "clip the gradient to this global norm; 0 for no clipping"}, clip_norm, at_least(0.0));
  v.flag({"layer_metrics",
          "log metrics of hidden layers and routers (ffn/… and moe/…) at every evaluation, of layers that the cpu engine covers"},
         layer_metrics);
  v.choice({"loss", "training loss; val/loss is the same on the validation set"}, loss, loss_choices());
  v.real({"label_smoothing",
          "of cross-entropy: this share of the label's probability is spread evenly over all classes, as label_smoothing of "
          "torch.nn.CrossEntropyLoss; train/loss is with it, val/loss without"},
         label_smoothing, between(0.0, 1.0));
  v.one_of({"optimizer", "the update rule"}, optimizer);
  v.one_of({"schedule", "learning rate schedule"}, schedule);
  v.optional_group({"target", "target of the run; the first evaluation that reaches it is the hit"}, target);
}

}  // namespace ffn
