// The engine that trains on the CPU (Trainer). It needs no LibTorch: what that would compute, fused/network.hpp computes.
#pragma once

#include "ffn/engine/interface.hpp"

namespace ffn {

/// One per process.
Engine& cpu_engine();

}  // namespace ffn
