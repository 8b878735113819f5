// A comparison in words and tables, computed once; an exporter (exporter.hpp) writes it in its format.
#pragma once

#include <string>
#include <vector>

#include "ffn/compare/compare.hpp"
#include "ffn/report/table.hpp"

namespace ffn {

/// One part of a document: sentences, a table, a note, or a claim with what came of it.
struct DocumentPart {
  enum class Kind { text, short_table, table, note, claim } kind;
  std::string text = {};
  std::vector<Table> table = {};  ///< one of kind table
  std::string outcome = {};       ///< of a claim, which its text contains
};

/// `details`: everything that the verdicts rest on; `explain`: what the words mean.
std::vector<DocumentPart> document_of(const Comparison& comparison, bool details, bool explain);

}  // namespace ffn
