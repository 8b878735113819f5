// What is known of a study while it runs, for a display that is drawn over: each variant with its interval and its curve. No verdicts: a
// look at them would have to be paid for.
#include <algorithm>
#include <cmath>

#include "ffn/base/utf8.hpp"
#include "ffn/report/canvas.hpp"
#include "ffn/report/cells.hpp"
#include "ffn/report/fit.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/interval_bar.hpp"
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
  for (const auto& facet : c.facets) {
    for (const auto& group : facet.groups) {
      if (const auto e = pictures::estimate_of(group, pictures::range_of(c.metric))) {
        range.take(e->low);
        range.take(e->centre);
        range.take(e->high);
      }
    }
  }
  return range;
}

/// Curves as rows of blocks, all on one scale.
class Sparklines {
 public:
  explicit Sparklines(const pictures::CurveSet* set) : set_(set), log_(set && pictures::spans_decades(*set)) {
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
    return sparkline(values, range_.low, range_.high, kSparkline, process_charset());
  }

 private:
  double height(const pictures::CurvePoint& point) const { return log_ ? std::log(point.centre) : point.centre; }

  const pictures::CurveSet* set_;
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
  const auto range = range_of_centres(c);
  std::vector<Column> columns;
  for (const auto& [key, value] : c.facets.at(0).keys) columns.push_back({shown_key(c, key), Align::right});
  columns.push_back({shown_key(c, c.by), Align::left});
  columns.push_back({"runs", Align::right});
  columns.push_back({c.metric, Align::right});
  if (bar > 0) columns.push_back({axis_header(range, bar), Align::left});
  if (with_curves) columns.push_back({curve_name, Align::left});
  Table table(columns);
  const IntervalAxis axis(range.low, range.high, std::max(1, bar));
  for (const auto& facet : c.facets) {
    for (const auto& g : facet.groups) {
      if (table.num_rows() == kMostRows) return table;
      std::vector<std::string> row;
      for (const auto& [key, value] : facet.keys) row.push_back(shown_value(c, key, value));
      row.insert(row.end(), {shown_value(c, g.value), std::to_string(g.num_over()), centre_text(c, g)});
      const auto e = pictures::estimate_of(g, pictures::range_of(c.metric));
      if (bar > 0) row.push_back(e && std::isfinite(e->centre) ? axis.bar({e->centre, e->low, e->high}) : "");
      if (with_curves) row.push_back(curves.of(g));
      table.add_row(row);
    }
  }
  return table;
}

}  // namespace

std::string progress_text(const Comparison& c, const pictures::CurveSet* curves, int width) {
  const Sparklines lines(curves);
  const std::string name = curves ? curves->metric : "";
  const int left = width - 3 - widest_line(standing_table(c, lines, name, 0, false).terminal_text(false));
  const int curve = std::max(kSparkline, static_cast<int>(name.size())) + 2;
  const bool with_curves = !lines.is_empty() && left >= kLeastRangeBar + curve, has_range = range_of_centres(c).is_known();
  const int room = left - (with_curves ? curve : 0), bar = has_range && room >= kLeastRangeBar ? std::min(kMostRangeBar, room) : 0;
  const Table table = standing_table(c, lines, name, bar, with_curves);
  if (!fits(table, width - 1)) return "";  // stacked it would fill the screen that it is drawn over
  const std::string shown = "so far: " + c.metric + ", " + pictures::estimate_name(c) + (bar > 0 ? ", in numbers and as a bar" : "") +
                            (with_curves ? "; " + name + " over the steps" : "") + "\n";
  std::string out = wrapped(shown, width - 1) + fitted(table, width - 1, false);
  std::size_t groups = 0;
  for (const auto& facet : c.facets) groups += facet.groups.size();
  if (groups > kMostRows) out += "… and " + std::to_string(groups - kMostRows) + " more\n";
  return out;
}

}  // namespace ffn::app
