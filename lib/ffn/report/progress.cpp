#include "ffn/report/progress.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>

#include "ffn/base/text.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/output.hpp"
#include "ffn/report/terminal.hpp"

namespace ffn {
namespace {

constexpr double kRedrawSeconds = 0.1;  // faster only costs: nobody reads ten numbers a second
constexpr std::size_t kWidestBar = 30, kNarrowestBar = 10;
constexpr int kStderr = 2;
constexpr const char* kEraseLine = "\r\033[K";  // ECMA-48 EL: erase to the end of the line

double steady_seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::string speed(const ProgressView& view) { return view.steps_per_s ? format_short(*view.steps_per_s) + " " + view.unit + "s/s" : ""; }

std::string loss_text(const ProgressView& view) {
  return !view.doing.empty() ? view.doing : view.loss ? "loss " + format_significant(*view.loss) : "";
}

std::string time_left(const ProgressView& view) {
  if (!view.steps_per_s || *view.steps_per_s <= 0) return "";
  const double seconds = static_cast<double>(std::max<std::int64_t>(view.total - view.step, 0)) / *view.steps_per_s;
  return (seconds < 1 ? "<1 s" : format_duration(seconds)) + " left";
}

std::string bar(const ProgressView& view, std::size_t inside) {
  const double share = view.total > 0 ? std::clamp(static_cast<double>(view.step) / static_cast<double>(view.total), 0.0, 1.0) : 0;
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(inside));
  std::string text(filled, '=');
  if (filled < inside) text += '>';
  text.resize(inside, ' ');
  return "[" + text + "]";
}

std::string joined(const std::vector<std::string>& parts, const std::string& separator) {
  std::vector<std::string> present;
  for (const auto& part : parts) {
    if (!part.empty()) present.push_back(part);
  }
  return join(present, separator);
}

}  // namespace

std::string progress_line(const ProgressView& view) {
  return view.label + ": " +
         joined(
             {view.unit + " " + format_count(view.step) + " of " + format_count(view.total), loss_text(view), speed(view), time_left(view)},
             ", ");
}

std::string progress_bar(const ProgressView& view, int width) {
  const auto columns = static_cast<std::size_t>(std::max(width, 0));
  const std::string steps = format_count(view.step) + "/" + format_count(view.total);
  std::string loss = loss_text(view), rate = speed(view), left = time_left(view);
  const auto text = [&](const std::string& drawn) { return joined({view.label, drawn, steps, loss, rate, left}, "  "); };
  constexpr std::size_t kFrame = 4;  // brackets and the gap to the next part

  for (std::string* droppable : {&rate, &loss}) {
    if (display_width(text("")) + kNarrowestBar + kFrame <= columns) break;
    droppable->clear();
  }
  const std::size_t used = display_width(text("")) + kFrame;
  if (used + kNarrowestBar <= columns) return text(bar(view, std::min(kWidestBar, columns - used)));
  if (display_width(text("")) > columns) left.clear();
  return text("").substr(0, prefix_within(text(""), columns));
}

std::string evaluating_text(double share) { return "evaluating " + std::to_string(static_cast<int>(100 * share)) + " %"; }

ProgressBar::ProgressBar(ProgressOptions options) : options_(std::move(options)) {
  if (!options_.out) options_.out = &std::cerr;
  if (!options_.width) options_.width = [] { return terminal_width_of(kStderr); };
  if (!options_.clock) options_.clock = steady_seconds;
}

ProgressBar::~ProgressBar() { finish(); }

void ProgressBar::update(std::int64_t step, std::optional<double> loss, const std::string& doing) {
  if (finished_) return;
  const double now = options_.clock();
  if (!first_time_) {
    first_time_ = now;
    first_step_ = step;
    if (!options_.animate) last_time_ = now;  // the first line comes after a while: a short run prints none
  }
  if (last_time_ && now - *last_time_ < (options_.animate ? kRedrawSeconds : options_.line_every_s)) return;
  last_time_ = now;

  ProgressView view{options_.label, step, options_.total, loss, {}, options_.unit, doing};
  if (now > *first_time_) view.steps_per_s = static_cast<double>(step - first_step_) / (now - *first_time_);
  if (options_.animate) {
    draw(progress_bar(view, options_.width() - 1));  // the last column stays free: some terminals wrap once it is written
  } else {
    *options_.out << progress_line(view) << '\n' << std::flush;
  }
}

void ProgressBar::draw(const std::string& text) {
  write_control(*options_.out, kEraseLine);
  *options_.out << text << std::flush;
  visible_ = true;
}

void ProgressBar::clear() {
  if (!visible_) return;
  write_control(*options_.out, kEraseLine);
  visible_ = false;
}

void ProgressBar::finish() {
  clear();
  finished_ = true;
}

}  // namespace ffn
