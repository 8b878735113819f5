// The tables of an answer, built once: every format writes them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ffn/compare/compare.hpp"
#include "ffn/report/table.hpp"

namespace ffn {

/// A group with its pair against the reference, if it has one; of a further pair and of a contrast, that alone.
struct AnswerRow {
  const Facet* facet;
  const GroupResult* group;
  const PairResult* pair;
  bool starts_facet = false;
  const ContrastResult* contrast = nullptr;
};

enum class Shows { key, difference, verdict, seeds, other };

struct AnswerColumn {
  Shows shows;
  std::string header;
  Align align;
  std::function<std::string(const AnswerRow&)> text;
};

/// The comparison outlives it. A row that is better or worse is highlighted.
struct AnswerTable {
  std::string caption;
  std::vector<AnswerColumn> columns;
  std::vector<AnswerRow> rows;

  /// If `repeats` is false, as in a terminal, without repeated keys of a facet.
  Table plain(bool repeats = true) const;
};

/// The keys of the facet, unless `of_facets` is false, and the value of `by`.
std::vector<AnswerColumn> key_columns(const Comparison& comparison, bool of_facets = true);
/// A row for each group.
std::vector<AnswerRow> group_rows(const Comparison& comparison);

/// One row a variant. With a column of seeds where their numbers differ, or `seeds` asks for it, as in a file.
AnswerTable short_table(const Comparison& comparison, bool seeds = false);

/// Further pairs (compare.pairs), and main effects with interactions (compare.interaction), where there are any.
std::vector<AnswerTable> more_tables(const Comparison& comparison);

/// The facts behind the verdicts: runs and costs; tests, if there are pairs.
std::vector<AnswerTable> detailed_tables(const Comparison& comparison);

}  // namespace ffn
