#include "ffn/kernels/kernels.hpp"

#include "ffn/kernels/isa.hpp"

namespace ffn {

namespace {

Kernels best_kernels() {
#ifdef FFN_HAVE_X86_LEVELS
  switch (best_isa()) {
    case Isa::x86_64_v4:
      return x86_64_v4::kernel_rows();
    case Isa::x86_64_v3:
      return x86_64_v3::kernel_rows();
    case Isa::baseline:
      break;
  }
#endif
  return baseline::kernel_rows();
}

const Kernels chosen = best_kernels();  // before main: a step asks some fifty times

}  // namespace

const Kernels& kernels() { return chosen; }

}  // namespace ffn
