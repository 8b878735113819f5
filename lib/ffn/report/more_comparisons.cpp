#include "ffn/report/more_comparisons.hpp"

#include <algorithm>

#include "ffn/report/answer_words.hpp"
#include "ffn/report/cells.hpp"
#include "ffn/report/format.hpp"

namespace ffn {

namespace {

// "worse than at 1": an interaction compares differences, not variants.
std::string verdict_of(const ContrastResult& contrast) {
  const std::string word = stats::to_string(contrast.pair.judgement.verdict);
  return contrast.is_main_effect() || !is_different(contrast.pair) ? word : word + " than at " + contrast.against;
}

}  // namespace

std::optional<CaptionedTable> further_pairs_table(const Comparison& c) {
  std::vector<Column> columns;
  for (const auto& [key, value] : c.facets.at(0).keys) columns.push_back({shown_key(c, key), Align::right});
  columns.insert(
      columns.end(),
      {{shown_key(c, c.by), Align::left}, {"against", Align::left}, {difference_name(c), Align::right}, {"verdict", Align::left}});
  CaptionedTable out{"Further pairs, difference from the value that each is held against:", Table(std::move(columns))};
  const NumberUnit unit(c);
  for (const auto& facet : c.facets) {
    for (const auto& pair : facet.further_pairs) {
      std::vector<std::string> row;
      for (const auto& [key, value] : facet.keys) row.push_back(shown_value(c, key, value));
      row.insert(row.end(), {shown_value(c, pair.value), shown_value(c, pair.reference), difference_text(c, pair, unit.size()),
                             stats::to_string(pair.judgement.verdict)});
      out.table.add_row(std::move(row));
      if (is_different(pair)) out.table.highlight_last_row();
    }
  }
  return out.table.num_rows() > 0 ? std::optional(std::move(out)) : std::nullopt;
}

std::string contrast_name(const Comparison& c, const ContrastResult& contrast) {
  const std::string key = shown_key(c, c.interaction_key);
  return contrast.is_main_effect() ? "mean over " + key : key + " " + contrast.at + " against " + contrast.against;
}

std::optional<CaptionedTable> contrasts_table(const Comparison& c) {
  if (c.contrasts.empty()) return std::nullopt;
  const std::string key = shown_key(c, c.interaction_key);
  const bool ratios = c.contrasts[0].pair.paired.values == stats::PairedValues::log_ratio;
  CaptionedTable out{"Does the answer depend on " + key + "? " + (ratios ? "Ratio to " : "Difference from ") + shown_value(c, c.reference) +
                         ", its mean and its change:",
                     Table({{shown_key(c, c.by), Align::left},
                            {"contrast", Align::left},
                            {ratios ? "ratio" : "difference", Align::right},
                            {"verdict", Align::left}})};
  const NumberUnit unit(c);
  for (const auto& contrast : c.contrasts) {
    out.table.add_row({shown_value(c, contrast.pair.value), contrast_name(c, contrast), difference_text(c, contrast.pair, unit.size()),
                       verdict_of(contrast)});
    if (is_different(contrast.pair)) out.table.highlight_last_row();
  }
  return out;
}

std::string sure_interactions(const Comparison& c) {
  std::vector<std::string> values, names;
  for (const auto& contrast : c.contrasts) {
    const auto& value = contrast.pair.value;
    if (contrast.is_main_effect() || !is_different(contrast.pair) || (!values.empty() && values.back() == value)) continue;
    values.push_back(value);
    names.push_back(names.empty() ? answer_detail::name_of(c, value) : shown_value(c, value));
  }
  if (names.empty()) return "";
  return "how " + answer_detail::enumeration(names) + (names.size() == 1 ? " differs from " : " differ from ") +
         shown_value(c, c.reference) + " depends on " + shown_key(c, c.interaction_key);
}

bool has_unsure_interactions(const Comparison& c) {
  return !c.contrasts.empty() && std::all_of(c.contrasts.begin(), c.contrasts.end(), [](const ContrastResult& contrast) {
    return contrast.is_main_effect() || contrast.pair.judgement.verdict == stats::Verdict::undecided;
  });
}

}  // namespace ffn
