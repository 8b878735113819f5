#include "ffn/layers/compat_torch.hpp"

#include <ATen/autocast_mode.h>

#include <stdexcept>

namespace ffn {
namespace {

class WarningSink final : public c10::WarningHandler {
 public:
  explicit WarningSink(std::function<void(const std::string&)> sink) : sink_(std::move(sink)) {}

#if FFN_TORCH_AT_LEAST(2, 0)
  void process(const c10::Warning& warning) override { sink_(warning.msg()); }
#else
  void process(const c10::SourceLocation&, const std::string& message, const bool) override { sink_(message); }
#endif

 private:
  std::function<void(const std::string&)> sink_;
};

}  // namespace

void route_torch_warnings(std::function<void(const std::string&)> sink) {
  // LibTorch keeps a bare pointer; a handler that is never freed cannot dangle at exit.
  auto* handler = new WarningSink(std::move(sink));
#if FFN_TORCH_AT_LEAST(2, 0)
  c10::WarningUtils::set_warning_handler(handler);
#else
  c10::Warning::set_warning_handler(handler);
#endif
}

void set_deterministic() {
  auto& context = at::globalContext();
  context.setDeterministicAlgorithms(true, /*warn_only=*/false);
  context.setBenchmarkCuDNN(false);
#if FFN_TORCH_AT_LEAST(2, 6)
  context.setDeterministicFillUninitializedMemory(false);  // a kernel for every allocation
#endif
}

void set_tf32(bool allowed) {
  auto& context = at::globalContext();
#if FFN_TORCH_AT_LEAST(2, 9)
  // The newer of two ways, which must not be mixed.
  for (const auto op : {at::Float32Op::MATMUL, at::Float32Op::CONV, at::Float32Op::RNN})
    context.setFloat32Precision(at::Float32Backend::CUDA, op, allowed ? at::Float32Precision::TF32 : at::Float32Precision::IEEE);
#else
  context.setAllowTF32CuBLAS(allowed);
  context.setAllowTF32CuDNN(allowed);
#endif
}

namespace {

bool lowered(torch::DeviceType device) {
#if FFN_TORCH_AT_LEAST(2, 4)
  return at::autocast::is_autocast_enabled(device);
#else
  return device == torch::kCUDA ? at::autocast::is_enabled() : at::autocast::is_cpu_enabled();
#endif
}

void set_lowered(torch::DeviceType device, bool wanted) {
  at::autocast::set_autocast_cache_enabled(false);  // a cast that a captured step made has to be made again in its replay
#if FFN_TORCH_AT_LEAST(2, 4)
  at::autocast::set_autocast_dtype(device, torch::kBFloat16);
  at::autocast::set_autocast_enabled(device, wanted);
#else
  if (device == torch::kCUDA) {
    at::autocast::set_autocast_gpu_dtype(torch::kBFloat16);
    at::autocast::set_enabled(wanted);
  } else {
    at::autocast::set_autocast_cpu_dtype(torch::kBFloat16);
    at::autocast::set_cpu_enabled(wanted);
  }
#endif
}

}  // namespace

#if FFN_TORCH_AT_LEAST(2, 0)
torch::Tensor fused_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v, bool causal) {
  return at::scaled_dot_product_attention(q, k, v, /*attn_mask=*/{}, /*dropout_p=*/0.0, causal);
}
#else
torch::Tensor fused_attention(const torch::Tensor&, const torch::Tensor&, const torch::Tensor&, bool) {
  throw std::logic_error("this LibTorch has no cpu attention");
}
#endif

#if FFN_TORCH_AT_LEAST(2, 6)
void fused_adamw(const std::vector<torch::Tensor>& parameters, const std::vector<torch::Tensor>& gradients,
                 const std::vector<torch::Tensor>& means, const std::vector<torch::Tensor>& squares, const FusedAdamW& update) {
  const std::vector<torch::Tensor> steps(parameters.size(), update.step);
  at::_fused_adamw_(parameters, gradients, means, squares, /*max_exp_avg_sqs=*/{}, steps, update.rate, update.beta1, update.beta2,
                    update.weight_decay, update.epsilon, /*amsgrad=*/false, /*maximize=*/false, update.divisor, update.halted);
}
#else
void fused_adamw(const std::vector<torch::Tensor>&, const std::vector<torch::Tensor>&, const std::vector<torch::Tensor>&,
                 const std::vector<torch::Tensor>&, const FusedAdamW&) {
  throw std::logic_error("this LibTorch has no fused AdamW");
}
#endif

ProductPrecision::ProductPrecision(bool wanted, const torch::Device& device) : device_(device.type()), before_(lowered(device_)) {
  if (wanted != before_) set_lowered(device_, wanted);
}
bool ProductPrecision::is_lowered(const torch::Device& device) { return lowered(device.type()); }
ProductPrecision::~ProductPrecision() {
  if (lowered(device_) != before_) set_lowered(device_, before_);
}

}  // namespace ffn
