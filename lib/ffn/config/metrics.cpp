#include "ffn/config/metrics.hpp"

namespace ffn {

const std::vector<MetricRow>& metric_catalogue() {
  static const std::vector<MetricRow> rows = {
      {"train/loss", false, "mean training loss since the last evaluation, in nats, dropout on, balance loss left out"},
      {"train/balance_loss", false, "mean balance loss of the mixtures since the last evaluation; 1 is perfect balance"},
      {"train/grad_norm", false, "gradient norm before clipping at the last step"},
      {"val/loss", false, "cross-entropy on the validation set, in nats per scored position"},
      {"val/accuracy", true, "share of scored validation positions whose most probable class is right"},
      {"val/bits_per_char", false, "val/loss in bits, text only"},
      {"val/perplexity", false, "exp(val/loss), text only"},
  };
  return rows;
}

}  // namespace ffn
