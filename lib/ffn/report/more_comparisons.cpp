#include "ffn/report/more_comparisons.hpp"

#include <algorithm>

#include "ffn/report/answer_words.hpp"
#include "ffn/report/cells.hpp"
#include "ffn/report/format.hpp"

namespace ffn {

namespace {

bool is_different(const PairResult& pair) {
  return pair.judgement.verdict == stats::Verdict::better || pair.judgement.verdict == stats::Verdict::worse;
}

std::string p_text(const PairResult& pair) { return pair.sequential ? "-" : format_significant(pair.judgement.p_holm, 2); }

}  // namespace

std::optional<CaptionedTable> further_pairs_table(const Comparison& c) {
  std::vector<Column> columns;
  for (const auto& [key, value] : c.facets.at(0).keys) columns.push_back({last_segment(key), Align::right});
  columns.insert(columns.end(), {{last_segment(c.by), Align::left}, {"against", Align::left}, {difference_name(c), Align::right}, {"p (corrected)", Align::right}, {"verdict", Align::left}});
  CaptionedTable out{"Further pairs, difference from the value that each is held against:", Table(std::move(columns))};
  const NumberUnit unit(c);
  for (const auto& facet : c.facets) {
    for (const auto& pair : facet.further_pairs) {
      std::vector<std::string> row;
      for (const auto& [key, value] : facet.keys) row.push_back(value);
      row.insert(row.end(), {shown_value(c, pair.value), shown_value(c, pair.reference), difference_text(c, pair, unit.size()), p_text(pair),
                             stats::to_string(pair.judgement.verdict)});
      out.table.add_row(std::move(row));
      if (is_different(pair)) out.table.highlight_last_row();
    }
  }
  return out.table.num_rows() > 0 ? std::optional(std::move(out)) : std::nullopt;
}

std::string contrast_name(const Comparison& c, const ContrastResult& contrast) {
  const std::string key = last_segment(c.interaction_key);
  return contrast.is_main_effect() ? "mean over " + key : key + " " + contrast.at + " against " + contrast.against;
}

std::optional<CaptionedTable> contrasts_table(const Comparison& c) {
  if (c.contrasts.empty()) return std::nullopt;
  const std::string key = last_segment(c.interaction_key);
  CaptionedTable out{"Does the answer depend on " + key + "? " + (c.as_ratios ? "Ratio to " : "Difference from ") + shown_value(c, c.reference) +
                         ": its mean, and its change from " + key + " to " + key + ":",
                     Table({{last_segment(c.by), Align::left}, {"contrast", Align::left}, {difference_name(c), Align::right}, {"p (corrected)", Align::right}, {"verdict", Align::left}})};
  const NumberUnit unit(c);
  for (const auto& contrast : c.contrasts) {
    out.table.add_row({shown_value(c, contrast.pair.value), contrast_name(c, contrast), difference_text(c, contrast.pair, unit.size()),
                       p_text(contrast.pair), stats::to_string(contrast.pair.judgement.verdict)});
    if (is_different(contrast.pair)) out.table.highlight_last_row();
  }
  return out;
}

std::vector<std::string> sure_interactions(const Comparison& c) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < c.contrasts.size();) {
    const std::string& value = c.contrasts[i].pair.value;
    std::vector<std::string> at;
    std::string against;
    for (; i < c.contrasts.size() && c.contrasts[i].pair.value == value; ++i) {
      const auto& contrast = c.contrasts[i];
      if (contrast.is_main_effect() || !is_different(contrast.pair)) continue;
      at.push_back(contrast.at);
      against = contrast.against;
    }
    if (!at.empty())
      out.push_back(answer_detail::name_of(c, value) + "'s difference from " + shown_value(c, c.reference) + " depends on " +
                    last_segment(c.interaction_key) + " (" + answer_detail::enumeration(at) + " against " + against + ")");
  }
  return out;
}

bool has_unsure_interactions(const Comparison& c) {
  return !c.contrasts.empty() && std::all_of(c.contrasts.begin(), c.contrasts.end(), [](const ContrastResult& contrast) {
    return contrast.is_main_effect() || contrast.pair.judgement.verdict == stats::Verdict::undecided;
  });
}

}  // namespace ffn
