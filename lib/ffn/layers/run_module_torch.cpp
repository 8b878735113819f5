#include "ffn/layers/run_module_torch.hpp"

#include <algorithm>

namespace ffn::modules {

namespace {

thread_local bool own_kernels_wanted = false;

}  // namespace

OwnKernels::OwnKernels(bool wanted) : before_(own_kernels_wanted) { own_kernels_wanted = wanted; }
OwnKernels::~OwnKernels() { own_kernels_wanted = before_; }
bool OwnKernels::wanted() { return own_kernels_wanted; }

ForwardContext training_context(const std::vector<double>& rates, const std::vector<std::uint64_t>& seeds, std::int64_t step) {
  ForwardContext context;
  context.training = true;
  context.step_number = torch::full({1}, step, torch::kInt64);
  const std::vector<std::int64_t> bits(seeds.begin(), seeds.end());
  context.seeds = torch::tensor(bits, torch::kInt64);
  if (std::any_of(rates.begin(), rates.end(), [](double rate) { return rate > 0; })) context.rates = torch::tensor(rates, torch::kFloat64);
  return context;
}

}  // namespace ffn::modules
