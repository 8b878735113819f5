#include <algorithm>
#include <limits>
#include <sstream>

#include "ffn/base/text.hpp"
#include "ffn/report/progress.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

/// A bar over a stream and a clock of our own.
struct Stage {
  std::ostringstream out;
  double now = 1000;
  int columns = 100;

  ProgressOptions options(bool animate) {
    ProgressOptions options;
    options.label = "xor seed 0";
    options.total = 2000;
    options.out = &out;
    options.animate = animate;
    options.width = [this] { return columns; };
    options.clock = [this] { return now; };
    return options;
  }
  std::string taken() {
    std::string text = out.str();
    out.str("");
    return text;
  }
};

const std::string kBack = "\r\033[K";

ProgressView view() { return {"xor", 1200, 2000, 0.0123, 3400.0}; }

}  // namespace

TEST_CASE("a bar shows label, steps, loss, speed and time left") {
  CHECK(progress_bar(view(), 100) == "xor  [==================>           ]  1,200/2,000  loss 0.0123  3.4k steps/s  <1 s left");
  CHECK(progress_line(view()) == "xor: step 1,200 of 2,000, loss 0.0123, 3.4k steps/s, <1 s left");
}

TEST_CASE("what is not known yet is left out, and what is not finite is said") {
  CHECK(progress_line({"xor", 0, 2000, std::numeric_limits<double>::quiet_NaN(), {}}) == "xor: step 0 of 2,000, loss nan");
  CHECK(progress_line({"xor", 1, 2000, 1, 0.0}) == "xor: step 1 of 2,000, loss 1.00, 0 steps/s");
}

TEST_CASE("a bar is full at the end and survives odd counts") {
  CHECK(progress_bar({"x", 10, 10, 1, {}}, 80).find("[==============================]") != std::string::npos);
  CHECK(progress_bar({"x", 20, 10, 1, {}}, 80).find("[==============================]") != std::string::npos);
  CHECK(progress_bar({"x", -1, 10, 1, {}}, 80).find("[>                             ]") != std::string::npos);
  CHECK(progress_bar({"x", 0, 0, 1, {}}, 80).find("[>                             ]") != std::string::npos);
}

TEST_CASE("as the terminal narrows the bar drops speed, loss, itself and the time, in this order") {
  CHECK(progress_bar(view(), 68) == "xor  [======>   ]  1,200/2,000  loss 0.0123  3.4k steps/s  <1 s left");
  CHECK(progress_bar(view(), 67) == "xor  [=============>         ]  1,200/2,000  loss 0.0123  <1 s left");
  CHECK(progress_bar(view(), 53) == "xor  [=============>        ]  1,200/2,000  <1 s left");
  CHECK(progress_bar(view(), 40) == "xor  1,200/2,000  <1 s left");
  CHECK(progress_bar(view(), 26) == "xor  1,200/2,000");
  CHECK(progress_bar(view(), 10) == "xor  1,200");
}

TEST_CASE("a bar is never wider than the terminal") {
  const ProgressView wide{"ünïcödé läbel of a run", 123'456'789, 987'654'321, 1e-9, 12.5};
  for (int width = 0; width < 200; ++width) {
    INFO(width);
    CHECK(display_width(progress_bar(wide, width)) <= static_cast<std::size_t>(width));
    CHECK_FALSE(first_invalid_utf8(progress_bar(wide, width)));
  }
  CHECK(progress_bar(wide, -5).empty());
}

TEST_CASE("on a terminal the bar is drawn over itself, ten times a second at most, and goes when finished") {
  Stage stage;
  ProgressBar bar(stage.options(true));
  int drawn = 0;
  for (int step = 1; step <= 1000; ++step, stage.now += 0.001) {
    bar.update(step, 0.5);
    const std::string text = stage.taken();
    if (text.empty()) continue;
    ++drawn;
    CHECK(text.rfind(kBack + "xor seed 0  [", 0) == 0);
    CHECK(text.find('\n') == std::string::npos);
    CHECK(display_width(text) - kBack.size() < 100);
  }
  CHECK((drawn >= 9 && drawn <= 11));  // one second; the sum of 0.001 may miss a tick

  bar.finish();
  CHECK(stage.taken() == kBack);
  stage.now += 10;
  bar.update(1001, 0.5);
  CHECK(stage.taken().empty());
}

TEST_CASE("a bar that was cleared for another line comes back with the next update") {
  Stage stage;
  ProgressBar bar(stage.options(true));
  bar.update(1, 0.5);
  stage.taken();

  bar.clear();
  bar.clear();
  CHECK(stage.taken() == kBack);

  stage.now += 0.2;
  bar.update(2, 0.5);
  CHECK(stage.taken().rfind(kBack + "xor", 0) == 0);
}

TEST_CASE("a bar clears itself when it goes out of scope, and only if it was drawn") {
  Stage stage;
  { ProgressBar bar(stage.options(true)); }
  CHECK(stage.taken().empty());
  {
    ProgressBar bar(stage.options(true));
    bar.update(1, 0.5);
    stage.taken();
  }
  CHECK(stage.taken() == kBack);
}

TEST_CASE("the bar follows the terminal's width") {
  Stage stage;
  ProgressBar bar(stage.options(true));
  stage.columns = 31;
  bar.update(1200, 0.5);
  CHECK(stage.taken() == kBack + "xor seed 0  1,200/2,000");

  stage.columns = 23;
  stage.now += 1;  // one column stays free
  bar.update(1200, 0.5);
  CHECK(stage.taken() == kBack + "xor seed 0  1,200/2,00");
}

TEST_CASE("elsewhere there is a plain line every five seconds, and none for a short run") {
  Stage stage;
  ProgressBar bar(stage.options(false));
  for (int step = 1; step <= 49; ++step, stage.now += 0.1) bar.update(step, 0.5);
  CHECK(stage.taken().empty());

  stage.now = 1005;
  bar.update(51, 0.25);
  CHECK(stage.taken() == "xor seed 0: step 51 of 2,000, loss 0.250, 10 steps/s, 3 min 15 s left\n");
  stage.now = 1009;
  bar.update(90, 0.25);
  CHECK(stage.taken().empty());
  stage.now = 1010;
  bar.update(101, 0.25);
  bar.finish();
  CHECK(stage.taken() == "xor seed 0: step 101 of 2,000, loss 0.250, 10 steps/s, 3 min 10 s left\n");
}

TEST_CASE("a resumed run's speed counts from where it resumed") {
  Stage stage;
  ProgressBar bar(stage.options(false));
  bar.update(1001, 0.5);
  stage.now += 10;
  bar.update(1101, 0.5);

  CHECK(stage.taken() == "xor seed 0: step 1,101 of 2,000, loss 0.500, 10 steps/s, 1 min 30 s left\n");
}

TEST_CASE("what is counted need be no steps, and has no loss") {
  Stage stage;
  auto options = stage.options(false);
  options.label = "copying";
  options.unit = "run";
  ProgressBar bar(options);
  bar.update(0);
  stage.now += 5;
  bar.update(500);

  CHECK(stage.taken() == "copying: run 500 of 2,000, 100 runs/s, 15 s left\n");
  CHECK(progress_bar({"copying", 500, 2000, {}, 100.0, "run"}, 100) ==
        "copying  [=======>                      ]  500/2,000  100 runs/s  15 s left");
}

TEST_CASE("an observer passes a cohort's steps to the bar") {
  Stage stage;
  ProgressBar bar(stage.options(true));
  ProgressObserver observer(bar);

  observer.stepped(700, 0.125);

  CHECK(stage.taken().find("  700/2,000  loss 0.125") != std::string::npos);
  CHECK_FALSE(observer.stop_requested());
}
