#include "ffn/config/younger_keys.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace ffn {

const std::vector<YoungerKey>& younger_keys() {
  static const std::vector<YoungerKey> keys{
      {"model", "init", Json("torch")},
      {"model", "residual_dropout", Json(0.0)},
      {"model", "tie", Json(false)},
      {"model", "parallel", Json(false)},
      {"model", "share_ffn", Json(false)},
      {"model.attention", "qk_norm", Json(false)},
      {"model.ffn", "match_multiple_of", Json(1), "match_tolerance"},
      {"model.ffn", "z_loss_weight", Json(0.0), "kind", "moe"},
      {"model.ffn", "importance_weight", Json(0.0), "kind", "moe"},
      {"model.ffn", "sequence_balance_weight", Json(0.0), "kind", "moe"},
      {"model.ffn", "shared_experts", Json(0), "kind", "moe"},
      {"model.ffn.router", "weights", Json("normalized"), "kind", "softmax_top_k"},
      {"model.ffn.router", "scale", Json(1.0), "kind", "softmax_top_k"},
      {"model.ffn.router", "bias_step", Json(0.0), "kind", "softmax_top_k"},
      {"model.ffn.router", "center_bias", Json(false), "kind", "softmax_top_k"},
      {"model.ffn.router", "jitter", Json(0.0), "kind", "softmax_top_k"},
      {"model.ffn", "expert", Json(nullptr), "kind", "moe"},
      {"task", "missing", Json("refuse"), "kind", "table"},
      {"train", "layer_metrics", Json(false)},
      {"train", "loss", Json("auto")},
      {"train", "label_smoothing", Json(0.0)},
  };
  return keys;
}

void erase_younger_keys(Json& config) {
  for (const auto& younger : younger_keys()) {
    std::string at = "/" + younger.section;
    std::replace(at.begin(), at.end(), '.', '/');
    const Json::json_pointer section(at);
    if (!config.contains(section) || !config[section].is_object()) continue;
    const auto found = config[section].find(younger.key);
    if (found != config[section].end() && *found == *younger.value) config[section].erase(younger.key);
  }
}

}  // namespace ffn
