// Every run a dot, a column per variant; runs of one seed are joined.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "ffn/base/suggest.hpp"
#include "ffn/report/cells.hpp"
#include "ffn/report/charts.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/frame.hpp"
#include "ffn/report/series.hpp"

namespace ffn::pictures {

namespace {

constexpr std::size_t kMostPairs = 60, kMostDots = 200, kRunsWithTips = 400;
constexpr double kDot = 6.6;

/// Runs of a group that have a value, by rank, and those that are over without one.
struct GroupColumn {
  const GroupResult* group;
  std::vector<const GroupRun*> with, without;
};

GroupColumn column_of(const GroupResult& group) {
  GroupColumn out{&group, {}, {}};
  for (const auto& run : group.runs) {
    const bool over = run.state == RunState::done || run.state == RunState::diverged || run.state == RunState::failed;
    if (run.value) out.with.push_back(&run);
    else if (over && group.num_unmeasured == 0) out.without.push_back(&run);
  }
  std::stable_sort(out.with.begin(), out.with.end(), [](const auto* a, const auto* b) { return *a->value < *b->value; });
  return out;
}

/// Dots that would lie on each other go to both sides in turn: no chance is in it.
class Swarm {
 public:
  explicit Swarm(double half_width) : half_width_(half_width) {}

  double offset(double y) {
    const int most = std::max(1, static_cast<int>(half_width_ / kDot));
    for (int k = 0; k <= 2 * most; ++k) {
      const int steps = (k + 1) / 2;
      const double x = (k % 2 == 1 ? 1 : -1) * steps * kDot;
      const bool free =
          std::none_of(placed_.begin(), placed_.end(), [&](const Point& p) { return std::hypot(p.x - x, p.y - y) < kDot - 0.1; });
      if (free || k == 2 * most) {
        placed_.push_back({x, y});
        return x;
      }
    }
    return 0;
  }

 private:
  double half_width_;
  std::vector<Point> placed_;
};

class DistributionPanel {
 public:
  DistributionPanel(const Comparison& c, const PanelGroups& panel, std::shared_ptr<SeriesList> series, std::size_t all_runs)
      : comparison_(c), title_(panel.title), series_(std::move(series)), with_tips_(all_runs <= kRunsWithTips) {
    for (const auto* group : panel.groups) columns_.push_back(column_of(*group));
    for (const auto& column : columns_) any_without_ = any_without_ || !column.without.empty();
  }

  bool empty() const {
    return std::all_of(columns_.begin(), columns_.end(), [](const GroupColumn& c) { return c.with.empty() && c.without.empty(); });
  }

  std::string draw(const Form& form, const std::string& style) const {
    const FrameText text{comparison_.metric + " of every run" + (title_.empty() ? "" : ", " + title_), description(), "",
                         comparison_.metric + (form.log_y ? " (logarithmic)" : "")};
    FrameRoom room;
    room.height = (form.is_wide() ? 320 : 260) + (any_without_ ? 22 : 0);
    room.above = any_without_ ? 22 : 0;
    room.below = 16;
    room.x_ticks = false;
    room.right = 4;
    const std::string without = is_time_metric(comparison_.metric) ? "never" : "lost";
    if (any_without_) room.least_left = text_width(without) + 12;
    Frame frame(form, text, {0, static_cast<double>(columns_.size())}, y_axis(form), room);
    if (any_without_) frame.svg.text(frame.left - 6, lost_y(frame) + 4, without, "q", Anchor::end);
    const auto places = dot_places(frame);
    draw_pairs(frame, places);
    for (std::size_t i = 0; i < columns_.size(); ++i) draw_column(frame, i, places[i]);
    return frame.svg.element(style);
  }

 private:
  using Places = std::map<const GroupRun*, Point>;

  Axis y_axis(const Form& form) const {
    std::vector<double> values;
    for (const auto& column : columns_) {
      for (const auto* run : column.with) values.push_back(*run->value);
      if (const auto estimate = estimate_of(*column.group, range_of(comparison_.metric)))
        values.insert(values.end(), {estimate->centre, estimate->low, estimate->high});
    }
    Axis axis = axis_for(values, form.log_y ? AxisKind::log10 : AxisKind::linear);
    axis.whole = comparison_.metric == "steps_to_target";
    return axis;
  }

  static double lost_y(const Frame& frame) { return frame.top - 14; }
  static double middle_of(const Frame& frame, std::size_t column) { return frame.x.at(static_cast<double>(column) + 0.5); }

  std::vector<Places> dot_places(const Frame& frame) const {
    std::vector<Places> out;
    const double half = (frame.right - frame.left) / static_cast<double>(columns_.size()) * 0.34;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      Places places;
      Swarm swarm(half);
      for (const auto k : evenly(columns_[i].with.size(), kMostDots)) {
        const auto* run = columns_[i].with[k];
        const double y = frame.y.at(*run->value);
        places[run] = {middle_of(frame, i) + swarm.offset(y), y};
      }
      Swarm above(half);
      for (const auto k : evenly(columns_[i].without.size(), kMostDots))
        places[columns_[i].without[k]] = {middle_of(frame, i) + above.offset(0), lost_y(frame)};
      out.push_back(std::move(places));
    }
    return out;
  }

  void draw_pairs(Frame& frame, const std::vector<Places>& places) const {
    for (std::size_t i = 0; i + 1 < columns_.size(); ++i) {
      if (places[i].size() > kMostPairs || places[i + 1].size() > kMostPairs) continue;
      std::map<std::int64_t, const GroupRun*> right;
      for (const auto& [run, place] : places[i + 1]) right.insert({run->seed, run});
      for (const auto* run : in_order(places[i])) {
        const auto other = right.find(run->seed);
        if (other == right.end()) continue;
        const Point a = places[i].at(run), b = places[i + 1].at(other->second);
        frame.svg.line(a.x, a.y, b.x, b.y, b.y < a.y ? "pair up" : "pair");
      }
    }
  }

  // By seed: a map of pointers has another order in each process.
  static std::vector<const GroupRun*> in_order(const Places& places) {
    std::vector<const GroupRun*> out;
    for (const auto& [run, place] : places) out.push_back(run);
    std::sort(out.begin(), out.end(), [](const auto* a, const auto* b) { return a->seed < b->seed; });
    return out;
  }

  void draw_column(Frame& frame, std::size_t index, const Places& places) const {
    const auto& column = columns_[index];
    const std::size_t series = series_->index(column.group->value);
    const double middle = middle_of(frame, index), width = (frame.right - frame.left) / static_cast<double>(columns_.size());
    frame.svg.open(series_class(series));
    std::string dots;
    for (const auto* run : in_order(places)) {
      const Point at = places.at(run);
      const bool has_value = run->value.has_value();
      if (with_tips_ || !has_value) {
        frame.svg.marker(has_value ? marker_of(series) : 4, at.x, at.y, 4.8, false,
                         "seed " + std::to_string(run->seed) + ": " +
                             (has_value ? format_significant(*run->value, 4) : std::string("no value (") + to_string(run->state) + ")"));
      } else {
        dots += "M" + px(at.x) + " " + px(at.y) + "h0";
      }
    }
    if (!dots.empty()) frame.svg.raw("<path class=\"dots\" d=\"" + dots + "\"/>");
    if (const auto estimate = estimate_of(*column.group, range_of(comparison_.metric))) {
      // Half of the runs may be lost, and with them the median.
      const auto place = [&](double x) { return std::isfinite(x) ? frame.y.at(x) : lost_y(frame); };
      const double y = place(estimate->centre), half = std::min(width * 0.42, 60.0);
      frame.svg.line(middle - half, y, middle + half, y, "centre");
      if (estimate->low < estimate->high) {
        frame.svg.line(middle, place(estimate->low), middle, place(estimate->high), "centre");
        for (const double end : {estimate->low, estimate->high}) frame.svg.line(middle - 5, place(end), middle + 5, place(end), "centre");
      }
    }
    frame.svg.text(middle, frame.bottom + 16, fitted_text(series_->name(series), width - 4), "", Anchor::middle);
    frame.svg.close();
  }

  std::string description() const {
    std::vector<std::string> parts;
    for (const auto& column : columns_)
      parts.push_back(series_->name(series_->index(column.group->value)) + ": " + centre_text(comparison_, *column.group));
    return join(parts, "; ") + ".";
  }

  const Comparison& comparison_;
  std::string title_;
  std::shared_ptr<SeriesList> series_;
  std::vector<GroupColumn> columns_;
  bool with_tips_, any_without_ = false;
};

Numbers distribution_numbers(const Comparison& c) {
  Numbers out{group_headers(c), {}};
  for (const std::string& name :
       {std::string("runs with a value"), std::string("without"), std::string("lowest"), centre_name(c), std::string("highest")})
    out.headers.push_back(name);
  for (const auto& facet : c.facets) {
    for (const auto& group : facet.groups) {
      const auto column = column_of(group);
      auto row = group_cells(c, facet, group);
      row.push_back(count_cell(static_cast<double>(column.with.size())));
      row.push_back(count_cell(static_cast<double>(column.without.size())));
      row.push_back(number_cell(column.with.empty() ? std::nullopt : column.with.front()->value));
      row.push_back(number_cell(shown_centre(group)));
      row.push_back(number_cell(column.with.empty() ? std::nullopt : column.with.back()->value));
      out.rows.push_back(std::move(row));
    }
  }
  return out;
}

bool distribution_spans_decades(const Comparison& c) {
  double least = INFINITY, most = 0;
  for (const auto& facet : c.facets) {
    for (const auto& group : facet.groups) {
      for (const auto& run : group.runs) {
        if (run.value) {
          least = std::min(least, *run.value);
          most = std::max(most, *run.value);
        }
      }
    }
  }
  return least > 0 && most > 20 * least;
}

}  // namespace

std::optional<Figure> distribution_figure(const Comparison& c) {
  std::size_t all = 0, in_largest = 0;
  for (const auto& facet : c.facets) {
    for (const auto& group : facet.groups) {
      all += group.runs.size();
      in_largest = std::max(in_largest, group.runs.size());
    }
  }
  if (in_largest < 2) return std::nullopt;
  const auto series = std::make_shared<SeriesList>(c);
  const bool joined = in_largest <= kMostPairs;
  Figure out;
  out.id = "distribution";
  out.heading = "Every run: " + c.metric;
  out.reading = std::string("Each mark is a run, spread sideways only where marks would touch; the long stroke is the ") +
                estimate_name(c) + ". " +
                (joined ? "Runs of the same seed are joined between neighbours: a line that falls is whole, one that rises dashed. " : "") +
                (c.higher_is_better ? "Higher" : "Lower") + " is better.";
  if (!joined) out.notes.push_back("lines between runs of the same seed are left out, being more than " + std::to_string(kMostPairs));
  if (in_largest > kMostDots) out.notes.push_back("at most " + std::to_string(kMostDots) + " runs of a variant are drawn, evenly by rank");
  for (const auto& panel : panels_of(c, out.notes)) {
    const auto drawing = std::make_shared<DistributionPanel>(c, panel, series, all);
    if (!drawing->empty())
      out.panels.push_back({panel.title, [drawing](const Form& form, const std::string& style) { return drawing->draw(form, style); }});
  }
  if (out.panels.empty()) return std::nullopt;
  out.numbers = distribution_numbers(c);
  out.y_switch = true;
  out.log_y = distribution_spans_decades(c);
  return out;
}

}  // namespace ffn::pictures
