// Inputs for an inspection: examples of the run's task, a text, or typed words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ffn/base/tensor_data.hpp"
#include "ffn/config/run_config.hpp"
#include "ffn/layers/network_cpu.hpp"

namespace ffn::inspect {

/// B examples of T tokens each; an example that is a vector is one token. Token n is position n % T of example n / T.
struct Inputs {
  TaskShape shape;
  std::int64_t count = 0, length = 1;   ///< B, T
  std::vector<std::int64_t> tokens;     ///< (B, T)
  std::vector<float> vectors;           ///< (B, width), in their place
  std::vector<std::string> characters;  ///< of a text's tokens; empty for other tasks
  std::vector<std::string> classes;     ///< of a table's label; empty for other tasks
  std::string source;                   ///< in words, for people: "31,616 characters of the text that it was trained on"

  std::int64_t num_tokens() const { return count * length; }
  /// Inputs first, first + 1, … in number `of`.
  cpu::Examples examples(std::int64_t first, std::int64_t of) const;
  /// Token n as a person reads it: "e", "␣", "(1, −1)".
  std::string token_name(std::int64_t n) const;
  std::string class_name(std::int64_t index) const;
  /// "logits" for classes, otherwise "outputs".
  const char* output_word() const { return shape.target == Target::classes ? "logits" : "outputs"; }
};

/// "␣" for a blank and "⏎" for the end of a line; other characters are themselves, controls "?".
std::string visible(const std::string& character);

/// About `most_tokens` tokens of the training examples, spread evenly; each once if they repeat.
/// Throws DataError for a text that is not there or has other characters than the weights know.
Inputs training_inputs(const RunConfig& config, const TensorFile& weights, std::int64_t most_tokens);

/// A text of one's own. Throws UsageError for a run of another task, and for characters that the run does not know.
Inputs text_inputs(const RunConfig& config, const TensorFile& weights, const std::string& file, std::int64_t most_tokens);

/// One text or sequence of tokens, or vectors: "1,-1 -1,-1", and "10 00" for those of -1 and 1. Throws UsageError that says what was
/// expected.
Inputs typed_inputs(const RunConfig& config, const TensorFile& weights, const std::string& typed);

}  // namespace ffn::inspect
