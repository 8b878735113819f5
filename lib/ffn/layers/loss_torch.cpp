#include "ffn/layers/loss_torch.hpp"

namespace ffn::modules {

namespace {

// The cross-entropy below without smoothing, in a third of the launches, and with one tensor of the outputs' size kept.
struct CrossEntropyOfLabels : torch::autograd::Function<CrossEntropyOfLabels> {
  static Tensor forward(torch::autograd::AutogradContext* ctx, const Tensor& outputs, const Tensor& targets) {
    const auto [largest, at] = outputs.max(-1, /*keepdim=*/true);
    const Tensor less = outputs - largest, others = less.exp().scatter_(-1, at, 0.0);
    const Tensor sum = others.sum(-1, /*keepdim=*/true), label = targets.clamp_min(0).unsqueeze(-1), scored = targets.ge(0).unsqueeze(-1);
    ctx->save_for_backward({others.scatter_(-1, at, 1.0).div_(sum + 1.0), label, scored});
    return sum.log1p_().sub_(less.gather(-1, label)).mul_(scored).squeeze(-1);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx, const torch::autograd::variable_list& gradients) {
    const auto saved = ctx->get_saved_variables();
    const Tensor is_label = torch::zeros_like(saved[0]).scatter_(-1, saved[1], 1.0);
    return {(saved[0] - is_label).mul_(gradients[0].unsqueeze(-1) * saved[2]), Tensor()};
  }
};

// One overload per alternative of Loss: a loss without one does not compile.
struct Compute {
  const Tensor &outputs, &targets;

  // Shared by all losses of classes. of_position: (R, N), 0 where a position is not scored.
  LossValue of_classes(const Tensor& of_position) const {
    const Tensor scored = targets.ge(0), count = scored.sum(-1);
    if (OwnKernels::wanted() && torch::GradMode::is_enabled()) return {of_position.sum(-1) / count, {}, count};
    const Tensor correct = outputs.detach().argmax(-1).eq(targets).logical_and(scored).sum(-1);
    return {of_position.sum(-1) / count, correct, count};
  }
  Tensor zero() const { return torch::zeros({}, outputs.options()); }
  // The outputs at `places` (R, N, classes), one of each position → (R, N, 1)
  Tensor at(const Tensor& places) const { return torch::where(places, outputs, zero()).sum(-1, /*keepdim=*/true); }

  LossValue operator()(const CrossEntropy& loss) const {
    if (OwnKernels::wanted() && loss.smoothing == 0) return of_classes(CrossEntropyOfLabels::apply(outputs, targets));
    const auto classes = outputs.size(-1);
    const Tensor is_target = one_hot(targets, classes, torch::kBool);  // (R, N, classes), nowhere true where not scored
    // ln Σ eᶻ = max + ln(1 + the others' sum): a loss below the rounding of 1 stays more than 0.
    const Tensor is_largest = one_hot(outputs.detach().argmax(-1), classes, torch::kBool);
    const Tensor largest = at(is_largest);
    const Tensor others = torch::where(is_largest, zero(), (outputs - largest).exp()).sum(-1, /*keepdim=*/true);
    const Tensor log_probability =
        torch::where(targets.ge(0).unsqueeze(-1), at(is_target) - largest - others.log1p(), zero()).squeeze(-1);  // (R, N)
    if (loss.smoothing == 0) return of_classes(-log_probability);
    const Tensor above_mean = at(is_target).squeeze(-1) - outputs.mean(-1);
    return of_classes(-log_probability + loss.smoothing * torch::where(targets.ge(0), above_mean, zero()));
  }

  // Shared by all losses of vectors. of_output: (R, N, width)
  LossValue of_vectors(const Tensor& of_output) const {
    const Tensor mean = of_output.mean(-1).mean(-1);
    const Tensor count = torch::full_like(mean, static_cast<double>(outputs.size(1))).to(torch::kInt64);
    return {mean, torch::zeros_like(count), count};
  }

  LossValue operator()(const MeanSquaredError&) const { return of_vectors((outputs - targets).square()); }

  LossValue operator()(const Huber&) const {
    const Tensor size = (outputs - targets).abs();
    return of_vectors(torch::where(size.le(1.0), 0.5 * size.square(), size - 0.5));
  }

  LossValue operator()(const Hinge&) const {
    const Tensor is_target = one_hot(targets, outputs.size(-1), torch::kBool);
    const Tensor margin = (1.0 + outputs - at(is_target)).clamp_min(0.0);
    const Tensor counts = targets.ge(0).unsqueeze(-1).logical_and(is_target.logical_not());
    return of_classes(torch::where(counts, margin, zero()).sum(-1));
  }
};

}  // namespace

Tensor one_hot(const Tensor& ids, std::int64_t classes, torch::Dtype dtype) {
  return ids.unsqueeze(-1).eq(torch::arange(classes, ids.options())).to(dtype);
}

LossValue compute_loss(const Loss& loss, const Tensor& outputs, const Tensor& targets) {
  return std::visit(Compute{outputs, targets}, loss);
}

}  // namespace ffn::modules
