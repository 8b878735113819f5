// `decay: matrices` by the names in a weight file: every weight of two or more dimensions
// (maps, embeddings, positions, attention scores), no bias and no norm.
#include <algorithm>
#include <map>

#include "cases.hpp"
#include "ffn/layers/network_cpu.hpp"
#include "ffn/train/optimizer.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

bool should_decay(const std::string& name, std::size_t dimensions) {
  const bool weight = name.size() > 7 && name.compare(name.size() - 7, 7, ".weight") == 0;
  const bool bias = name.size() > 5 && name.compare(name.size() - 5, 5, ".bias") == 0;
  if (!weight && !bias && name.find(".ffn.") != std::string::npos) return dimensions == 2;  // a formula's: matrices alone
  return !bias && name.find("norm.") == std::string::npos;
}

// The file's tensors after one step without a gradient: what is no longer 1 has decayed. Buffers never do.
struct Fate {
  bool has_decayed;
  std::size_t dimensions;
};
std::map<std::string, Fate> decayed(const RowLayout& layout, const OptimizerConfig& optimizer) {
  std::vector<float> row(static_cast<std::size_t>(layout.width()), 1.0f);
  const std::vector<float> nothing(row.size());
  RowOptimizer(layout, {optimizer}).step(0, 1, 1.0, 1.0, nothing.data(), row.data());
  std::map<std::string, Fate> out;
  for (const auto& tensor : layout.export_row(row.data())) {
    const auto* values = reinterpret_cast<const float*>(tensor.bytes.data());
    const auto count = tensor.bytes.size() / sizeof(float);
    const auto changed = std::count_if(values, values + count, [](float value) { return value != 1.0f; });
    CHECK((changed == 0 || changed == static_cast<std::ptrdiff_t>(count)));
    const auto& entries = layout.entries();
    const bool buffer = std::any_of(entries.begin(), entries.end(),
                                    [&](const RowEntry& entry) { return entry.name == tensor.name && entry.role == Role::buffer; });
    if (buffer) CHECK(changed == 0);
    else out[tensor.name] = {changed > 0, tensor.shape.size()};
  }
  return out;
}

}  // namespace

TEST_CASE("under decay of matrices exactly the weights decay: no bias, no norm, of no expert", "[train][decay]") {
  std::size_t stayed = 0, moved = 0;
  for (const auto& [name, config] : test::cpu_cases_with({"gelu"})) {
    const auto layout = cpu::Network(config.model, task_shape(config.task)).layout();
    test::each_alternative(OptimizerConfig{}, [&, name = name](auto optimizer) {
      optimizer.lr = 0.1;
      optimizer.weight_decay = 0.5;
      optimizer.decay = "matrices";
      for (const auto& [tensor, fate] : decayed(layout, optimizer)) {
        INFO(name << ", " << optimizer.kKind << ": " << tensor);
        CHECK(fate.has_decayed == should_decay(tensor, fate.dimensions));
        ++(fate.has_decayed ? moved : stayed);
      }
      optimizer.decay = "all";
      for (const auto& [tensor, fate] : decayed(layout, optimizer)) {
        INFO(name << ", " << optimizer.kKind << ": " << tensor);
        CHECK(fate.has_decayed);
      }
    });
  }
  CHECK(stayed > 1000);
  CHECK(moved > 1000);
}
