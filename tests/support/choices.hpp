// All choices of a run config, from the lists that describe it.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <variant>

#include "ffn/config/run_config.hpp"
#include "ffn/config/schema.hpp"
#include "ffn/formula/named_formulas.hpp"

namespace ffn::test {

/// Every choice, kind and flag of a run config with its values, by path: "model.ffn" or "model.ffn[moe].gated".
inline const std::map<std::string, std::vector<std::string>>& all_choices() {
  static const auto all = [] {
    std::map<std::string, std::vector<std::string>> out;
    RunConfig config;
    for (const auto& key : key_docs([&](FieldVisitor& v) { config.describe(v); })) {
      const std::string kinds = key.allowed.rfind("kind: ", 0) == 0 ? key.allowed.substr(6) : "";
      std::istringstream words(key.type == "true/false" ? "true, false" : key.type == "choice" ? key.allowed : kinds);
      for (std::string word; words >> word;) {
        word.erase(std::remove(word.begin(), word.end(), ','), word.end());
        out[key.path].push_back(word);
      }
    }
    return out;
  }();
  return all;
}

inline std::vector<std::string> choices(const std::string& path) {
  const auto found = all_choices().find(path);
  if (found == all_choices().end()) throw std::out_of_range("no choice at " + path);
  return found->second;
}

/// They all, as a message lists them.
inline std::string list_of(const std::string& path) {
  std::string list;
  for (const auto& value : choices(path)) list += (list.empty() ? "" : ", ") + value;
  return list;
}

/// One of `ffn-train list ffns`.
inline FormulaText formula_called(const std::string& name) {
  for (const auto& row : named_formulas()) {
    if (row.name == name) return formula_text(row);
  }
  throw std::out_of_range("no formula is called " + name);
}

/// A config of which a network can be made: its defaults, and a formula where one is needed.
template <class Config>
Config usable(Config config) {
  return config;
}
inline FunctionConfig usable(FunctionConfig config) {
  *config.inputs = {{"x", {{"uniform", {-1, 1}}}}, {"b", "bit"}};
  config.target = "b * sin(2 * pi * x)";
  return config;
}
inline SequenceConfig usable(SequenceConfig config) {
  config.label = "s[t-1] ^ s[t-2]";
  return config;
}
inline TableConfig usable(TableConfig config) {
  config.file = FFN_SOURCE_DIR "/configs/data/iris.csv";
  config.label = "species";
  return config;
}
/// 20 images of 2 × 3 pixels in 3 classes to train on, 8 to validate on.
inline ImagesConfig usable(ImagesConfig config) {
  static const std::string directory = [] {
    const auto made = std::filesystem::temp_directory_path() / ("ffn-images-" + std::to_string(::getpid()));
    std::filesystem::create_directories(made);
    for (const auto& [name, count] : std::map<std::string, char>{{"train", 20}, {"t10k", 8}}) {
      std::ofstream images(made / (name + "-images-idx3-ubyte"), std::ios::binary),
          labels(made / (name + "-labels-idx1-ubyte"), std::ios::binary);
      images << std::string{0, 0, 8, 3, 0, 0, 0, count, 0, 0, 0, 2, 0, 0, 0, 3};
      labels << std::string{0, 0, 8, 1, 0, 0, 0, count};
      for (int i = 0; i < count; ++i) {
        labels << static_cast<char>(i % 3);
        for (int j = 0; j < 6; ++j) images << static_cast<char>((i % 3 == j / 2 ? 90 : 10) + 7 * i + j);
      }
    }
    return made.string();
  }();
  config.directory = directory;
  return config;
}
/// One with everything that a config can change: the activation, ε and dropout. scripts/generate/golden has it, too.
inline FormulaConfig usable(FormulaConfig config) {
  config.text = formula_called("sub_layer_norm");
  config.text.formula = "dropout(layer_norm(phi(x @ up + b)) * s + t) @ down + e";
  return config;
}

template <class... Ts, class F>
void each_alternative(const std::variant<Ts...>&, const F& f) {
  (f(usable(Ts{})), ...);
}

/// Calls f with every kind of FFN, mixtures once for each router.
template <class F>
void each_ffn(const F& f) {
  each_alternative(FfnConfig{}, [&](auto ffn) {
    if constexpr (std::is_same_v<decltype(ffn), MoeConfig>) {
      each_alternative(RouterConfig{}, [&](auto router) {
        ffn.router = router;
        f(ffn);
      });
    } else {
      f(ffn);
    }
  });
}
constexpr std::size_t kNumFfns = std::variant_size_v<FfnConfig> - 1 + std::variant_size_v<RouterConfig>;

}  // namespace ffn::test
