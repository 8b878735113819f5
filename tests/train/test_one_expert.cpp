// A mixture of one expert is the dense layer.
#include <map>

#include "cases.hpp"
#include "ffn/layers/network_cpu.hpp"
#include "ffn/train/examples.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

using Tensors = std::map<std::string, std::string>;

/// Weights and, after them, their gradients of one step from such weights.
class Stepped {
 public:
  Stepped(const RunConfig& config, const Tensors& weights = {})
      : task_(make_task(config.task, {{1, 2}})), network_(config.model, task_->shape()) {
    const auto width = static_cast<std::size_t>(network_.layout().width());
    std::vector<float> row(width), gradient(width);
    network_.layout().initialise(7, row.data());
    auto tensors = network_.layout().export_row(row.data());
    for (auto& tensor : tensors) {
      const auto given = weights.find(without_expert(tensor.name));
      if (given != weights.end()) tensor.bytes = given->second;
      before[without_expert(tensor.name)] = tensor.bytes;
    }
    network_.layout().import_row(row.data(), tensors);
    const ExampleSet batch = task_->batch(0, 3, config.train.batch_size);
    network_.step(row.data(), gradient.data(), examples_of(batch, task_->shape(), 0), {});
    for (const auto& tensor : network_.layout().export_row(gradient.data())) gradients[without_expert(tensor.name)] = tensor.bytes;
  }

  Tensors before, gradients;

 private:
  static std::string without_expert(std::string name) {
    const auto at = name.find("experts.0.");
    return at == std::string::npos ? name : name.erase(at, 10);
  }

  std::unique_ptr<Task> task_;
  cpu::Network network_;
};

}  // namespace

TEST_CASE("a mixture of one expert has the gradients of the dense layer, bit for bit", "[train]") {
  for (const bool gated : {false, true}) {
    const auto dense = test::base(
        gated ? FfnConfig(test::some_ffn<GatedConfig>("gelu", 0)) : FfnConfig(test::some_ffn<PositionwiseConfig>("gelu", 0)), true);
    auto moe = test::some_ffn<MoeConfig>("gelu", 0);
    moe.num_experts = moe.top_k = 1;
    moe.gated = gated;
    const Stepped mixed(test::base(moe, true)), plain(dense, mixed.before);
    CHECK(plain.gradients.size() > 10);
    for (const auto& [name, bytes] : plain.gradients) {
      INFO(name);
      CHECK(plain.before.at(name) == mixed.before.at(name));
      CHECK(bytes == mixed.gradients.at(name));
    }
  }
}
