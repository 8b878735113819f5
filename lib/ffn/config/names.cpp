#include "ffn/config/names.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include "ffn/base/text.hpp"
#include "ffn/config/schema.hpp"
#include "ffn/config/study_config.hpp"

namespace ffn {

std::string override_path(const std::string& documented) {
  std::string path;
  bool inside = false;
  for (const char c : documented) {
    if (c == '[' || c == ']') inside = c == '[';
    else if (!inside) path += c;
  }
  return path;
}

const std::vector<std::string>& override_paths() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> paths;
    std::set<std::string> seen;
    const auto add = [&](const std::string& path) {
      if (seen.insert(path).second) paths.push_back(path);
    };
    for (const auto& key : key_docs(describe_document)) {
      const std::string path = override_path(key.path);
      add(path);
      if (path != key.path && key.path.back() == ']') add(path + ".kind");
    }
    return paths;
  }();
  return all;
}

std::vector<std::string> paths_ending_in(const std::string& typed) {
  std::string wanted = typed;
  std::replace(wanted.begin(), wanted.end(), '-', '_');
  std::vector<std::string> found;
  for (const auto& path : override_paths()) {
    const bool ends = path.size() > wanted.size() && path.compare(path.size() - wanted.size() - 1, std::string::npos, "." + wanted) == 0;
    if (path == wanted || ends) found.push_back(path);
  }
  return found;
}

namespace {

// Keys by their usual names elsewhere (Keras, Hugging Face's configs, nanoGPT).
std::string usual_path(const std::string& typed) {
  struct Alias {
    const char* here;
    std::vector<std::string> elsewhere;
  };
  static const Alias aliases[] = {
      {"train.optimizer.lr", {"learning_rate", "rate", "max_lr", "base_lr"}},
      {"train.optimizer.weight_decay", {"wd", "l2"}},
      {"train.steps",
       {"epochs", "num_epochs", "iterations", "iters", "max_iters", "max_steps", "num_steps", "n_steps", "num_train_epochs"}},
      {"train.batch_size", {"batch", "bs", "batchsize"}},
      {"train.clip_norm", {"grad_clip", "max_grad_norm", "clip", "gradient_clip"}},
      {"model.d_model", {"n_embd", "hidden_size", "embed_dim", "embedding_dim", "dim", "width"}},
      {"model.ffn.d_ff", {"hidden", "hidden_dim", "intermediate_size", "dim_feedforward", "ffn_dim", "d_hidden", "n_inner"}},
      {"model.ffn.activation", {"act", "hidden_act", "act_fn", "nonlinearity", "activation_function"}},
      {"model.ffn.expansion", {"mlp_ratio", "ratio", "expansion_factor", "expansion_ratio"}},
      {"model.ffn.num_experts", {"experts", "n_experts", "num_local_experts"}},
      {"model.residual_dropout", {"resid_pdrop", "hidden_dropout", "hidden_dropout_prob"}},
      {"model.tie", {"tie_weights", "tie_word_embeddings", "tie_embeddings", "weight_tying"}},
      {"model.blocks", {"n_layer", "n_layers", "num_layers", "num_hidden_layers", "depth"}},
      {"model.attention.heads", {"n_head", "n_heads", "num_heads", "num_attention_heads"}},
      {"seed", {"random_seed", "random_state"}},
  };
  std::string last = typed.substr(typed.rfind('.') + 1);
  for (char& c : last) c = c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const auto& alias : aliases) {
    if (std::find(alias.elsewhere.begin(), alias.elsewhere.end(), last) != alias.elsewhere.end()) return alias.here;
  }
  return "";
}

}  // namespace

std::string did_you_mean_path(const std::string& typed) {
  auto paths = paths_ending_in(typed);
  if (paths.empty()) {
    const auto usual = usual_path(typed);
    return usual.empty() ? "" : "; here that is " + usual;
  }
  constexpr std::size_t kMost = 4;
  if (typed.empty() || paths.empty() || paths.size() > kMost) return "";
  const std::string last = paths.back();
  paths.pop_back();
  return "; did you mean " + (paths.empty() ? "" : join(paths) + " or ") + last + "?";
}

std::string usual_name(const std::string& typed, const std::vector<std::string>& names) {
  struct Alias {
    const char *elsewhere, *here;
  };
  // clang-format off
  static const Alias aliases[] = {
      // activations
      {"swish", "silu"}, {"linear", "identity"}, {"linear", "none"}, {"gelu_new", "gelu_tanh"},
      {"gelu_pytorch_tanh", "gelu_tanh"}, {"leakyrelu", "leaky_relu"}, {"squared_relu", "relu2"},
      {"relu_squared", "relu2"}, {"logistic", "sigmoid"},
      // feed-forward layers: Shazeer 2020, arXiv:2002.05202; Fedus et al. 2021, arXiv:2101.03961
      {"swiglu", "kind=gated activation=silu"}, {"geglu", "kind=gated activation=gelu"}, {"reglu", "kind=gated activation=relu"},
      {"glu", "kind=gated activation=sigmoid"}, {"bilinear", "kind=gated activation=identity"}, {"switch", "kind=moe top_k=1"},
      {"mlp", "positionwise"}, {"dense", "positionwise"}, {"plain", "positionwise"}, {"ffn", "positionwise"}, {"mixture", "moe"},
      {"memory", "pkm"}, {"product_key_memory", "pkm"},
      // positions
      {"rope", "rotary"}, {"sincos", "sinusoidal"}, {"absolute", "learned"},
      // norms
      {"layernorm", "layer"}, {"layer_norm", "layer"}, {"rmsnorm", "rms"}, {"rms_norm", "rms"},
  };
  // clang-format on
  std::string wanted = typed;
  for (char& c : wanted) c = c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const auto& alias : aliases) {
    const std::string here = alias.here;
    const bool is_known = here.rfind("kind=", 0) == 0 || std::find(names.begin(), names.end(), here) != names.end();
    if (wanted == alias.elsewhere && is_known) return here;
  }
  return "";
}

}  // namespace ffn
