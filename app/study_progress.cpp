// A study's state while it runs, for a display that is redrawn: each variant with its interval and its curve. No verdicts: a
// look at them would have to be paid for.
#include <algorithm>
#include <cmath>

#include "ffn/base/text.hpp"
#include "ffn/compare/each.hpp"
#include "ffn/report/answer_tables.hpp"
#include "ffn/report/canvas.hpp"
#include "ffn/report/cells.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/interval_bar.hpp"
#include "ffn/report/layout.hpp"
#include "ffn/report/series.hpp"
#include "study_display.hpp"

namespace ffn::app {

namespace {

constexpr int kMostRangeBar = 25, kLeastRangeBar = 11, kSparkline = 12;
constexpr std::size_t kMostRows = 12;

struct Range {
  double low = INFINITY, high = -INFINITY;

  void take(double x) {
    if (std::isfinite(x)) {
      low = std::min(low, x);
      high = std::max(high, x);
    }
  }
  bool is_known() const { return low <= high; }
};

Range range_of_centres(const Comparison& c) {
  Range range;
  for_each_group(c, [&](const Facet&, const GroupResult& group) {
    if (const auto e = report::estimate_of(group, report::range_of(c.metric))) {
      for (const double x : {e->low, e->centre, e->high}) range.take(x);
    }
  });
  return range;
}

/// Curves as rows of blocks, all on one scale.
class Sparklines {
 public:
  explicit Sparklines(const report::CurveSet* set) : set_(set), log_(set && report::spans_decades(*set)) {
    if (!set) return;
    for (const auto& [group, curves] : set->groups) {
      for (const auto& point : curves.points) range_.take(height(point));
    }
  }
  bool is_empty() const { return !range_.is_known(); }
  std::string of(const GroupResult& group) const {
    const auto found = set_->groups.find(&group);
    std::vector<double> values;
    for (const auto step : set_->steps) {  // a place per step, whoever has come that far
      const auto at =
          std::find_if(found->second.points.begin(), found->second.points.end(), [step](const auto& point) { return point.step == step; });
      values.push_back(at == found->second.points.end() ? NAN : height(*at));
    }
    return sparkline(values, range_.low, range_.high, kSparkline);
  }

 private:
  double height(const report::CurvePoint& point) const { return log_ ? std::log(point.centre) : point.centre; }

  const report::CurveSet* set_;
  bool log_;
  Range range_;
};

// The ends of the axis that all bars are on, above them.
std::string axis_header(const Range& range, int columns) {
  const auto text = [](double x) { return x == 0 ? "0" : shown_number(x, 2); };
  const std::string low = text(range.low), high = text(range.high);
  const int between = columns - static_cast<int>(display_width(low) + display_width(high));
  return between > 0 ? low + std::string(static_cast<std::size_t>(between), ' ') + high : "";
}

Table standing_table(const Comparison& c, const Sparklines& curves, const std::string& curve_name, int bar, bool with_curves) {
  AnswerTable table{"", key_columns(c), group_rows(c)};
  table.rows.resize(std::min(table.rows.size(), kMostRows));
  for (auto& row : table.rows) row.pair = nullptr;  // nothing is judged yet
  const auto range = range_of_centres(c);
  const IntervalAxis axis(range.low, range.high, std::max(1, bar));
  const auto add = [&](const std::string& header, Align align, auto&& of) {
    table.columns.push_back({Shows::other, header, align, [of](const AnswerRow& row) { return std::string(of(*row.group)); }});
  };
  add("runs", Align::right, [](const GroupResult& g) { return std::to_string(g.num_over()); });
  add(c.metric, Align::right, [&](const GroupResult& g) { return centre_text(c, g); });
  const auto bar_of = [&](const GroupResult& g) {
    const auto e = report::estimate_of(g, report::range_of(c.metric));
    return e && std::isfinite(e->centre) ? axis.bar({e->centre, e->low, e->high}) : "";
  };
  if (bar > 0) add(axis_header(range, bar), Align::left, bar_of);
  if (with_curves) add(curve_name, Align::left, [&](const GroupResult& g) { return curves.of(g); });
  return table.plain();
}

}  // namespace

std::string progress_text(const Comparison& c, const report::CurveSet* curves, int width) {
  const Sparklines lines(curves);
  const std::string name = curves ? curves->metric : "";
  const int left = width - 3 - widest_line(standing_table(c, lines, name, 0, false).terminal_text(false));
  const int curve = std::max(kSparkline, static_cast<int>(name.size())) + 2;
  const bool with_curves = !lines.is_empty() && left >= kLeastRangeBar + curve, has_range = range_of_centres(c).is_known();
  const int room = left - (with_curves ? curve : 0), bar = has_range && room >= kLeastRangeBar ? std::min(kMostRangeBar, room) : 0;
  const Table table = standing_table(c, lines, name, bar, with_curves);
  if (!has_room(table, width - 1)) return "";  // stacked it would fill the screen that it is drawn over
  const std::string shown = "so far: " + c.metric + ", " + report::estimate_name(c) + (bar > 0 ? ", in numbers and as a bar" : "") +
                            (with_curves ? "; " + name + " over the steps" : "") + "\n";
  std::string out = wrapped(shown, width - 1) + laid_out(table, width - 1, false);
  const std::size_t groups = group_rows(c).size();
  if (groups > kMostRows) out += "… and " + std::to_string(groups - kMostRows) + " more\n";
  return out;
}

}  // namespace ffn::app
