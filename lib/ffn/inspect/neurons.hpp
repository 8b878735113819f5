// Numbers about a hidden layer and each of its neurons. A neuron i of F reads by its key (column i of the map up, of the gate's where
// there is one) and writes its value (row i of the map down): Geva et al. 2021, "Transformer Feed-Forward Layers Are Key-Value
// Memories", arXiv:2012.14913.
#pragma once

#include <array>
#include <optional>

#include "ffn/base/parameters.hpp"
#include "ffn/inspect/capture.hpp"
#include "ffn/train/layer_meter.hpp"

namespace ffn::inspect {

/// Bins of the histogram of firing rates, equally wide from 0 to 1.
inline constexpr std::size_t kRateBins = 10;

/// A class and the logit that a value vector adds to it.
struct ClassLogit {
  std::int64_t index;
  double logit;
};

struct NeuronReport {
  std::int64_t index = 0;
  double fires = 0;                                 ///< share of tokens on which it fires: see HiddenRows::fires_by()
  double mean_size = 0;                             ///< mean |h|
  double peak = 0;                                  ///< max |h|
  bool dead = false;                                ///< near zero on every token
  bool always_on = false;                           ///< fires on every token
  double key_norm = 0, value_norm = 0, cosine = 0;  ///< ‖k‖, ‖v‖, cos(k, v); NaN without a key
  double up_norm = 0;                               ///< of the up map's column, gated layers alone
  std::array<double, 4> signs{};  ///< gated layers: shares of tokens with (gate, up) = (+, +), (+, −), (−, +), (−, −); + is above 0
  std::int64_t favourite = -1;    ///< the class of the largest logit; −1 where values are not read out
  bool reads_out() const { return favourite >= 0; }
  std::vector<ClassLogit> towards, against;  ///< the largest positive and the smallest negative logits of its value, from the extreme on
  double reach = 1;                          ///< share of all tokens that get to it: in a mixture those of its expert
  /// How much it writes on average over all tokens: mean |h| · ‖v‖, 0 where it is not asked.
  double writes() const { return mean_size * value_norm * reach; }
};

/// How often the class that a value favours is the token behind the one on which its key is strongest (Geva et al. 2021, §4.2), and how
/// often it would be behind any token.
struct Agreement {
  double share = 0, by_chance = 0;
};

struct HiddenReport {
  std::int64_t tokens = 0, width = 0;
  bool finite = true;     ///< all that was computed is; otherwise what rests on activations is NaN, and nothing is counted
  double rms = 0;         ///< of all activations
  double zeros = 0;       ///< share of activations that are exactly 0
  double near_zeros = 0;  ///< share with |h| < kNearZero · rms, zeros among them
  double fires = 0;       ///< mean of the neurons' rates
  std::int64_t dead = 0, always_on = 0;
  std::array<std::int64_t, kRateBins> rates{};  ///< neurons by firing rate
  double effective_rank = 0;
  std::int64_t rank_tokens = 0;  ///< that it was measured on, and which it cannot be above
  bool gated = false;
  double gate_near_zeros = 0, up_near_zeros = 0;  ///< of φ(gate) and of up by their own root mean squares
  std::array<double, 4> signs{};                  ///< mean of the neurons'
  std::optional<Agreement> agreement;
  std::vector<NeuronReport> neurons;
};

/// A run's parameters by name.
class Parameters {
 public:
  Parameters(const RowLayout& layout, const float* row) : layout_(layout), row_(row) {}
  /// nullptr where the network has none of that name.
  const float* find(const std::string& name) const;

 private:
  const RowLayout& layout_;
  const float* row_;
};

/// The weights around one hidden layer.
struct KeysAndValues {
  std::int64_t d_model = 0;
  std::vector<float> key, up, down;  ///< (D, F), (D, F), (F, D); no key where neurons read by several or not from x, no up without a gate
};
/// One hidden layer: of a block, or of one expert of a mixture.
KeysAndValues keys_and_values(const Parameters& parameters, const ModelConfig& model, std::int64_t block,
                              std::optional<std::int64_t> expert, std::int64_t width);

/// From a vector of the residual stream to logits: the last norm's scale, and the head without its bias.
class ReadOut {
 public:
  ReadOut(const Parameters& parameters, const ModelConfig& model, std::int64_t num_classes);
  std::vector<double> logits(const float* value) const;  ///< (D) → (classes)

 private:
  std::int64_t d_model_, num_classes_;
  bool centres_;
  const float *scale_, *head_;      ///< (D), nullptr without a last norm; (D, classes)
  std::int64_t of_row_, of_class_;  ///< head's element (d, c) stands at d·of_row + c·of_class: tied, it is (classes, D)
};

/// `read_out` where what the layer writes gets to the head as it is; `all_tokens` 0 for those that `hidden` has.
HiddenReport report_on(const HiddenRows& hidden, const KeysAndValues& weights, const ReadOut* read_out, std::int64_t all_tokens = 0);

/// Nothing unless the values of the layer were read out and the classes are the next tokens.
std::optional<Agreement> agreement_of(const HiddenRows& hidden, const HiddenReport& report, const Inputs& inputs);

}  // namespace ffn::inspect
