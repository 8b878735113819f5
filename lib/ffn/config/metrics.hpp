// The metrics that runs log: one row each, with what decides whether a run logs it. Whoever computes a metric names its
// row (metric::kTrainLoss); targets and comparisons find rows by name and need the direction.
#pragma once

#include <limits>
#include <string>
#include <vector>

namespace ffn {

struct RunConfig;

/// Which runs log a metric.
enum class LoggedBy { every_run, text_tasks, mixtures };

struct MetricRow {
  const char* name;
  bool higher_is_better;
  LoggedBy logged_by;
  const char* doc;
  double low = 0, high = std::numeric_limits<double>::infinity();  ///< no value lies beyond
};

namespace metric {

inline constexpr MetricRow kTrainLoss{"train/loss", false, LoggedBy::every_run,
                                      "mean training loss since the last evaluation, in nats, dropout on, balance loss left out"};
inline constexpr MetricRow kTrainBalanceLoss{"train/balance_loss", false, LoggedBy::mixtures,
                                             "mean balance loss of the mixtures since the last evaluation; 1 is perfect balance"};
inline constexpr MetricRow kTrainGradNorm{"train/grad_norm", false, LoggedBy::every_run, "gradient norm before clipping at the last step"};
inline constexpr MetricRow kValLoss{"val/loss", false, LoggedBy::every_run,
                                    "cross-entropy on the validation set, in nats per scored position"};
inline constexpr MetricRow kValAccuracy{"val/accuracy", true, LoggedBy::every_run,
                                        "share of scored validation positions whose most probable class is right", 0, 1};
inline constexpr MetricRow kValBitsPerChar{"val/bits_per_char", false, LoggedBy::text_tasks, "val/loss in bits, text only"};
inline constexpr MetricRow kValPerplexity{"val/perplexity", false, LoggedBy::text_tasks, "exp(val/loss), text only", 1};

}  // namespace metric

/// In the order in which a run logs them.
const std::vector<MetricRow>& metric_catalogue();

/// What is compared beside metrics: when the target was hit.
inline constexpr const char* kTimesToTarget[] = {"steps_to_target", "flops_to_target", "seconds_to_target"};

/// nullptr when there is none of that name.
const MetricRow* find_metric_row(const std::string& name);

/// Whether this run logs the metric. Those of training ("train/…") begin with the first step.
bool is_logged(const MetricRow& row, const RunConfig& config);

/// Who logs a metric, for a message ("text tasks"), and the key that decides it ("task.kind").
struct LoggedByText {
  const char *who, *key;
};
LoggedByText text_of(LoggedBy logged_by);

}  // namespace ffn
