// A comparison as tables for people.
#pragma once

#include <string>

#include "ffn/study/compare.hpp"

namespace ffn::app {

enum class TableForm { terminal, markdown, csv };

/// Per facet a table of the groups and one of the pairs with their verdicts, then a line that sums up.
std::string comparison_text(const Comparison& comparison, TableForm form, bool color);

}  // namespace ffn::app
