// A comparison as tables for people.
#pragma once

#include <string>

#include "ffn/study/compare.hpp"

namespace ffn::app {

enum class TableForm { terminal, markdown, csv };

/// Per facet a table of the groups and one of the pairs with their verdicts, then a line that sums up.
std::string comparison_text(const Comparison& comparison, TableForm form, bool color);

/// The groups alone, in few columns, cut to `width` columns and a dozen rows: for a display that is drawn over.
std::string standing_text(const Comparison& comparison, int width);

}  // namespace ffn::app
