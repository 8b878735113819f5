// A SwiGLU learns x ↦ x ⊙ roll(x) inside a training loop of its own; then a layer that ffn-train trained computes.
// Usage: example [model.safetensors of `ffn-train gated`-like runs: d_model 16, kind gated, d_ff 32]
#include <ffn/layers.hpp>
#include <iostream>

int main(int argc, char** argv) try {
  constexpr std::int64_t kModel = 16;
  ffn::GatedFeedForward layer(kModel, R"({"activation": "silu", "d_ff": 32})");
  torch::optim::AdamW optimizer(layer->parameters(), torch::optim::AdamWOptions(0.01));
  torch::manual_seed(0);
  for (int step = 0; step <= 500; ++step) {
    const auto x = torch::randn({8, 32, kModel});  // (B, T, D)
    const auto loss = torch::mse_loss(layer(x), x * x.roll(1, -1));
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    if (step % 250 == 0) std::cout << "step " << step << ": loss " << loss.item<double>() << "\n";
  }
  if (argc > 1) layer->load(argv[1], "block0.ffn.");
  layer->eval();
  std::cout << layer(torch::ones({1, 1, kModel})).sum().item<double>() << "\n";
  layer->save("layer.safetensors");
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
