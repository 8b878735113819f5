// An inspection as one HTML file, and a trace likewise.
#pragma once

#include "ffn/inspect/trace.hpp"

namespace ffn::inspect {

/// Further texts of a page. They are escaped.
struct PageFacts {
  std::string title;  ///< the run
  std::string layer;  ///< "2 blocks: positionwise 64 → 256 → 64, gelu"
  std::string version, written;
};

std::string page(const Inspection& inspection, const PageFacts& facts);
std::string trace_page(const Trace& trace, const Inputs& inputs, const PageFacts& facts);

}  // namespace ffn::inspect
