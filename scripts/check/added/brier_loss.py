"""A loss, on both engines."""
from parts import Part

PARTS = [
    Part("lib/ffn/config/loss.hpp", before="/// The first one for a target is", text='''\
/// Σ over the classes of (probability − 1 for the label's, 0 for the others)²: Brier 1950.
struct Brier {
  static constexpr const char* kName = "brier";
  static constexpr const char* kDoc = "sum over the classes of (probability - right or not)² (Brier 1950)";
  static constexpr Target kTarget = Target::classes;
  static constexpr bool kCpu = true;
};

'''),
    Part("lib/ffn/config/loss.hpp", after="using Loss = std::variant<CrossEntropy, MeanSquaredError, Hinge", text=", Brier"),
    Part("lib/ffn/layers/loss_cpu.cpp", before="  // loss = Σ over j ≠ label of max", forgotten=("lib/ffn/layers/loss_cpu.cpp", "Brier"), text='''\
  // loss = Σ (p − t)²   so   do = 2 p ⊙ (p − t − Σ p (p − t))
  LossSums operator()(const Brier&) const {
    LossSums sums;
    sums.scored = count_scored(rows, targets);
    const float scale = 2.0f / static_cast<float>(mean_over > 0 ? mean_over : sums.scored);
    float* p = arena.floats(rows * width);
    std::copy_n(outputs, rows * width, p);
    kernels().softmax(rows, width, 1.0f, 0, p);
    if (doutputs) std::fill_n(doutputs, rows * width, 0.0f);
    for (std::int64_t i = 0; i < rows; ++i, p += width) {
      if (targets.labels[i] < 0) continue;
      const auto off = [&](std::int64_t j) { return p[j] - (j == targets.labels[i] ? 1.0f : 0.0f); };
      sums.correct += std::max_element(outputs + i * width, outputs + (i + 1) * width) - (outputs + i * width) == targets.labels[i];
      float weighted = 0;
      for (std::int64_t j = 0; j < width; ++j) {
        sums.loss += static_cast<double>(off(j)) * static_cast<double>(off(j));
        weighted += p[j] * off(j);
      }
      for (std::int64_t j = 0; doutputs && j < width; ++j) doutputs[i * width + j] = scale * p[j] * (off(j) - weighted);
    }
    return sums;
  }

'''),
    Part("lib/ffn/layers/loss_torch.cpp", before="  LossValue operator()(const Hinge&) const {\n", forgotten=("lib/ffn/layers/loss_torch.cpp", "Brier"), text='''\
  LossValue operator()(const Brier&) const {
    const Tensor off = outputs.softmax(-1) - one_hot(targets, outputs.size(-1), outputs.scalar_type());
    return of_classes(torch::where(targets.ge(0).unsqueeze(-1), off.square(), zero()).sum(-1));
  }

'''),
]
