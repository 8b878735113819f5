// Training objectives. A loss is one struct here and one overload in layers/loss_torch.cpp and layers/loss_cpu.cpp.
#pragma once

#include "ffn/config/task_config.hpp"

namespace ffn {

/// −ln p(label), p = softmax(outputs). With smoothing ε of K classes: against (1 − ε) of the label and ε/K of every class (Szegedy et al.
/// 2016, arXiv:1512.00567, §7; torch.nn.CrossEntropyLoss), which adds ε (output_label − mean of the outputs).
struct CrossEntropy {
  double smoothing = 0;
  static constexpr const char* kName = "cross_entropy";
  static constexpr const char* kDoc = "-ln of the label's probability";
  static constexpr Target kTarget = Target::classes;
  static constexpr bool kCpu = true;  ///< whether the cpu engine has it
};

/// Mean over the outputs of (output − target)².
struct MeanSquaredError {
  static constexpr const char* kName = "mean_squared_error";
  static constexpr const char* kDoc = "mean over the outputs of (output - target)²";
  static constexpr Target kTarget = Target::vectors;
  static constexpr bool kCpu = true;
};

/// Σ over the other classes j of max(0, 1 + output_j − output_label): Weston & Watkins 1999; of two classes the hinge of their
/// difference.
struct Hinge {
  static constexpr const char* kName = "hinge";
  static constexpr const char* kDoc = "sum over the other classes of max(0, 1 + their output - the label's) (Weston & Watkins 1999)";
  static constexpr Target kTarget = Target::classes;
  static constexpr bool kCpu = true;
};

/// Mean over the outputs of ½d² where |d| ≤ 1 and |d| − ½ beyond, d = output − target: Huber 1964, "Robust Estimation of a Location
/// Parameter"; torch.nn.HuberLoss with its delta of 1.
struct Huber {
  static constexpr const char* kName = "huber";
  static constexpr const char* kDoc = "mean over the outputs of d²/2 where |d| ≤ 1 and |d| - 1/2 beyond, d = output - target (Huber 1964)";
  static constexpr Target kTarget = Target::vectors;
  static constexpr bool kCpu = true;
};

/// The first one for a target is the one that `train.loss: auto` takes.
using Loss = std::variant<CrossEntropy, MeanSquaredError, Hinge, Huber>;

/// The loss that `train.loss` names for a target. Throws std::invalid_argument for a loss of another target.
Loss loss_of(const std::string& name, Target target);

/// An evaluation measures the loss without smoothing.
Loss measured_loss(const Loss& loss);

/// The kind of target that the loss called `name` takes; none for "auto".
std::optional<Target> target_of_loss(const std::string& name);

/// The values of `train.loss`.
std::vector<Choice> loss_choices();

}  // namespace ffn
