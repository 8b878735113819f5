// Parameters and FLOPs by closed formula, before anything is built. One multiply-add counts as 2 FLOPs.
// Element-wise operations (activations, norms, rotary positions) are not counted.
// Table: module, parameters, forward FLOPs per token, in the notation of lib/README.md.
//   plain FFN        2DF (+ F + D)                          4DF
//   gated FFN        3DF (+ 2F + D)                         6DF
//   formula          its vectors and matrices               2·D_in·D_out of each product
//   MoE              E·expert + router                      K·expert's + router
//   memory           DHd + Hnd (+ Hd, + 2d) + n²D           2DHd + 2Hnd + 2HKD  (d key_width, n keys; PEER has D twice for each slot)
//   its router       DE                                     2DE
//   attention        4D² (+ 4D, + 2D/H with qk_norm); by position 2D² + H·T²     8D² + 4TD; by position 4D² + 2TD  (full T, also when
//   causal)
#pragma once

#include "ffn/config/model_config.hpp"
#include "ffn/config/task_config.hpp"

namespace ffn {

struct Cost {
  std::int64_t parameters = 0;
  std::int64_t active_parameters = 0;  ///< those that one token touches; differs for mixtures
  std::int64_t flops = 0;              ///< forward, per token

  Cost& operator+=(const Cost& other);
  Cost operator*(std::int64_t times) const;
};

Cost ffn_cost(const FfnConfig& ffn, std::int64_t d_model);
Cost attention_cost(const AttentionConfig& attention, std::int64_t d_model, std::int64_t sequence_length);

struct ModelCost {
  Cost attention;  ///< one block's
  Cost ffns;       ///< of all blocks: with share_ffn its parameters count once
  Cost norms;      ///< all of them
  Cost ends;       ///< input embedding or projection, positions, head
  Cost total;
};
ModelCost model_cost(const ModelConfig& model, const TaskShape& task);

}  // namespace ffn
