// One layer for all positions, by the engine's own kernels: all tokens at once, and each alone.
#include <nlohmann/json.hpp>

#include "ffn/inspect/demo.hpp"
#include "ffn/inspect/demo_matrix.hpp"
#include "ffn/kernels/activations.hpp"
#include "ffn/layers/matrix.hpp"

namespace ffn::demo {

namespace {

constexpr std::size_t kSequences = 2, kPositions = 4;

std::vector<float> floats(const Matrix& m) { return {m.values.begin(), m.values.end()}; }

// The layer in float32 as training computes it. x: (N, D) → (N, D), all N rows by the same two products.
Matrix engine(const Layer& layer, const Matrix& x) {
  const auto in = floats(x), w1 = floats(layer.w1), b1 = floats(layer.b1), w2 = floats(layer.w2), b2 = floats(layer.b2);
  const auto n = static_cast<std::int64_t>(x.rows), d = static_cast<std::int64_t>(x.cols), f = static_cast<std::int64_t>(layer.w1.cols);
  std::vector<float> z(x.rows * layer.w1.cols), y(x.values.size());
  fused::multiply({in.data(), n, d}, {w1.data(), d, f}, {z.data(), n, f}, b1.data());
  activation("gelu").forward(z.size(), z.data(), z.data());
  fused::multiply({z.data(), n, f}, {w2.data(), f, d}, {y.data(), n, d}, b2.data());
  Matrix out(x.rows, x.cols);
  out.values.assign(y.begin(), y.end());
  return out;
}

}  // namespace

Demo position_demo() {
  const Layer layer(kModel, kHidden);
  Matrix x = some_matrix("x", kSequences * kPositions, kModel);
  constexpr std::size_t kTwin = 6, kOf = 1;  // the same token once more, elsewhere
  for (std::size_t j = 0; j < kModel; ++j) x.at(kTwin, j) = x.at(kOf, j);
  const Matrix batched = engine(layer, x);
  Matrix looped(x.rows, x.cols), changed_x = x;
  for (std::size_t t = 0; t < x.rows; ++t) {
    const Matrix y = engine(layer, x.row(t));
    for (std::size_t j = 0; j < x.cols; ++j) looped.at(t, j) = y.at(0, j);
  }
  constexpr std::size_t kChanged = 2;
  for (std::size_t j = 0; j < kModel; ++j) changed_x.at(kChanged, j) += 1;
  const Matrix changed = engine(layer, changed_x);

  Table table({{"sequence", Align::right},
               {"position", Align::right},
               {"output: 3 of its 8 numbers", Align::right},
               {"alone", Align::right},
               {"token 3 changed", Align::right}});
  Json moved = Json::array();
  for (std::size_t t = 0; t < x.rows; ++t) {
    moved.push_back(largest_difference(changed.row(t), batched.row(t)));
    table.add_row({std::to_string(t / kPositions + 1), std::to_string(t % kPositions + 1), row_text(batched, t, 3, 3),
                   difference_text(largest_difference(looped.row(t), batched.row(t))), difference_text(moved.back().get<double>())});
  }
  Demo out;
  out.claim = "The same feed-forward layer is applied at every position, to each by itself.";
  out.parts.push_back(
      {"Two sequences of four tokens, d_model 8, d_ff 32, GELU, by the engine that trains. The output is that of all eight at once, as one product of matrices; \"alone\" is how far that of each "
       "token by itself is from it; \"token 3 changed\" is how far the outputs move when token 3 of the first sequence becomes another.",
       {},
       std::move(table)});
  out.parts.push_back(
      {"Token 2 of the first sequence and token 3 of the second are the same vector: their outputs are " +
       apart_text(largest_difference(batched.row(kTwin), batched.row(kOf))) +
       ". Where a token stands and what stands beside it do not matter to the layer: looking at other positions is left to attention."});
  out.next = "ffn-train why-ffn";
  out.numbers = Json{{"x", to_json(x)},           {"W1", to_json(layer.w1)},
                     {"b1", to_json(layer.b1)},   {"W2", to_json(layer.w2)},
                     {"b2", to_json(layer.b2)},   {"batched", to_json(batched)},
                     {"looped", to_json(looped)}, {"largest_difference", largest_difference(batched, looped)},
                     {"moved_by_token_3", moved}, {"twins_apart", largest_difference(batched.row(kTwin), batched.row(kOf))}};
  return out;
}

}  // namespace ffn::demo
