// Metadata of a trained run's weights, for sampling and inspecting.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ffn/base/tensor_data.hpp"
#include "ffn/config/run_config.hpp"
#include "ffn/train/learner.hpp"

namespace ffn {

/// Token ids, by the metadata of a text's weights. Throws UsageError, naming `what`, for text that is not UTF-8 or has a character that was
/// not trained.
std::vector<std::int64_t> encode(const std::string& text, const std::map<std::string, std::string>& metadata, const std::string& what);

/// Throws CheckpointError for weights that are much smaller than the config asks for or not finite.
/// RowLayout::import_row() finds all other differences.
void require_usable(const RunConfig& config, const TaskShape& shape, const TensorFile& weights);

/// A run's weights in whichever engine covers it, for its outputs alone: no data is read.
class TrainedNetwork {
 public:
  /// Throws CheckpointError with the list of differences if the weights do not fit.
  TrainedNetwork(const RunConfig& config, const TaskShape& shape, const TensorFile& weights);
  /// (count·T, classes). Throws CheckpointError where they are not finite.
  std::vector<float> outputs(const ExampleSet& examples) const;

 private:
  std::unique_ptr<Task> task_;
  std::unique_ptr<Learner> learner_;
};

}  // namespace ffn
