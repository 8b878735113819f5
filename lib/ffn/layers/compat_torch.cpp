#include "ffn/layers/compat_torch.hpp"

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
  context.setFloat32Precision(at::Float32Backend::CUDA, at::Float32Op::MATMUL,
                              allowed ? at::Float32Precision::TF32 : at::Float32Precision::IEEE);
#else
  context.setAllowTF32CuBLAS(allowed);
#endif
}

}  // namespace ffn
