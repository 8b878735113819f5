// LibTorch's side of the boundary: the shared library that load.cpp opens.
#include <cstring>

#include "ffn/core/error.hpp"
#include "ffn/engine/interface.hpp"
#include "ffn/nn/torch.hpp"
#include "ffn/torch/bench.hpp"
#include "ffn/torch/sampler.hpp"

// OpenBLAS's thread pool does not follow OpenMP's setting. Weak: another BLAS has no such function.
extern "C" {
__attribute__((weak)) void openblas_set_num_threads(int);
__attribute__((weak)) char* openblas_get_config();
__attribute__((weak)) char* openblas_get_corename();
}

namespace ffn {
namespace {

class LoadedLibTorch final : public LibTorch {
 public:
  LoadedLibTorch() {
    // One worker per core, one thread per worker; results then do not depend on the machine's load either.
    at::set_num_threads(1);
    at::set_num_interop_threads(1);
    if (openblas_set_num_threads) openblas_set_num_threads(1);
    // Adam's second moment of a converged run sinks into subnormal numbers, which some processors compute slowly.
    at::globalContext().setFlushDenormal(true);
  }

  LibTorchInfo info() const override {
    std::string blas = "LibTorch's own";
    if (openblas_get_config) blas = std::string(openblas_get_config()) + " / " + (openblas_get_corename ? openblas_get_corename() : "?");
    return {TORCH_VERSION, blas};
  }

  void set_log(std::function<void(LogLevel, const std::string&)> log) override {
    route_torch_warnings([log = std::move(log)](const std::string& text) {
      // Parameters are views of one row per run, so their gradients are strided on purpose.
      const bool expected = text.find("gradient layout contract") != std::string::npos;
      log(expected ? LogLevel::debug : LogLevel::warning, text);
    });
  }

  void sample(const RunConfig& config, const TensorFile& weights, const SampleRequest& request,
              const std::function<void(const std::string&)>& emit) override {
    readable([&] { sample_text(config, weights, request, emit); });
  }

  void bench(const BenchRequest& request, const std::function<void(const Measurement&)>& emit) override {
    readable([&] { run_bench(request, emit); });
  }

 private:
  // c10::Error::what() is a page of addresses; its first part says what happened.
  template <class F>
  static void readable(const F& f) {
    try {
      f();
    } catch (const c10::Error& error) {
      throw SystemError(std::string("LibTorch: ") + error.what_without_backtrace());
    }
  }
};

}  // namespace
}  // namespace ffn

extern "C" __attribute__((visibility("default"))) ffn::LibTorch* ffn_create_libtorch(const char* interface_version) {
  if (std::strcmp(interface_version, ffn::kInterfaceVersion) != 0) return nullptr;
  return new ffn::LoadedLibTorch;  // lives until the process ends: tearing LibTorch down earlier gains nothing
}
