// Intervals as bars on one axis.
#include <cmath>

#include "ffn/base/text.hpp"
#include "ffn/report/interval_bar.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

TEST_CASE("a bar goes from limit to limit with its estimate on it") {
  const IntervalAxis axis(0, 10, 11);
  CHECK(axis.bar({5, 2, 8}) == "  ├──●──┤  ");
  CHECK(axis.bar({0, 0, 10}) == "●─────────┤");
  CHECK(axis.bar({5, 5, 5}) == "     ●     ");
  CHECK(axis.bar({5, 2, INFINITY}) == "  ├──●────→");
  CHECK(axis.bar({5, -INFINITY, 8}) == "←────●──┤  ");
}

TEST_CASE("differences have an upright stroke at 0") {
  const IntervalAxis axis(-5, 5, 11, 0.0);
  CHECK(axis.bar({3, 2, 4}) == "     │ ├●┤ ");
  CHECK(axis.bar({2, -2, 4}) == "   ├─┼─●─┤ ");
  CHECK(axis.bar({INFINITY, 2, INFINITY}) == "     │────→");
}

TEST_CASE("a side that never gets there is an arrow to the end of the axis, from 0 or from beyond it") {
  const IntervalAxis axis(-5, 5, 11, 0.0), left(-1, 0, 6, 0.0), right(0, 1, 6, 0.0);
  CHECK(axis.bar({-INFINITY, -INFINITY, -2}) == "←────│     ");
  CHECK(axis.bar({INFINITY, -3, INFINITY}) == "  ├──┼────→");
  CHECK(axis.bar({INFINITY, -INFINITY, INFINITY}) == "←────┼────→");
  CHECK(axis.bar({-INFINITY, -INFINITY, INFINITY}) == "←────┼────→");
  CHECK(left.bar({-INFINITY, -INFINITY, -INFINITY, true, true}) == "←────│");
  CHECK(right.bar({INFINITY, INFINITY, INFINITY}) == "│────→");
}

TEST_CASE("an axis has room for the arrow of what goes on for ever") {
  const auto with_room = [](double low, double high, bool endless_left, bool endless_right) {
    make_room_for_arrows({low, high, endless_left, endless_right}, low, high);
    return std::pair(low, high);
  };
  CHECK(with_room(0, 10, false, true) == std::pair(0.0, 10.0));  // beyond what is finite on that side
  CHECK(with_room(0, 10, true, false) == std::pair(-2.0, 10.0));
  CHECK(with_room(-1, 9, true, true) == std::pair(-2.0, 9.0));
  CHECK(with_room(0, 0, true, false) == std::pair(-1.0, 0.0));  // nothing is finite but 0
  CHECK(with_room(-3, 0, false, false) == std::pair(-3.0, 0.0));
}

TEST_CASE("every bar is as wide as its axis") {
  for (const double low : {-100.0, 0.0, 3.0}) {
    CHECK(display_width(IntervalAxis(0, 10, 25).bar({low, low - 1, low + 50})) == 25);
    CHECK(display_width(IntervalAxis(4, 4, 9).bar({low, low, low})) == 9);  // an axis of no length
  }
}
