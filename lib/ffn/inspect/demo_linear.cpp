// Two linear layers in a row are one, and an activation between them ends that.
#include <nlohmann/json.hpp>

#include "ffn/inspect/demo.hpp"
#include "ffn/inspect/demo_matrix.hpp"

namespace ffn::demo {

namespace {

double identity(double z) { return z; }

Table outputs(const Matrix& x, const Matrix& layers, const Matrix& one) {
  Table table({{"token", Align::right},
               {"x", Align::right},
               {"two layers", Align::right},
               {"one matrix", Align::right},
               {"difference", Align::right}});
  for (std::size_t t = 0; t < layers.rows; ++t)
    table.add_row({std::to_string(t + 1), row_text(x, t, 1), row_text(layers, t, 2), row_text(one, t, 2),
                   difference_text(largest_difference(layers.row(t), one.row(t)))});
  return table;
}

// What an affine map cannot do: send the middle of two tokens, here the second and the third, elsewhere than to the middle of their
// outputs.
double off_the_middle(const Layer& layer, const Matrix& x, double (*phi)(double)) {
  Matrix middle(1, x.cols), of_outputs(1, x.cols);
  const Matrix y = layer(x, phi);
  for (std::size_t j = 0; j < x.cols; ++j) {
    middle.at(0, j) = (x.at(1, j) + x.at(2, j)) / 2;
    of_outputs.at(0, j) = (y.at(1, j) + y.at(2, j)) / 2;
  }
  return largest_difference(layer(middle, phi), of_outputs);
}

}  // namespace

Demo linear_demo() {
  const Layer layer(3, 5);
  const Matrix x = some_matrix("x", 4, 3);
  const Matrix w = product(layer.w1, layer.w2), b = plus_row(product(layer.b1, layer.w2), layer.b2);
  const Matrix one = plus_row(product(x, w), b), linear = layer(x, identity), activated = layer(x, relu);
  const double with_identity = off_the_middle(layer, x, identity), with_relu = off_the_middle(layer, x, relu);

  Demo out;
  out.claim = "Two linear layers without an activation equal one matrix.";
  Part weights{"(x W1 + b1) W2 + b2 is x W + b with W = W1 W2 and b = b1 W2 + b2, whatever x is. With these numbers:"};
  weights.blocks = {matrix_lines("W1", layer.w1, 1), matrix_lines("W2", layer.w2, 1), matrix_lines("W = W1 W2", w, 2),
                    matrix_lines("b1", layer.b1, 1), matrix_lines("b2", layer.b2, 1), matrix_lines("b = b1 W2 + b2", b, 2)};
  out.parts.push_back(std::move(weights));
  out.parts.push_back({"Four tokens through both. What differs is the rounding of the last bit, if anything: the " +
                           std::to_string(layer.num_parameters()) + " numbers of the two layers do no more than the " +
                           std::to_string(w.values.size() + b.values.size()) + " of one.",
                       {},
                       outputs(x, linear, one)});
  out.parts.push_back({"The same with max(0, z), ReLU, between them:", {}, outputs(x, activated, one)});
  out.parts.push_back(
      {"And no other matrix would do. A matrix and a bias take the middle of two tokens to the middle of their outputs; of tokens 2 and 3 the layers without activation miss it by " +
       difference_text(with_identity) + ", those with ReLU by " + difference_text(with_relu) + "."});
  out.next = "ffn-train xor name=linear seeds=10 model.ffn.activation=identity,relu";
  out.numbers = Json{{"W1", to_json(layer.w1)},
                     {"b1", to_json(layer.b1)},
                     {"W2", to_json(layer.w2)},
                     {"b2", to_json(layer.b2)},
                     {"W", to_json(w)},
                     {"b", to_json(b)},
                     {"x", to_json(x)},
                     {"two_layers", to_json(linear)},
                     {"one_matrix", to_json(one)},
                     {"with_relu", to_json(activated)},
                     {"largest_difference", largest_difference(linear, one)},
                     {"largest_difference_with_relu", largest_difference(activated, one)},
                     {"off_the_middle", with_identity},
                     {"off_the_middle_with_relu", with_relu}};
  return out;
}

}  // namespace ffn::demo
