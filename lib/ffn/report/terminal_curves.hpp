// Learning curves for a terminal: the charts, and the key below them.
#pragma once

#include <string>

#include "ffn/report/curves.hpp"

namespace ffn::report {

/// The drawing: a chart per facet, and a table with each variant's letter and where its curve stands at its last step.
std::string curves_text(const Comparison& comparison, const CurveSet& set, int width, bool color);

}  // namespace ffn::report
