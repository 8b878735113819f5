// A comparison as tables for people.
#pragma once

#include <string>

#include "ffn/compare/compare.hpp"

namespace ffn::app {

enum class TableForm { terminal, markdown, csv };

/// A table of the groups and one of the pairs with their verdicts, then what it comes to in words. Tables for a terminal
/// leave out the less important columns that do not fit into `width`; 0 is as wide as it takes.
std::string comparison_text(const Comparison& comparison, TableForm form, bool color, int width = 0);

/// The groups alone, in few columns, cut to `width` columns and a dozen rows: for a display that is drawn over.
std::string standing_text(const Comparison& comparison, int width);

}  // namespace ffn::app
