// A study that trains, as a display that is drawn over.
#pragma once

#include <string>

#include "ffn/compare/compare.hpp"
#include "ffn/report/curves.hpp"

namespace ffn::app {

/// The groups alone, a dozen of them, with their intervals as bars and, where there are `curves`, how they went.
std::string progress_text(const Comparison& comparison, const pictures::CurveSet* curves, int width);

}  // namespace ffn::app
