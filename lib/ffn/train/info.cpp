#include "ffn/train/cohort.hpp"

namespace ffn {

std::string EngineInfo::text() const {
  std::string out = engine + (engine == device ? "" : ", " + device) + (kernel_isa.empty() ? "" : ", " + kernel_isa);
  if (!libtorch.empty()) out += ", LibTorch " + libtorch;
  return out;
}

}  // namespace ffn
