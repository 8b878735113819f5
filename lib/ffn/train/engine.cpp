#include "ffn/train/engine.hpp"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "ffn/kernels/isa.hpp"
#include "ffn/train/trainer.hpp"

namespace ffn {

namespace {

class CpuEngine final : public Engine {
 public:
  EngineInfo info() const override { return {"fused", kernel_isa()}; }

  void train(const Cohort& cohort, TrainObserver& observer) override {
    // Adam's second moment of a converged run sinks into subnormal numbers, which some processors compute slowly.
#if defined(__SSE2__)
    constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
    _mm_setcsr(_mm_getcsr() | kFlushToZero | kDenormalsAreZero);
#endif
    Trainer(cohort, observer).train();
  }
};

}  // namespace

Engine& cpu_engine() {
  static CpuEngine engine;
  return engine;
}

}  // namespace ffn
