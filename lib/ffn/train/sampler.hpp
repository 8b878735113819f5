// Text from a trained character model, by whichever engine covers it.
#pragma once

namespace ffn {

struct SampleRequest {
  std::string prompt;
  double temperature = 1.0;   ///< 0 takes the most probable character
  std::int64_t top_k = 0;     ///< 0 keeps all
  std::int64_t length = 200;  ///< tokens to write
  std::int64_t seed = 0;
};

/// Continues a prompt; `emit` gets the text piece by piece, prompt excluded. Throws UsageError for a run that is no text or a
/// prompt with unknown characters, CheckpointError with the list of differences if the weights do not fit the config, or if the logits are
/// not finite.
void sample_text(const RunConfig& config, const TensorFile& weights, const SampleRequest& request,
                 const std::function<void(const std::string&)>& emit);

}  // namespace ffn
