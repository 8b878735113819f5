// Subnormal numbers count as zero from now on, in this thread and those that it starts: Adam's second moment of a converged run
// sinks into them, and some processors compute them slowly.
#pragma once

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace ffn {

inline void flush_subnormals() {
#if defined(__SSE2__)
  constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
  _mm_setcsr(_mm_getcsr() | kFlushToZero | kDenormalsAreZero);
#endif
}

}  // namespace ffn
