#include "ffn/train/cuda_graph_torch.hpp"

#ifdef FFN_TORCH_CUDA

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

namespace ffn {

struct StepStream::Impl {
  c10::cuda::CUDAStream stream;
};

StepStream::StepStream(const torch::Device& device) {
  // Not the default stream, which cannot be captured.
  if (device.is_cuda()) impl_ = std::make_unique<Impl>(Impl{c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index())});
}
StepStream::~StepStream() = default;

void StepStream::wait() const {
  if (impl_) impl_->stream.synchronize();
}

struct StepStream::Scope::Guard {
  explicit Guard(const c10::cuda::CUDAStream& stream) : guard(stream) {}
  c10::cuda::CUDAStreamGuard guard;
};

StepStream::Scope::Scope(const StepStream& stream) {
  if (!stream.impl_) return;
  // All that was set up on the default stream has to be there.
  c10::cuda::getDefaultCUDAStream(stream.impl_->stream.device_index()).synchronize();
  guard_ = std::make_unique<Guard>(stream.impl_->stream);
}
StepStream::Scope::~Scope() = default;

namespace {

class CapturedStep final : public StepGraph {
 public:
  CapturedStep(const std::function<void()>& step, const StepStream& stream) {
    constexpr int kWarmUps = 3;  // cuBLAS and the allocator settle, the backward pass included
    for (int i = 0; i < kWarmUps; ++i) step();
    stream.wait();
    graph_.capture_begin();
    try {
      step();
    } catch (...) {
      end_quietly();
      throw;
    }
    graph_.capture_end();
  }
  void replay() override { graph_.replay(); }

 private:
  // A capture that failed has to be ended all the same, which then fails, too.
  void end_quietly() {
    try {
      graph_.capture_end();
    } catch (const std::exception&) {
    }
  }
  at::cuda::CUDAGraph graph_;
};

}  // namespace

std::unique_ptr<StepGraph> capture_step(const std::function<void()>& step, const StepStream& stream, std::string& why_not) {
  if (!stream.impl_) {
    why_not = "steps are captured on a GPU only";
    return nullptr;
  }
  try {
    return std::make_unique<CapturedStep>(step, stream);
  } catch (const c10::Error& error) {
    why_not = error.what_without_backtrace();
  } catch (const std::exception& error) {
    why_not = error.what();
  }
  return nullptr;
}

bool built_with_cuda() { return true; }
std::int64_t num_gpus() { return at::cuda::device_count(); }
std::string gpu_name(std::int64_t index) { return at::cuda::getDeviceProperties(static_cast<c10::DeviceIndex>(index))->name; }
std::int64_t gpu_bytes(std::int64_t index) {
  return static_cast<std::int64_t>(at::cuda::getDeviceProperties(static_cast<c10::DeviceIndex>(index))->totalGlobalMem);
}

}  // namespace ffn

#else

namespace ffn {

struct StepStream::Impl {};
StepStream::StepStream(const torch::Device&) {}
StepStream::~StepStream() = default;
void StepStream::wait() const {}

struct StepStream::Scope::Guard {};
StepStream::Scope::Scope(const StepStream&) {}
StepStream::Scope::~Scope() = default;

std::unique_ptr<StepGraph> capture_step(const std::function<void()>&, const StepStream&, std::string& why_not) {
  why_not = "steps are captured on a GPU only";
  return nullptr;
}

bool built_with_cuda() { return false; }
std::int64_t num_gpus() { return 0; }
std::string gpu_name(std::int64_t) { return {}; }
std::int64_t gpu_bytes(std::int64_t) { return 0; }

}  // namespace ffn

#endif
