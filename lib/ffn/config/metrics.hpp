// The metrics that runs log: one row each, with what decides whether a run logs it. Code that computes a metric names its
// row (metric::kTrainLoss); targets and comparisons find rows by name and need the direction.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace ffn {

struct LossSums;
struct ModelConfig;
struct MoeConfig;
struct RunConfig;

/// Which runs log a metric.
enum class LoggedBy {
  every_run,
  class_tasks,
  vector_tasks,
  text_tasks,
  class_tables,
  number_tables,
  facts,
  mixtures,
  mixtures_so_set,
  memories,
  measured_layers,
  measured_mixtures,
  measured_groups
};

struct MetricRow {
  const char* name;
  bool higher_is_better;
  LoggedBy logged_by;
  const char* doc;
  double low = 0, high = std::numeric_limits<double>::infinity();  ///< no value lies beyond
};

namespace metric {

// clang-format off
inline constexpr MetricRow kTrainLoss{"train/loss", false, LoggedBy::every_run,
    "mean training loss since the last evaluation, dropout on, the mixtures' own losses left out"};
inline constexpr MetricRow kTrainBalanceLoss{"train/balance_loss", false, LoggedBy::mixtures,
    "mean balance loss of the mixtures since the last evaluation; 1 where loads are even"};
inline constexpr MetricRow kTrainZLoss{"train/z_loss", false, LoggedBy::mixtures_so_set,
    "mean z-loss, with z_loss_weight"};
inline constexpr MetricRow kTrainImportanceLoss{"train/importance_loss", false, LoggedBy::mixtures_so_set,
    "mean CV² of the experts' sums of weights, with importance_weight"};
inline constexpr MetricRow kTrainLoadLoss{"train/load_loss", false, LoggedBy::mixtures_so_set,
    "mean CV² of the experts' likely loads, of noisy_top_k with load_weight"};
inline constexpr MetricRow kTrainSequenceBalanceLoss{"train/sequence_balance_loss", false, LoggedBy::mixtures_so_set,
    "mean balance loss of single sequences, with sequence_balance_weight"};
inline constexpr MetricRow kTrainDropped{"train/dropped", false, LoggedBy::mixtures_so_set,
    "share of the assignments that found their expert full, with capacity_factor", 0, 1};
inline constexpr MetricRow kTrainSlotsUsed{"train/slots_used", true, LoggedBy::memories,
    "share of the memory's slots that a batch reads", 0, 1};
inline constexpr MetricRow kTrainUsageEntropy{"train/usage_entropy", true, LoggedBy::memories,
    "entropy of the weights with which a batch reads the slots, in nats; ln(keys²) is even"};
inline constexpr MetricRow kTrainGradNorm{"train/grad_norm", false, LoggedBy::every_run,
    "gradient norm before clipping at the last step"};
inline constexpr MetricRow kValLoss{"val/loss", false, LoggedBy::every_run,
    "mean loss (train.loss) on the validation set, by default cross-entropy in nats per scored position, of vectors mean squared error"};
inline constexpr MetricRow kValAccuracy{"val/accuracy", true, LoggedBy::class_tasks,
    "share of scored validation positions whose most probable class is right", 0, 1};
inline constexpr MetricRow kValRmse{"val/rmse", false, LoggedBy::vector_tasks,
    "root of the mean squared error on the validation set"};
inline constexpr MetricRow kValR2{"val/r2", true, LoggedBy::vector_tasks,
    "1 - mean squared error / variance of the validation targets: 0 for their mean, 1 for what is exact",
    -std::numeric_limits<double>::infinity(), 1};
// A table's baseline without a model: the same at every evaluation.
inline constexpr MetricRow kValMajorityAccuracy{"val/majority_accuracy", true, LoggedBy::class_tables,
    "val/accuracy of one answer to everything, the most frequent class of the training rows; a model has to beat it", 0, 1};
inline constexpr MetricRow kValFrequencyLoss{"val/frequency_loss", false, LoggedBy::class_tables,
    "cross-entropy of one answer to everything, the class frequencies of the training rows; a model has to beat it"};
inline constexpr MetricRow kValMeanRmse{"val/mean_rmse", false, LoggedBy::number_tables,
    "val/rmse of one answer to everything, the mean of the training targets; a model has to beat it"};
inline constexpr MetricRow kValBitsPerChar{"val/bits_per_char", false, LoggedBy::text_tasks,
    "val/loss in bits, text only"};
inline constexpr MetricRow kValBitsPerByte{"val/bits_per_byte", false, LoggedBy::text_tasks,
    "val/bits_per_char over the mean UTF-8 bytes of a validated character: comparable with models of bytes or words, text only"};
inline constexpr MetricRow kValGzipBitsPerByte{"val/gzip_bits_per_byte", false, LoggedBy::text_tasks,
    "val/bits_per_byte of gzip's algorithm (zlib at level 9), which knows the 32 kB before the held-out part; a model has to beat it"};
inline constexpr MetricRow kValPerplexity{"val/perplexity", false, LoggedBy::text_tasks,
    "exp(val/loss), text only", 1};

// Allen-Zhu and Li 2024, "Physics of Language Models: Part 3.3", arXiv:2404.05405, count bits for each parameter. Right answers alone would
// count chance, too.
inline constexpr MetricRow kValBitsPerParam{"val/bits_per_param", true, LoggedBy::facts,
    "N · (log2(V) - val/loss in bits) / parameters of the feed-forward layers: what these know of N facts with V values; below 0 where "
    "the model is surer of wrong values than chance", -std::numeric_limits<double>::infinity()};
inline constexpr MetricRow kValMostBitsPerParam{"val/most_bits_per_param", true, LoggedBy::facts,
    "N · log2(V) / parameters of the feed-forward layers: val/bits_per_param of all facts known"};

// With train.layer_metrics, on up to 4,096 validation tokens; means over the blocks. h: what the map back reads, (tokens, F).
inline constexpr MetricRow kFfnZeroFraction{"ffn/zero_fraction", true, LoggedBy::measured_layers,
    "share of the hidden activations that are exactly 0; more counts as better: sparser", 0, 1};
inline constexpr MetricRow kFfnNearZeroFraction{"ffn/near_zero_fraction", true, LoggedBy::measured_layers,
    "share with |h| below 0.01 of the layer's root mean square, zeros among them; more counts as better", 0, 1};
inline constexpr MetricRow kFfnDeadUnits{"ffn/dead_units", false, LoggedBy::measured_layers,
    "share of the hidden units that are near zero on every token", 0, 1};
inline constexpr MetricRow kFfnEffectiveRank{"ffn/effective_rank", true, LoggedBy::measured_layers,
    "exp of the entropy of the singular values of h over up to 256 tokens (Roy and Vetterli 2007), of a mixture the mean over its experts"};
inline constexpr MetricRow kMoeMaxViolation{"moe/max_violation", false, LoggedBy::measured_mixtures,
    "the busiest expert's tokens over an even share, less 1"};
inline constexpr MetricRow kMoeLoadEntropy{"moe/load_entropy", true, LoggedBy::measured_mixtures,
    "entropy of the experts' shares of the tokens, in nats; ln(num_experts) is even"};
inline constexpr MetricRow kMoeTokenEntropy{"moe/token_entropy", false, LoggedBy::measured_mixtures,
    "mean entropy of a token's probabilities over the experts, in nats; 0 where the router is sure"};
inline constexpr MetricRow kMoeDeadExperts{"moe/dead_experts", false, LoggedBy::measured_mixtures,
    "share of the experts that no token goes to", 0, 1};
inline constexpr MetricRow kMoePurity{"moe/purity", true, LoggedBy::measured_groups,
    "share of tokens of which the group (task.group) is the most frequent one of their expert; 1 where each expert has one group", 0, 1};
// clang-format on

}  // namespace metric

enum class Auxiliary { balance, z, importance, load, sequence_balance, dropped, slots_used, usage_entropy };

/// A term of the training loss from routers or memories: weight · value, the value a mean over the blocks. At weight 0 it is only logged.
struct AuxiliaryLoss {
  Auxiliary kind;
  const MetricRow* logged_as;
  double weight;
};
constexpr std::size_t kMostAuxiliaryLosses = 6;
/// One number for each auxiliary loss of a model; the others stay 0.
using AuxiliaryValues = std::array<double, kMostAuxiliaryLosses>;
std::vector<AuxiliaryLoss> auxiliary_losses(const MoeConfig& mixture);
std::vector<AuxiliaryLoss> auxiliary_losses(const ModelConfig& model);

/// A metric of what a classifier puts out: the mean of `of_position` over the scored positions. Both engines compute it, on the host.
struct OutputMetric {
  MetricRow row;
  double (*of_position)(const float* outputs, std::int64_t classes, std::int64_t label);
};
/// At most LossSums::kMostOutputMetrics. To add one, add a row in metrics.cpp.
const std::vector<OutputMetric>& output_metrics();
/// outputs: (rows, classes); labels: (rows), negative where a position is not scored.
void add_output_metrics(std::int64_t rows, std::int64_t classes, const float* outputs, const std::int64_t* labels, LossSums& sums);

/// In the order in which a run logs them.
const std::vector<MetricRow>& metric_catalogue();

/// Times to the target, which can be compared beside metrics.
inline constexpr const char* kTimesToTarget[] = {"steps_to_target", "flops_to_target", "seconds_to_target"};

/// Why a logged metric of runs with train.target.stop is neither compared nor tuned, behind its name; and what to do.
inline constexpr const char* kKnownAtHit =
    ": these runs end at their hit (train.target.stop), so their last value is as of then, and says how soon the run stopped";
inline constexpr const char* kAtHitRemedy = "compare steps_to_target, or train with train.target.stop=false";

/// "val/loss" of "best val/loss", the best over a run; other names as they are.
std::string without_best(const std::string& metric);

/// nullptr if there is none of that name. A block's own value ("ffn/dead_units.0", with log.layers) has the row of the mean.
const MetricRow* find_metric_row(const std::string& name);

/// Whether higher values are better, by words in the name ("loss", "score"); nothing where it has none.
std::optional<bool> usual_direction(std::string name);
/// The same by the catalogue, and by the name of a metric that another trainer logs.
std::optional<bool> metric_direction(const std::string& name);

/// Whether this run logs the metric. Those of training ("train/…") begin with the first step.
bool is_logged(const MetricRow& row, const RunConfig& config);

/// Which runs log a metric, for a message ("text tasks"), and the key that decides it ("task.kind").
struct LoggedByText {
  const char *who, *key;
};
LoggedByText text_of(LoggedBy logged_by);

}  // namespace ffn
