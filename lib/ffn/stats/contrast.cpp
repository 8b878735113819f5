#include "ffn/stats/contrast.hpp"

namespace ffn::stats {

PairedResult compare_contrast(const std::vector<double>& contrast, Direction direction, PairedValues values,
                              const CompareOptions& options) {
  const std::vector<Outcome> variant(contrast.begin(), contrast.end()), zero(contrast.size(), Outcome(0.0));
  const Scale scale{PairedValues::difference, PairedTest::sign_flip_of_mean, "sign flips of the mean contrast"};
  PairedResult result = compare_paired(variant, zero, direction, scale, options);
  result.values = values;
  if (values == PairedValues::log_ratio) result.difference.reset();  // the metric's own units have no part in it
  return result;
}

}  // namespace ffn::stats
