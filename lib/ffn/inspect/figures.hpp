// The figures of an inspection. Internal to ffn/inspect. They refer to it while they are drawn.
#pragma once

#include "ffn/inspect/trace.hpp"
#include "ffn/report/figure.hpp"

namespace ffn::inspect {

/// "Block 0", in a mixture "Block 0, expert 3".
std::string part_title(const Inspection& inspection, std::size_t block, std::size_t part);

/// By the section of the page that they stand in.
struct InspectionFigures {
  std::vector<pictures::Figure> of_experts, of_neurons, of_attention;
};
InspectionFigures figures_of(const Inspection& inspection);

/// The steps of every block, a panel each.
std::vector<pictures::Figure> figures_of(const Trace& trace);

}  // namespace ffn::inspect
