// Traces of single inputs, and which inputs are shown.
#include <cmath>

#include "ffn/formula/named_formulas.hpp"
#include "ffn/inspect/trace.hpp"
#include "hand_made.hpp"
#include "support/catch_plain.hpp"

using namespace hand_made;
using namespace ffn::inspect;

namespace {

// As a run leaves it: a config and its weights.
struct Trained {
  RunConfig config;
  TensorFile weights;
  explicit Trained(const Made& made) {
    config.task = XorConfig{};
    config.model = made.model;
    weights.tensors = made.network.layout().export_row(made.row.data());
  }
};

}  // namespace

TEST_CASE("a trace has every step of every token: what is read, expanded, activated and compressed") {
  const Trained trained(four_neurons());
  TrainedNetwork network(trained.config, trained.weights);
  const auto inputs = typed_inputs(trained.config, trained.weights, "11 -1,0.5");
  CHECK(inputs.vectors == std::vector<float>{1, 1, -1, 0.5});
  const auto steps = trace(network, inputs).blocks.at(0).steps;
  REQUIRE(steps.size() == 4);
  CHECK(steps[0].values == std::vector<double>{1, 1, -1, 0.5});
  CHECK(steps[1].name == "z = x W₁ + b₁");
  CHECK(steps[1].values == std::vector<double>{1, -1, -1, 1, -1, 1, -1, 1});
  CHECK(steps[2].name == "h = relu(z)");
  CHECK(steps[2].values == std::vector<double>{1, 0, 0, 1, 0, 1, 0, 1});
  CHECK(steps[3].values == std::vector<double>{3, 4, -2, 0});
  CHECK(steps[3].width == 2);
  CHECK(steps[3].rows == std::vector<std::string>{"(1, 1)", "(−1, 0.50)"});
  const auto outcome = trace(network, inputs).outcomes;
  CHECK(outcome.at(0).at(0).index == 1);
  CHECK(outcome[0][0].logit == Approx(1 / (1 + std::exp(-1.0))));
}

TEST_CASE("a trace of a mixture says which expert a row belongs to") {
  auto made = three_experts(2);
  std::get<MoeConfig>(made.model.ffn).expansion.reset();
  const Trained trained(made);
  TrainedNetwork network(trained.config, trained.weights);
  const auto block = trace(network, typed_inputs(trained.config, trained.weights, "11")).blocks.at(0);
  REQUIRE(block.routes.size() == 1);
  CHECK(block.routes[0].find("(1, 1) goes to expert 0 with weight 1") == 0);
  CHECK(block.steps.at(1).rows == std::vector<std::string>{"(1, 1) expert 0", "(1, 1) expert 1"});
}

TEST_CASE("what was typed is refused with what was expected") {
  const Trained trained(four_neurons());
  const auto refused = [&](const std::string& typed) {
    try {
      typed_inputs(trained.config, trained.weights, typed);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refused("1,2,3") == "the input 1,2,3 has 3 numbers, the network reads 2");
  CHECK(refused("1,x") == "'x' is not a number");
  CHECK(refused("") == "nothing to trace");
}

TEST_CASE("inputs that repeat each other are shown once") {
  Trained trained(four_neurons());
  trained.config.train.steps = 100;
  trained.config.train.batch_size = 8;
  const auto inputs = training_inputs(trained.config, trained.weights, 1000);
  CHECK(inputs.count == 4);
  CHECK(inputs.vectors == std::vector<float>{-1, -1, -1, 1, 1, -1, 1, 1});
  CHECK(inputs.source == "the 4 different inputs among 800 training examples, each once");
  std::get<XorConfig>(trained.config.task).jitter = 0.1;
  CHECK(training_inputs(trained.config, trained.weights, 160).count == 160);
}
