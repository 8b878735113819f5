// The layer as two convolutions over the sequence, written as convolutions.
#include <nlohmann/json.hpp>

#include "ffn/inspect/demo.hpp"
#include "ffn/inspect/demo_matrix.hpp"
#include "ffn/report/format.hpp"

namespace ffn::demo {

namespace {

constexpr std::size_t kLength = 8;

/// A convolution over T tokens with zeros beyond the ends: weight[k] is the matrix (C_in, C_out) for the token k - K/2 places away.
struct Convolution {
  std::vector<Matrix> weight;
  Matrix bias;

  // y[t, o] = bias[o] + Σ_k Σ_i weight[k][i, o] · x[t + k - K/2, i]
  Matrix operator()(const Matrix& x) const {
    Matrix y(x.rows, bias.cols);
    const std::size_t half = weight.size() / 2;
    for (std::size_t t = 0; t < x.rows; ++t) {
      for (std::size_t o = 0; o < bias.cols; ++o) {
        for (std::size_t k = 0; k < weight.size(); ++k) {
          if (t + k < half || t + k - half >= x.rows) continue;
          for (std::size_t i = 0; i < x.cols; ++i) y.at(t, o) += weight[k].at(i, o) * x.at(t + k - half, i);
        }
        y.at(t, o) += bias.at(0, o);
      }
    }
    return y;
  }
  std::size_t num_parameters() const { return weight.size() * weight[0].values.size() + bias.values.size(); }
};

// The layer's matrix in the middle, others beside it.
Convolution convolution(const std::string& name, const Matrix& middle, const Matrix& bias, std::size_t kernel) {
  Convolution out{{}, bias};
  for (std::size_t k = 0; k < kernel; ++k)
    out.weight.push_back(k == kernel / 2 ? middle : some_matrix(name + std::to_string(k), middle.rows, middle.cols));
  return out;
}

}  // namespace

Demo conv_demo() {
  const Layer layer(kModel, kHidden);
  const Matrix x = some_matrix("x", kLength, kModel), y = layer(x, relu);
  Matrix changed = x;
  for (std::size_t j = 0; j < kModel; ++j) changed.at(3, j) += 1;

  Table table({{"kernel", Align::right},
               {"weights", Align::left},
               {"parameters", Align::right},
               {"difference", Align::right},
               {"token 4 reaches", Align::left}});
  Json rows = Json::array();
  for (const std::size_t kernel : {1u, 3u}) {
    const auto first = convolution("up", layer.w1, layer.b1, kernel), second = convolution("down", layer.w2, layer.b2, kernel);
    const auto both = [&](const Matrix& in) { return second(apply(first(in), relu)); };
    const Matrix out = both(x), moved = both(changed);
    std::string reached;
    Json tokens = Json::array();
    for (std::size_t t = 0; t < kLength; ++t) {
      if (largest_difference(out.row(t), moved.row(t)) == 0) continue;
      reached += (reached.empty() ? "" : ", ") + std::to_string(t + 1);
      tokens.push_back(t + 1);
    }
    const std::size_t parameters = first.num_parameters() + second.num_parameters();
    const std::string size = std::to_string(kernel);
    table.add_row({size, "(32, 8, " + size + "), (8, 32, " + size + ")", format_count(parameters),
                   difference_text(largest_difference(out, y)), reached});
    rows.push_back(
        {{"kernel", kernel}, {"parameters", parameters}, {"largest_difference", largest_difference(out, y)}, {"token_4_reaches", tokens}});
  }
  Demo out;
  out.claim = "Two convolutions of kernel size 1 are the same layer.";
  out.parts.push_back(
      {"Vaswani et al. 2017 say so below their equation 2. Eight tokens, d_model 8, d_ff 32, ReLU, once as max(0, x W1 + b1) W2 + b2 and once as two convolutions over the sequence, weights (out, in, kernel), "
       "with the layer's numbers in the middle of the kernel; the difference is that of the outputs:",
       {},
       std::move(table)});
  out.parts.push_back(
      {"With kernel 1 the sums have the same terms, token by token. With kernel 3 each of the two convolutions reaches one token further to either side: that is another layer, of three times the weights."});
  out.next = "ffn-train xor name=convolution seeds=10 model.ffn.kind=positionwise,conv1x1 train.steps=50 train.eval_every=1";
  out.numbers = Json{{"x", to_json(x)},         {"W1", to_json(layer.w1)}, {"b1", to_json(layer.b1)}, {"W2", to_json(layer.w2)},
                     {"b2", to_json(layer.b2)}, {"ffn", to_json(y)},       {"convolutions", rows}};
  return out;
}

}  // namespace ffn::demo
