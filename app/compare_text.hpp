// A comparison as tables for people.
#pragma once

#include <string>

#include "ffn/compare/compare.hpp"
#include "ffn/report/curves.hpp"

namespace ffn::app {

enum class TableForm { terminal, markdown, csv };

struct CompareView {
  TableForm form = TableForm::terminal;
  bool details = false;  ///< also everything that the verdicts rest on; Markdown and CSV always have it
  bool explain = false;  ///< also what the words mean
  bool color = false;
  int width = 80;  ///< columns; 0 is as wide as it takes
};

/// The answer in a sentence or two, then a short table.
std::string comparison_text(const Comparison& comparison, const CompareView& view);

/// What the table is of, and the table: one line a variant.
std::string short_form(const Comparison& comparison, const CompareView& view);

/// One row per group, numbers as they are, for other programs.
std::string comparison_csv(const Comparison& comparison);

/// The groups alone, a dozen of them, with their intervals as bars and, where there are `curves`, how they went: for a display that is
/// drawn over.
std::string standing_text(const Comparison& comparison, const pictures::CurveSet* curves, int width);

}  // namespace ffn::app
