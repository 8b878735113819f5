#include "ffn/config/metrics.hpp"

#include <stdexcept>

#include "ffn/config/run_config.hpp"

namespace ffn {

const std::vector<MetricRow>& metric_catalogue() {
  static const std::vector<MetricRow> rows = {metric::kTrainLoss,   metric::kTrainBalanceLoss, metric::kTrainGradNorm, metric::kValLoss,
                                              metric::kValAccuracy, metric::kValBitsPerChar,   metric::kValPerplexity};
  return rows;
}

const MetricRow* find_metric_row(const std::string& name) {
  for (const auto& row : metric_catalogue()) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

bool is_logged(const MetricRow& row, const RunConfig& config) {
  switch (row.logged_by) {
    case LoggedBy::every_run:
      return true;
    case LoggedBy::text_tasks:
      return std::holds_alternative<TextConfig>(config.task);
    case LoggedBy::mixtures:
      return std::holds_alternative<MoeConfig>(config.model.ffn);
  }
  throw std::logic_error("a metric that nobody logs");
}

LoggedByText text_of(LoggedBy logged_by) {
  switch (logged_by) {
    case LoggedBy::every_run:
      return {"every run", "task.kind"};
    case LoggedBy::text_tasks:
      return {"text tasks", "task.kind"};
    case LoggedBy::mixtures:
      return {"models with a mixture of experts", "model.ffn.kind"};
  }
  throw std::logic_error("a metric that nobody logs");
}

}  // namespace ffn
