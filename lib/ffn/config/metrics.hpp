// The metrics that runs log: one row each. The engine computes them by name; targets and comparisons need the direction.
#pragma once

#include <string>
#include <vector>

namespace ffn {

struct MetricRow {
  const char* name;
  bool higher_is_better;
  const char* doc;
};

const std::vector<MetricRow>& metric_catalogue();

}  // namespace ffn
