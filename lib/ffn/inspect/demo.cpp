#include "ffn/inspect/demo.hpp"

namespace ffn::demo {

const std::vector<DemoRow>& demos() {
  static const std::vector<DemoRow> rows = {
      {"linear", "two linear layers without an activation equal one matrix", linear_demo},
      {"position", "the same layer at every position, each by itself", position_demo},
      {"conv", "a convolution of kernel 1 is the same layer", conv_demo},
      {"walk", "four tokens through a layer: expand, activate, compress", walk_demo},
      {"count", "parameters and FLOPs, attention against FFN, in published models", count_demo},
      {"activations", "activation functions and their derivatives", activations_demo},
  };
  return rows;
}

}  // namespace ffn::demo
