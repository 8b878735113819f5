// The losses of both engines: by hand, against PyTorch's own, and gradient by gradient against each other.
#include <cmath>

#include "ffn/layers/loss_cpu.hpp"
#include "ffn/layers/loss_torch.hpp"
#include "support/catch.hpp"
#include "support/choices.hpp"

using namespace ffn;
using torch::Tensor;

namespace {

struct Computed {
  LossSums sums;
  std::vector<float> gradient;
};

Computed by_hand(const Loss& loss, std::int64_t rows, std::int64_t width, const std::vector<float>& outputs, const cpu::Targets& targets,
                 std::int64_t mean_over = 0) {
  cpu::Arena arena;
  Computed out;
  out.gradient.assign(outputs.size(), 7.0f);  // what stood there before does not matter
  out.sums = cpu::compute_loss(loss, rows, width, outputs.data(), targets, mean_over, out.gradient.data(), arena);
  const double without_gradient = cpu::compute_loss(loss, rows, width, outputs.data(), targets, 0, nullptr, arena).loss;
  CHECK((without_gradient == out.sums.loss || std::isnan(out.sums.loss)));
  return out;
}

}  // namespace

TEST_CASE("the mean squared error and its gradient are those of a small case by hand", "[torch][loss]") {
  // differences 1, -2; 0.5, 0: errors (1 + 4)/2 and (0.25 + 0)/2; the gradient is 2·difference/(rows·width)
  const std::vector<float> outputs{2, -1, 0.5f, 3}, targets{1, 1, 0, 3};
  const auto found = by_hand(MeanSquaredError{}, 2, 2, outputs, {nullptr, targets.data()});
  CHECK(found.sums.loss == 2.625);
  CHECK(found.sums.scored == 2);
  CHECK(found.gradient == std::vector<float>{0.5f, -1, 0.25f, 0});
  const auto part = by_hand(MeanSquaredError{}, 2, 2, outputs, {nullptr, targets.data()}, /*mean_over=*/4);
  CHECK(part.gradient == std::vector<float>{0.25f, -0.5f, 0.125f, 0});

  Tensor o = torch::tensor(outputs, torch::kFloat64).view({1, 2, 2}).requires_grad_();
  const Tensor t = torch::tensor(targets, torch::kFloat64).view({1, 2, 2});
  const auto value = modules::compute_loss(MeanSquaredError{}, o, t);
  CHECK(value.mean.item<double>() == Approx(torch::mse_loss(o, t).item<double>()).epsilon(1e-15));
  CHECK(value.mean.item<double>() == 2.625 / 2);
  CHECK(value.scored.item<std::int64_t>() == 2);
  value.mean.sum().backward();
  CHECK(o.grad().flatten().equal(torch::tensor({0.5, -1.0, 0.25, 0.0}, torch::kFloat64)));
}

TEST_CASE("the Huber loss and its gradient are those of a small case by hand and of torch.nn.HuberLoss", "[torch][loss]") {
  // differences 2, -0.5; 1, -3: losses (1.5 + 0.125)/2 and (0.5 + 2.5)/2; the gradient is clamp(difference, -1, 1)/(rows·width)
  const std::vector<float> outputs{3, 0.5f, 0, -1}, targets{1, 1, -1, 2};
  const auto found = by_hand(Huber{}, 2, 2, outputs, {nullptr, targets.data()});
  CHECK(found.sums.loss == 2.3125);
  CHECK(found.sums.scored == 2);
  CHECK(found.gradient == std::vector<float>{0.25f, -0.125f, 0.25f, -0.25f});
  const auto part = by_hand(Huber{}, 2, 2, outputs, {nullptr, targets.data()}, /*mean_over=*/4);
  CHECK(part.gradient == std::vector<float>{0.125f, -0.0625f, 0.125f, -0.125f});

  Tensor ours = torch::tensor(outputs, torch::kFloat64).view({1, 2, 2}).requires_grad_(), theirs = ours.detach().clone().requires_grad_();
  const Tensor t = torch::tensor(targets, torch::kFloat64).view({1, 2, 2});
  const Tensor value = torch::huber_loss(theirs, t, at::Reduction::Mean, /*delta=*/1), mean = modules::compute_loss(Huber{}, ours, t).mean;
  CHECK(mean.item<double>() == Approx(value.item<double>()).epsilon(1e-15));
  CHECK(mean.item<double>() == 2.3125 / 2);
  value.backward();
  mean.sum().backward();
  CHECK(ours.grad().allclose(theirs.grad(), 0, 1e-15));
}

TEST_CASE("the hinge loss and its gradient are those of a small case by hand and of torch.nn.MultiMarginLoss", "[torch][loss]") {
  // label 0: margins of 1 and 2 are 1 + 0.5 - 1 = 0.5 and 1 - 1 - 1 < 0; label 1: not scored; label 1 of (0, 2, 0): none
  const std::vector<float> outputs{1, 0.5f, -1, 5, 5, 5, 0, 2, 0};
  const std::vector<std::int64_t> labels{0, -1, 1};
  const auto found = by_hand(Hinge{}, 3, 3, outputs, {labels.data(), nullptr});
  CHECK(found.sums.loss == 0.5);
  CHECK(found.sums.scored == 2);
  CHECK(found.sums.correct == 2);
  CHECK(found.gradient == std::vector<float>{-0.5f, 0.5f, 0, 0, 0, 0, 0, 0, 0});
  const Tensor o = torch::tensor({1.0, 0.5, -1.0, 0.0, 2.0, 0.3}, torch::kFloat64).view({1, 2, 3}),
               t = torch::tensor({0, 1}, torch::kInt64);
  const auto theirs = torch::multi_margin_loss(o[0], t) * 3;  // which is a mean over the classes, too
  CHECK(modules::compute_loss(Hinge{}, o, t.unsqueeze(0)).mean.item<double>() == Approx(theirs.item<double>()).epsilon(1e-15));
}

TEST_CASE("cross-entropy with label smoothing has PyTorch's value and gradient in both engines", "[torch][loss]") {
  const std::vector<float> outputs{1, 0.5f, -1, 5, 4, 5, 0, 2, 0.3f};
  const std::vector<std::int64_t> labels{0, -100, 1};
  const CrossEntropy loss{0.1};
  const Tensor t = torch::tensor(labels, torch::kInt64);
  Tensor theirs = torch::tensor(outputs).to(torch::kFloat64).view({3, 3}).requires_grad_();
  const Tensor value = torch::cross_entropy_loss(theirs, t, {}, at::Reduction::Mean, /*ignore_index=*/-100, loss.smoothing);
  value.backward();

  Tensor ours = theirs.detach().clone().unsqueeze(0).requires_grad_();
  const Tensor mean = modules::compute_loss(loss, ours, t.unsqueeze(0)).mean;
  mean.sum().backward();
  CHECK(mean.item<double>() == Approx(value.item<double>()).epsilon(1e-14));
  CHECK(ours.grad().view({3, 3}).allclose(theirs.grad(), 1e-13, 1e-15));

  const auto found = by_hand(loss, 3, 3, outputs, {labels.data(), nullptr});
  CHECK(found.sums.loss == Approx(2 * value.item<double>()).epsilon(1e-6));  // float32 in between
  CHECK(torch::tensor(found.gradient).view({3, 3}).allclose(theirs.grad().to(torch::kFloat32), 1e-5, 1e-7));
}

TEST_CASE("every loss has the value and the gradient of LibTorch's form", "[torch][loss]") {
  constexpr std::int64_t kRows = 13;
  int checked = 0;
  test::each_alternative(Loss{}, [&](auto loss) {
    for (const std::int64_t width : {2, 5}) {
      INFO(loss.kName << ", " << width << " outputs");
      std::vector<float> outputs, values;
      std::vector<std::int64_t> labels;
      for (std::int64_t i = 0; i < kRows * width; ++i) outputs.push_back(1.5f * std::sin(static_cast<float>(3 * i + 1)));
      for (std::int64_t i = 0; i < kRows * width; ++i) values.push_back(std::cos(static_cast<float>(i)));
      for (std::int64_t i = 0; i < kRows; ++i) labels.push_back(i % 4 == 3 ? -1 : i % width);
      const bool classes = loss.kTarget == Target::classes;
      const auto found = by_hand(loss, kRows, width, outputs, classes ? cpu::Targets{labels.data()} : cpu::Targets{nullptr, values.data()});
      Tensor o = torch::tensor(outputs).to(torch::kFloat64).view({1, kRows, width}).requires_grad_();
      const Tensor targets = classes ? torch::tensor(labels, torch::kInt64).view({1, kRows})
                                     : torch::tensor(values).to(torch::kFloat64).view({1, kRows, width});
      const auto expected = modules::compute_loss(loss, o, targets);
      expected.mean.sum().backward();
      CHECK(found.sums.scored == expected.scored.template item<std::int64_t>());
      CHECK(found.sums.correct == expected.correct.template item<std::int64_t>());
      CHECK(found.sums.loss / static_cast<double>(found.sums.scored) == Approx(expected.mean.template item<double>()).epsilon(1e-6));
      CHECK(torch::tensor(found.gradient).to(torch::kFloat64).allclose(o.grad().flatten(), 0, 1e-7));
      ++checked;
    }
  });
  CHECK(checked == 2 * static_cast<int>(std::variant_size_v<Loss>));
}

TEST_CASE("an output that is no number shows in every loss", "[torch][loss]") {
  const std::vector<float> values{0, 0};
  const std::vector<std::int64_t> label{1};
  test::each_alternative(Loss{}, [&](auto loss) {
    INFO(loss.kName);
    const bool classes = loss.kTarget == Target::classes;
    const auto found = by_hand(loss, 1, 2, {NAN, 1}, classes ? cpu::Targets{label.data()} : cpu::Targets{nullptr, values.data()});
    CHECK_FALSE(std::isfinite(found.sums.loss));
  });
}
