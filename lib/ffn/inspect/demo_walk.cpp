// Four tokens through one layer, with every number in between.
#include <nlohmann/json.hpp>

#include "ffn/inspect/demo.hpp"
#include "ffn/inspect/demo_matrix.hpp"
#include "ffn/report/format.hpp"

namespace ffn::demo {

namespace {

constexpr std::size_t kTokens = 4;

std::size_t zeros(const Matrix& m, std::size_t row) {
  std::size_t count = 0;
  for (std::size_t j = 0; j < m.cols; ++j) count += m.at(row, j) == 0;
  return count;
}

}  // namespace

Demo walk_demo() {
  const Layer layer(kModel, kHidden);
  const Matrix x = some_matrix("x", kTokens, kModel);
  const Matrix z = plus_row(product(x, layer.w1), layer.b1), a = apply(z, relu), y = plus_row(product(a, layer.w2), layer.b2);

  Demo out;
  out.claim = "A feed-forward layer expands each token, activates it, and compresses it again.";
  Table steps({{"step", Align::left},
               {"formula", Align::left},
               {"a token", Align::left},
               {"all four", Align::left},
               {"parameters", Align::right},
               {"FLOPs/token", Align::right}});
  steps.add_row({"input", "x", "(8)", "(4, 8)", "", ""});
  steps.add_row({"expand", "z = x W1 + b1", "(8) → (32)", "(4, 32)", format_count(layer.w1.values.size() + layer.b1.values.size()),
                 format_count(2 * layer.w1.values.size())});
  steps.add_row({"activate", "a = max(0, z)", "(32)", "(4, 32)", "0", ""});
  steps.add_row({"compress", "y = a W2 + b2", "(32) → (8)", "(4, 8)", format_count(layer.w2.values.size() + layer.b2.values.size()),
                 format_count(2 * layer.w2.values.size())});
  out.parts.push_back({"d_model 8, d_ff 32 (four times as wide), ReLU:", {}, std::move(steps)});

  Part walk{"Each token by itself; of 32 numbers the first eight:"};
  Json tokens = Json::array();
  double largest = 0;
  for (std::size_t t = 0; t < kTokens; ++t) {
    const Matrix alone = layer(x.row(t), relu);
    largest = std::max(largest, largest_difference(alone, y.row(t)));
    walk.blocks.push_back({"token " + std::to_string(t + 1) + ": a is 0 for " + std::to_string(zeros(a, t)) + " of 32",
                           "  x  " + row_text(x, t, 2), "  z  " + row_text(z, t, 2), "  a  " + row_text(a, t, 2),
                           "  y  " + row_text(y, t, 2)});
    tokens.push_back({{"x", to_json(x)[t]}, {"z", to_json(z)[t]}, {"a", to_json(a)[t]}, {"y", to_json(y)[t]}, {"zeros", zeros(a, t)}});
  }
  out.parts.push_back(std::move(walk));
  out.parts.push_back(
      {"z is what goes into the activation: where it is negative, a is 0, and that hidden unit says nothing about this token. Which units are silent differs from token to token: that is what the layer can tell them apart "
       "by. Each token walked alone, and all four at once: " +
       apart_text(largest) + "."});
  out.next = "ffn-train demo linear";
  out.numbers = Json{{"W1", to_json(layer.w1)},    {"b1", to_json(layer.b1)}, {"W2", to_json(layer.w2)},
                     {"b2", to_json(layer.b2)},    {"tokens", tokens},        {"parameters", layer.num_parameters()},
                     {"alone_differs_by", largest}};
  return out;
}

}  // namespace ffn::demo
