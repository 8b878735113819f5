#include "ffn/report/frame.hpp"

#include <algorithm>
#include <numeric>

namespace ffn::pictures {

Frame::Frame(const Form& form, const FrameText& text, Axis x_axis, Axis y_axis, const FrameRoom& room)
    : svg(form, room.height, text.title, text.description), x(x_axis), y(y_axis), clip_id_(form.id + "-c") {
  const auto y_marks = room.y_ticks ? ticks(y, 5) : std::vector<Tick>();
  double widest = 0;
  for (const auto& tick : y_marks) widest = std::max(widest, text_width(tick.label));
  left = std::max(room.least_left, widest + 12);
  right = form.width - room.right;
  top = (text.y_label.empty() ? 10 : 26) + room.above;
  bottom = room.height - room.below - (text.x_label.empty() ? 0 : 18) - (room.x_ticks ? 20 : 6);
  x.from = left;
  x.to = right;
  y.from = bottom;
  y.to = top;

  if (!text.y_label.empty()) svg.text(0, 12, fitted_text(text.y_label, form.width), "q");
  for (const auto& tick : y_marks) {
    if (tick.label.empty()) continue;
    const double at = y.at(tick.value);
    svg.line(left, at, right, at, "gr");
    svg.text(left - 6, at + 4, tick.label, "q", Anchor::end);
  }
  svg.line(left, bottom, right, bottom, "ax");
  if (room.x_ticks) {
    const auto x_marks = ticks(x, form.is_wide() ? 9 : 5);
    double free_from = 0;  // labels that would touch are left out
    for (const auto& tick : x_marks) {
      const double at = x.at(tick.value), half = text_width(tick.label) / 2;
      svg.line(at, bottom, at, bottom + (tick.label.empty() ? 3 : 5), "ax");
      const double middle = std::min(at, form.width - half);  // the last one moves in
      if (tick.label.empty() || middle - half < free_from) continue;
      svg.text(middle, bottom + 18, tick.label, "q", Anchor::middle);
      free_from = middle + half + 6;
    }
  }
  if (!text.x_label.empty()) svg.text(right, bottom + (room.x_ticks ? 34 : 18), fitted_text(text.x_label, right - left), "q", Anchor::end);
}

void Frame::begin_clip() {
  svg.raw(clip_rect(clip_id_, left, top - 5, right - left + 5, bottom - top + 8));
  svg.open("", "clip-path=\"url(#" + escaped(clip_id_) + ")\"");
}

void Frame::end_clip() { svg.close(); }

std::vector<double> spread_labels(const std::vector<double>& wanted, double apart, double top, double bottom) {
  std::vector<std::size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return wanted[a] < wanted[b]; });
  std::vector<double> placed = wanted;
  double least = top;
  for (const auto i : order) {
    placed[i] = std::max(placed[i], least);
    least = placed[i] + apart;
  }
  double most = bottom;
  for (auto i = order.rbegin(); i != order.rend(); ++i) {
    placed[*i] = std::min(placed[*i], most);
    most = placed[*i] - apart;
  }
  return placed;
}

}  // namespace ffn::pictures
