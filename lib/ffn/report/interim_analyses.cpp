// A sequential design: its interim analyses, and at which of them each verdict stood first.
#include <algorithm>
#include <memory>

#include "ffn/base/suggest.hpp"
#include "ffn/report/cells.hpp"
#include "ffn/report/charts.hpp"
#include "ffn/report/frame.hpp"
#include "ffn/report/series.hpp"

namespace ffn::pictures {

namespace {

struct InterimRow {
  std::string label;
  std::size_t series;
  const PairResult* pair;
};

std::vector<InterimRow> interim_rows(const Comparison& c, const SeriesList& series) {
  std::vector<InterimRow> rows;
  for (const auto& facet : c.facets) {
    const std::string title = facet_title(c, facet);
    for (const auto* pairs : {&facet.pairs, &facet.further_pairs}) {
      for (const auto& pair : *pairs) {
        const std::size_t index = series.index(pair.value);
        const std::string against = pairs == &facet.pairs ? "" : " against " + shown_value(c, pair.reference);
        if (pair.sequential) rows.push_back({(title.empty() ? "" : title + ", ") + series.name(index) + against, index, &pair});
      }
    }
  }
  return rows;
}

/// Seeds of the interim analysis at which its verdict stood first.
std::optional<std::size_t> settled_at(const PairResult& pair) {
  if (!is_settled(pair)) return std::nullopt;
  return pair.judgement.verdict == stats::Verdict::no_meaningful_difference ? pair.sequential->negligible : pair.sequential->different;
}

std::string draw_interim_analyses(const Comparison& c, const std::vector<InterimRow>& rows, const Form& form, const std::string& style) {
  double labels = 0, verdicts = 0;
  for (const auto& row : rows) {
    labels = std::max(labels, text_width(row.label));
    verdicts = std::max(verdicts, text_width(stats::to_string(row.pair->judgement.verdict)));
  }
  std::vector<std::string> parts;
  for (const auto& row : rows) parts.push_back(row.label + ": " + std::string(stats::to_string(row.pair->judgement.verdict)));
  FrameRoom room;
  room.height = 24 * static_cast<double>(rows.size()) + 62;
  room.least_left = std::min(labels, form.width * 0.4) + 12;
  room.y_ticks = false;
  constexpr double kLeastPlot = 110, kBeforeVerdict = 6;
  room.right = std::min(verdicts + 2 * kBeforeVerdict, std::max(96.0, form.width - room.least_left - kLeastPlot));
  Frame frame(form, {"Interim analyses", join(parts, "; ") + ".", "seeds", "comparison"},
              {0, static_cast<double>(c.sequential->maxima.back()) * 1.02}, {0, static_cast<double>(rows.size())}, room);
  for (const auto most : c.sequential->maxima)
    frame.svg.line(frame.x.at(static_cast<double>(most)), frame.top, frame.x.at(static_cast<double>(most)), frame.bottom, "target");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& row = rows[i];
    const double y = frame.top + 24 * (static_cast<double>(i) + 0.5);
    frame.svg.text(0, y + 4, fitted_text(row.label, frame.left - 10));
    frame.svg.open(series_class(row.series));
    const auto settled = settled_at(*row.pair);
    frame.svg.line(frame.left, y, frame.x.at(static_cast<double>(row.pair->sequential->looked_at)), y, "t");
    for (const auto seeds : c.sequential->sample_sizes) {
      if (seeds > row.pair->sequential->looked_at) continue;
      const double x = frame.x.at(static_cast<double>(seeds));
      if (settled && seeds == *settled)
        frame.svg.marker(marker_of(row.series), x, y, 10, false,
                         row.label + ": " + std::string(stats::to_string(row.pair->judgement.verdict)) + " since the interim analysis at " +
                             std::to_string(seeds) + " seeds");
      else frame.svg.line(x, y - 4, x, y + 4, "t");
    }
    frame.svg.close();
    frame.svg.text(frame.right + kBeforeVerdict, y + 4,
                   fitted_text(std::string(stats::to_string(row.pair->judgement.verdict)), room.right - kBeforeVerdict),
                   settled ? "b" : "q");
  }
  return frame.svg.element(style);
}

}  // namespace

std::optional<Figure> interim_figure(const Comparison& c) {
  if (!c.sequential || c.sequential->sample_sizes.empty()) return std::nullopt;
  const SeriesList series(c);
  auto rows = interim_rows(c, series);
  if (rows.empty()) return std::nullopt;
  Figure out;
  out.id = "interim-analyses";
  out.heading = "Interim analyses";
  out.reading =
      "Upright strokes: interim analyses; the mark: where the verdict stood first; the dotted line: the declared maximum of seeds.";
  out.numbers.headers = {"comparison", "seeds analysed", "verdict", "stands since"};
  for (const auto& row : rows) {
    const auto settled = settled_at(*row.pair);
    out.numbers.rows.push_back({{row.label},
                                count_cell(static_cast<double>(row.pair->sequential->looked_at)),
                                {std::string(stats::to_string(row.pair->judgement.verdict))},
                                settled ? count_cell(static_cast<double>(*settled)) : Cell{"-"}});
  }
  constexpr std::size_t kMostRows = 40;
  if (rows.size() > kMostRows) {
    out.notes.push_back("the first " + std::to_string(kMostRows) + " of " + std::to_string(rows.size()) +
                        " comparisons are drawn; the table has all");
    rows.resize(kMostRows);
  }
  out.panels.push_back(
      {"", [&c, rows](const Form& form, const std::string& style) { return draw_interim_analyses(c, rows, form, style); }});
  return out;
}

}  // namespace ffn::pictures
