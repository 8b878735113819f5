// A comparison in the formats that people and programs read: each is one file, export_*.cpp, and all are fed by the same result.
#pragma once

#include <string>

#include "ffn/base/json.hpp"
#include "ffn/compare/compare.hpp"
#include "ffn/report/page.hpp"

namespace ffn {

struct TerminalFormat {
  bool details = false, explain = false;  ///< as document_of() has them
  bool color = false;
  int width = 80;  ///< columns; 0 is as wide as it takes
};

/// The answer in a sentence or two, then a short table, with intervals as bars where there is room.
std::string export_terminal(const Comparison& comparison, const TerminalFormat& format);

/// With all details.
std::string export_markdown(const Comparison& comparison, bool explain = false);

/// One row per group, numbers in full.
std::string export_csv(const Comparison& comparison);

/// comparison_json() with the answer in words as "answer", and what all runs share as "conditions".
Json answered_json(const Comparison& comparison);

/// The document of answered_json().
std::string export_json(const Comparison& comparison);

/// The short table (booktabs), with what has to stand in the preamble as a comment.
std::string export_latex(const Comparison& comparison);

/// A page with charts that needs nothing from elsewhere. `data` is comparison_data(). A `live` page loads itself again every few seconds.
std::string export_html(const Comparison& comparison, const Json& data, const report::ReportFacts& facts, bool live = false);

}  // namespace ffn
