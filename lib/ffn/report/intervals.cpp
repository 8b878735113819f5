// Differences from the reference as bars on one axis: in the page's table row by row, in a file of their own one under the other.
#include <algorithm>
#include <cmath>
#include <memory>

#include "ffn/base/suggest.hpp"
#include "ffn/report/cells.hpp"
#include "ffn/report/charts.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/frame.hpp"
#include "ffn/report/interval_bar.hpp"
#include "ffn/report/series.hpp"

namespace ffn::pictures {

namespace {

/// All pairs' effects on one line, 0 among them: differences in the metric's units, or log ratios. Beside what is finite there is room for
/// an arrow where one goes on for ever; where nothing is finite but 0, the axis has no numbers.
class EffectAxis {
 public:
  EffectAxis(const Comparison& c, double from, double to) : ratios_(c.as_ratios), form_(c.ratio_form), unit_(NumberUnit(c).size()) {
    const auto range = range_of_effects(c);
    has_numbers_ = range.has_numbers();
    if (has_numbers_) axis_ = axis_for({range.low, range.high}, AxisKind::linear, true);
    else axis_ = {range.endless_left ? -1.0 : 0.0, range.endless_right ? 1.0 : 0.0};
    const double margin = 0.03 * (axis_.high - axis_.low);
    make_room_for_arrows(range, axis_.low, axis_.high);
    if (axis_.low == 0) axis_.low = -margin;
    if (axis_.high == 0) axis_.high = margin;
    axis_.from = from;
    axis_.to = to;
    if (has_numbers_) margin_ = ratios_ ? std::log1p(c.min_effect) : c.min_effect;
  }

  double at(double effect) const { return axis_.at(effect); }
  double margin() const { return margin_; }
  double from() const { return axis_.from; }
  double to() const { return axis_.to; }

  // At effects, labelled as tables do it: in the table's unit, in percent, or as factors.
  std::vector<Tick> marks(int count) const {
    std::vector<Tick> out;
    if (!has_numbers_) return {{0, "0"}};
    if (!ratios_) {
      for (const double x : linear_ticks(axis_.low / unit_, axis_.high / unit_, count)) out.push_back({x * unit_, signed_label(x)});
    } else if (form_ == stats::RatioForm::percent) {
      for (const double x : linear_ticks(100 * std::expm1(axis_.low), 100 * std::expm1(axis_.high), count)) {
        if (x > -100) out.push_back({std::log1p(x / 100), signed_label(x) + (x == 0 ? "" : " %")});
      }
    } else {
      const Axis factors{std::exp(axis_.low), std::exp(axis_.high), AxisKind::log10};
      for (const auto& tick : ticks(factors, count)) {
        if (!tick.label.empty())
          out.push_back(
              {std::log(tick.value), tick.value < 1 ? "÷" + tick_label(std::round(1e6 / tick.value) / 1e6) : "×" + tick_label(tick.value)});
      }
    }
    return out;
  }

 private:
  static std::string signed_label(double x) { return (x > 0 ? "+" : "") + tick_label(x); }

  Axis axis_{0, 1};
  bool ratios_, has_numbers_ = true;
  stats::RatioForm form_;
  double unit_, margin_ = 0;
};

bool is_decided(const PairResult& pair) {
  const auto verdict = pair.judgement.verdict;
  return verdict == stats::Verdict::better || verdict == stats::Verdict::worse || verdict == stats::Verdict::no_meaningful_difference;
}

// Zero, the margin, the interval with its ends, and the estimate: hollow where nothing is decided. An end beyond the axis is an arrow.
void draw_bar(Svg& svg, const EffectAxis& axis, const PairResult& pair, std::size_t series, double top, double height) {
  const double middle = top + height / 2;
  if (axis.margin() > 0) svg.rect(axis.at(-axis.margin()), top, axis.at(axis.margin()) - axis.at(-axis.margin()), height, "margin");
  svg.line(axis.at(0), top, axis.at(0), top + height, "zero");
  const auto effect = effect_of(pair);
  if (!effect) return;
  svg.open(series_class(series));
  const DrawnInterval drawn(*effect, 0);
  const double low = axis.at(drawn.low), high = axis.at(drawn.high);
  svg.line(low, middle, high, middle, "t");
  const auto end = [&](double x, double limit, double way) {
    if (std::isfinite(limit)) svg.line(x, middle - 4, x, middle + 4, "t");
    else
      svg.raw("<path class=\"t\" d=\"M" + px(x - way * 5) + " " + px(middle - 4) + "L" + px(x) + " " + px(middle) + "L" + px(x - way * 5) +
              " " + px(middle + 4) + "\"/>");
  };
  const bool has_ends = drawn.endless || !effect->empty();
  if (has_ends && drawn.has_low_end) end(low, drawn.low, -1);
  if (has_ends && drawn.has_high_end) end(high, drawn.high, 1);
  if (!drawn.endless) svg.marker(marker_of(series), axis.at(effect->size), middle, 8, !is_decided(pair));
  svg.close();
}

std::string direction_left(const Comparison& c) { return std::string("← ") + (c.higher_is_better ? "worse" : "better"); }
std::string direction_right(const Comparison& c) { return std::string(c.higher_is_better ? "better" : "worse") + " →"; }

struct BarRow {
  std::string label;
  const PairResult* pair;  ///< null: the reference
  std::size_t series = 0;
};

std::vector<BarRow> interval_rows(const Comparison& c, const SeriesList& series) {
  std::vector<BarRow> rows;
  for (const auto& facet : c.facets) {
    const std::string title = facet_title(c, facet);
    if (c.facets.size() > 1 && !facet.pairs.empty()) rows.push_back({title, nullptr});
    for (const auto& pair : facet.pairs) rows.push_back({series.name(series.index(pair.value)), &pair, series.index(pair.value)});
  }
  return rows;
}

constexpr double kEdge = 8, kBetweenLabels = 6;

struct PlacedTick {
  double at, middle;  ///< of its stroke, and of its label
  std::string label;
};

// As many as have room for their labels side by side, within 0 to `width`: about four, else fewer.
std::vector<PlacedTick> placed_ticks(const EffectAxis& axis, double width) {
  std::vector<PlacedTick> out;
  for (int count = 4; count > 0; --count) {
    out.clear();
    double free_from = 0;
    bool touch = false;
    for (const auto& tick : axis.marks(count)) {
      const double at = axis.at(tick.value), half = measured_width(tick.label) / 2;
      const double middle = std::clamp(at, half, std::max(half, width - half));
      touch = touch || middle - half < free_from;
      if (middle - half < free_from) continue;
      free_from = middle + half + kBetweenLabels;
      out.push_back({at, middle, tick.label});
    }
    if (!touch) break;
  }
  return out;
}

}  // namespace

bool has_effects(const Comparison& c) {
  const auto has_effect = [](const PairResult& pair) { return effect_of(pair).has_value(); };
  return std::any_of(c.facets.begin(), c.facets.end(),
                     [&](const Facet& facet) { return std::any_of(facet.pairs.begin(), facet.pairs.end(), has_effect); });
}

std::function<std::string(const PairResult&, const std::string&)> interval_bars(const Comparison& c, double width) {
  return [&c, width, series = SeriesList(c), axis = EffectAxis(c, kEdge, width - kEdge), unit = NumberUnit(c).size()](
             const PairResult& pair, const std::string& id) {
    const std::string text =
        shown_value(c, pair.value) + " against " + shown_value(c, pair.reference) + ": " + difference_text(c, pair, unit);
    Svg svg(width, 22, id, text, std::string(stats::to_string(pair.judgement.verdict)));
    draw_bar(svg, axis, pair, series.index(pair.value), 0, 22);
    return svg.element();
  };
}

std::string interval_axis(const Comparison& c, double width, const std::string& id) {
  const EffectAxis axis(c, kEdge, width - kEdge);
  Svg svg(width, 34, id, "Axis of the differences", direction_left(c) + ", " + direction_right(c));
  svg.text(0, 12, direction_left(c), "q");
  svg.text(width, 12, direction_right(c), "q", Anchor::end);
  for (const auto& tick : placed_ticks(axis, width)) {
    svg.line(tick.at, 30, tick.at, 34, "ax");
    svg.text(tick.middle, 27, tick.label, "q", Anchor::middle);
  }
  return svg.element();
}

std::optional<Figure> interval_figure(const Comparison& c) {
  if (!has_effects(c)) return std::nullopt;
  const auto series = std::make_shared<SeriesList>(c);
  Figure out;
  out.id = "intervals";
  out.heading = "Differences from " + shown_value(c, c.reference);
  out.reading = "Mark: the typical difference; bar: its " + format_level(1 - c.alpha) +
                " interval. A bar clear of the upright line at 0 is a difference; a hollow mark is undecided.";
  out.panels.push_back({"", [&c, series](const Form& form, const std::string& style) {
                          const auto rows = interval_rows(c, *series);
                          double labels = 0, texts = 0;
                          const double unit = NumberUnit(c).size();
                          for (const auto& row : rows) {
                            labels = std::max(labels, text_width(row.label));
                            if (row.pair)
                              texts = std::max(texts, text_width(difference_text(c, *row.pair, unit) + " · " +
                                                                 std::to_string(row.pair->paired.num_seeds) + " seeds"));
                          }
                          labels = std::min(labels, 170.0) + 10;
                          const double top = 40, height = 24 * static_cast<double>(rows.size());
                          Svg svg(form, top + height + 8, "Differences from " + shown_value(c, c.reference), short_caption(c));
                          const EffectAxis axis(c, labels, std::max(labels + 120, form.width - texts - 12));
                          svg.text(axis.from(), 12, direction_left(c), "q");
                          svg.text(axis.to(), 12, direction_right(c), "q", Anchor::end);
                          for (const auto& tick : placed_ticks(axis, form.width)) {
                            svg.line(tick.at, 34, tick.at, top + height, "gr");
                            svg.text(tick.middle, 28, tick.label, "q", Anchor::middle);
                          }
                          double y = top;
                          for (const auto& row : rows) {
                            svg.text(0, y + 16, fitted_text(row.label, row.pair ? labels - 6 : form.width), row.pair ? "" : "b");
                            if (row.pair) {
                              draw_bar(svg, axis, *row.pair, row.series, y, 24);
                              svg.text(axis.to() + 10, y + 16,
                                       difference_text(c, *row.pair, unit) + " · " + std::to_string(row.pair->paired.num_seeds) + " seeds",
                                       "q");
                            }
                            y += 24;
                          }
                          return svg.element(style);
                        }});
  return out;
}

}  // namespace ffn::pictures
