// The table that answers a comparison: one row a variant. Every format writes it.
#pragma once

#include <string>
#include <vector>

#include "ffn/compare/compare.hpp"
#include "ffn/report/table.hpp"

namespace ffn {

struct ShortRow {
  const Facet* facet;
  const GroupResult* group;
  const PairResult* pair;         ///< with the reference; null of the reference itself, and where there is none
  std::vector<std::string> keys;  ///< of the facet
  std::string value, hits, centre, difference, verdict, seeds;
  bool starts_facet = false, is_decided = false;
};

struct ShortTable {
  std::string caption;
  std::vector<std::string> key_headers;
  std::string value_header, hits_header, centre_header, difference_header;  ///< no column of hits where all runs got there
  bool has_pairs, same_seeds;  ///< columns of differences and verdicts; all groups have the same seeds, and the caption says how many
  std::vector<ShortRow> rows;

  explicit ShortTable(const Comparison& comparison);
  /// Without repeated keys of a facet where `repeats` is false, as in a terminal; with `seeds` always, as in a file.
  Table plain(bool repeats, bool seeds) const;
};

}  // namespace ffn
