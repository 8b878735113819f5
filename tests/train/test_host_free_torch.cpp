// LibTorch without the host's help, as a GPU needs it, against LibTorch with it: on the CPU, in float64.
#include "ffn/base/random.hpp"
#include "ffn/kernels/kernels.hpp"
#include "ffn/layers/activation_torch.hpp"
#include "ffn/train/learner_torch.hpp"
#include "support/catch.hpp"
#include "train/cases.hpp"

using namespace ffn;
using torch::Tensor;

namespace {

Tensor gradients(const RunConfig& config, const Task& task, bool host_free) {
  TorchOptions options;
  options.dtype = torch::kFloat64;
  options.host_free = host_free;
  TorchLearner learner({config, config}, task, options);
  std::vector<float> row(static_cast<std::size_t>(learner.layout().width()));
  for (std::size_t run = 0; run < 2; ++run) {
    learner.layout().initialise(run, row.data());
    learner.write_state(run, 0, row.data());
  }
  return learner.gradients_at(3).clone();
}

// The order of sums differs; float64.
constexpr double kTolerance = 1e-12;

}  // namespace

TEST_CASE("every model has the same gradient without the host's help, dropout included", "[torch]") {
  int seen = 0;
  for (const auto& [name, config] : test::cases()) {
    INFO(name);
    const auto task = make_task(config.task, {{1, 2}, {3, 4}});
    const Tensor with = gradients(config, *task, false), without = gradients(config, *task, true);
    CHECK((with - without).abs().max().item<double>() <= kTolerance);
    CHECK(with.abs().max().item<double>() > 1e-3);
    ++seen;
  }
  CHECK(seen > 20);
}

TEST_CASE("recorded activations equal the catalogue's rows, slopes included", "[torch]") {
  const Tensor z = torch::cat({torch::linspace(-30, 30, 601, torch::kFloat64), torch::tensor({0.0, -0.0, 1e-300}, torch::kFloat64)});
  modules::ForwardContext recorded;
  recorded.host_free = true;
  int seen = 0;
  for (const auto& phi : activations()) {
    INFO(phi.name);
    Tensor a = z.clone().requires_grad_(), b = z.clone().requires_grad_();
    const Tensor ya = modules::activate(phi, a, modules::ForwardContext{}), yb = modules::activate(phi, b, recorded);
    ya.sum().backward();
    yb.sum().backward();
    // The same formula by another library's exp, tanh and erf: a few units in the last place, times z.
    CHECK((ya - yb).abs().max().item<double>() <= 1e-13);
    CHECK((a.grad() - b.grad()).abs().max().item<double>() <= 1e-13);
    const Tensor nan = torch::full({1}, NAN, torch::kFloat64);
    CHECK(torch::isnan(modules::activate(phi, nan, recorded)).all().item<bool>());
    ++seen;
  }
  CHECK(seen == static_cast<int>(activations().size()));
}

TEST_CASE("dropout masks made of tensor operations are the kernels', bit for bit", "[torch]") {
  const std::vector<double> rates{0.25, 0.0, 0.5, 0.1};
  const std::vector<std::uint64_t> seeds{1, 2, 0xFEDCBA9876543210u, sub_seed(7, "dropout")};
  for (const std::int64_t step : {std::int64_t{0}, std::int64_t{5}, (std::int64_t{1} << 33) + 7}) {
    for (const std::uint32_t site : {0u, 3u}) {
      auto context = modules::training_context(rates, seeds, step);
      const Tensor by_kernels = modules::dropout_mask(torch::zeros({1}), context, site, {4, 3, 37});
      context.host_free = true;
      const Tensor by_tensors = modules::dropout_mask(torch::zeros({1}), context, site, {4, 3, 37});
      CHECK(torch::equal(by_kernels, by_tensors));
    }
  }
}
