// Progress of a training, or of what else takes long, on stderr: a bar on a terminal, a plain line now and then anywhere else.
#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>

#include "ffn/train/cohort.hpp"

namespace ffn {

struct ProgressOptions {
  std::string label;
  std::int64_t total = 0;         ///< steps
  std::string unit = "step";      ///< or what else is counted
  std::ostream* out = nullptr;    ///< null is stderr
  bool animate = false;           ///< animation_enabled(): draw over one line; else print whole lines
  std::function<int()> width;     ///< columns, asked at every drawing; not set: those of stderr
  std::function<double()> clock;  ///< seconds that never go back; not set: the steady clock
  double line_every_s = 5;        ///< without animation
};

/// A bar: label, steps, loss if there is one, speed, time left. Drawn at most ten times a second, never wider than the terminal, gone when
/// it is finished. Speed and time left count from the first update, so that a resumed run is not credited with old steps.
class ProgressBar {
 public:
  explicit ProgressBar(ProgressOptions options);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// `doing`: what takes a while instead of steps.
  void update(std::int64_t step, std::optional<double> loss = std::nullopt, const std::string& doing = "");
  /// Takes the bar off the screen so that something else can be printed; the next update draws it again.
  void clear();
  /// Nothing is drawn after this.
  void finish();

 private:
  void draw(const std::string& text);

  ProgressOptions options_;
  std::optional<double> first_time_, last_time_;
  std::int64_t first_step_ = 0;
  bool visible_ = false, finished_ = false;
};

/// The numbers of the bar.
struct ProgressView {
  std::string label;
  std::int64_t step = 0, total = 0;
  std::optional<double> loss;
  std::optional<double> steps_per_s;
  std::string unit = "step";
  std::string doing = {};  ///< stands in the loss's place: "evaluating 40 %"
};

/// "label: step 1,200 of 2,000, loss 0.0123, 3.4k steps/s, 12 s left"
std::string progress_line(const ProgressView& view);

/// "label  [=====>    ]  1,200/2,000  loss 0.0123  3.4k steps/s  12 s left", at most `width` columns: the speed goes
/// first, then the loss, the bar, the time left; at last the text is cut.
std::string progress_bar(const ProgressView& view, int width);

/// "evaluating 40 %"
std::string evaluating_text(double share);

/// Shows a cohort's steps in a bar; to be given to RunRecorder::forward_to.
class ProgressObserver : public TrainObserver {
 public:
  explicit ProgressObserver(ProgressBar& bar) : bar_(bar) {}
  void stepped(std::int64_t step, double loss) override { bar_.update(step, loss); }
  bool evaluating(std::int64_t step, double share) override {
    bar_.update(step, std::nullopt, evaluating_text(share));
    return true;
  }

 private:
  ProgressBar& bar_;
};

}  // namespace ffn
