// Ticks and places on axes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ffn/report/axis.hpp"
#include "ffn/report/series.hpp"
#include "support/catch_plain.hpp"

using namespace ffn::report;

namespace {

std::vector<std::string> labels(const Axis& axis, int count) {
  std::vector<std::string> out;
  for (const auto& tick : ticks(axis, count)) {
    if (!tick.label.empty()) out.push_back(tick.label);
  }
  return out;
}

using Words = std::vector<std::string>;

// Whatever a metric may come to.
const std::vector<double> kOddNumbers{0,
                                      3,
                                      std::nextafter(3, 4),
                                      -3,
                                      5e-324,
                                      1e-323,
                                      -5e-324,
                                      1e-310,
                                      1e-300,
                                      1e15,
                                      1e300,
                                      -1e300,
                                      std::numeric_limits<double>::max(),
                                      std::numeric_limits<double>::lowest(),
                                      INFINITY,
                                      -INFINITY,
                                      NAN};

}  // namespace

TEST_CASE("linear ticks are those of D3") {
  // d3.ticks of d3-array 3.2: (0, 1, 10), (0, 10, 5), (-10, 10, 10), (0.1, 0.5, 5)
  CHECK(linear_ticks(0, 1, 10) == std::vector<double>{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1});
  CHECK(linear_ticks(0, 10, 5) == std::vector<double>{0, 2, 4, 6, 8, 10});
  CHECK(linear_ticks(-10, 10, 10) == std::vector<double>{-10, -8, -6, -4, -2, 0, 2, 4, 6, 8, 10});
  CHECK(linear_ticks(0.1, 0.5, 5) == std::vector<double>{0.1, 0.2, 0.3, 0.4, 0.5});
}

TEST_CASE("the step of linear ticks changes at the square roots of 2, 10 and 50") {
  CHECK(linear_ticks(0, 1.41, 1) == std::vector<double>{0, 1});
  CHECK(linear_ticks(0, 1.42, 1) == std::vector<double>{0});  // by 2
  CHECK(linear_ticks(0, 3.17, 1) == std::vector<double>{0});  // by 5
  CHECK(linear_ticks(0, 7.06, 1) == std::vector<double>{0, 5});
  CHECK(linear_ticks(0, 7.08, 1) == std::vector<double>{0});  // by 10
}

TEST_CASE("a range of no length has one tick, and none hangs") {
  CHECK(linear_ticks(3, 3, 5) == std::vector<double>{3});
  CHECK(linear_ticks(5, 3, 5).size() == 1);
}

TEST_CASE("an axis of counts has whole numbers alone") {
  Axis axis{9, 10.4};
  CHECK(labels(axis, 5) == Words{"9", "9.2", "9.4", "9.6", "9.8", "10", "10.2", "10.4"});
  axis.whole = true;
  CHECK(labels(axis, 5) == Words{"9", "10"});
  axis = {-0.2, 2.6};
  axis.whole = true;
  CHECK(labels(axis, 9) == Words{"0", "1", "2"});
  axis = {0, 1000};
  axis.whole = true;
  CHECK(labels(axis, 5) == Words{"0", "200", "400", "600", "800", "1000"});
}

TEST_CASE("ends that differ by rounding alone have one tick, and ends that are no finite numbers none") {
  CHECK(linear_ticks(3, std::nextafter(3, 4), 5) == std::vector<double>{3});
  CHECK(linear_ticks(1e300, std::nextafter(1e300, INFINITY), 5) == std::vector<double>{1e300});
  CHECK(linear_ticks(0, 5e-324, 5) == std::vector<double>{0});
  CHECK(linear_ticks(-1.5e308, 1.5e308, 3) == std::vector<double>{-1e308, 0, 1e308});
  for (const double end : {INFINITY, -INFINITY, NAN}) {
    CHECK(linear_ticks(end, 1, 5).empty());
    CHECK(linear_ticks(1, end, 5).empty());
  }
}

TEST_CASE("the ticks of any ends are finite numbers, ascend, and are no more than a picture has room for") {
  std::size_t axes = 0;
  for (const auto kind : {AxisKind::linear, AxisKind::log10, AxisKind::log2}) {
    for (const double low : kOddNumbers) {
      for (const double high : kOddNumbers) {
        for (const int count : {-1, 0, 1, 5}) {
          const auto all = ticks({low, high, kind}, count);
          CHECK(all.size() <= 2200);  // the doublings that a double has
          CHECK(std::count_if(all.begin(), all.end(), [](const Tick& tick) { return !tick.label.empty(); }) <= 25);
          CHECK(std::all_of(all.begin(), all.end(), [](const Tick& tick) { return std::isfinite(tick.value); }));
          CHECK(std::is_sorted(all.begin(), all.end(), [](const Tick& a, const Tick& b) { return a.value < b.value; }));
          ++axes;
        }
      }
    }
  }
  CHECK(axes == 3 * 17 * 17 * 4);
}

TEST_CASE("the axis of any values has finite ends apart from each other, on which every number has its place") {
  for (const auto kind : {AxisKind::linear, AxisKind::log10, AxisKind::log2}) {
    for (const double a : kOddNumbers) {
      for (const double b : kOddNumbers) {
        Axis axis = axis_for({a, b}, kind);
        CHECK(std::isfinite(axis.low));
        CHECK(std::isfinite(axis.high));
        CHECK(axis.high > axis.low);
        axis.to = 100;
        for (const double x : {a, b, axis.low, axis.high}) CHECK((std::isnan(x) || (axis.at(x) >= 0 && axis.at(x) <= 100)));
      }
    }
  }
  const double next = std::nextafter(3, 4);
  CHECK(axis_for({3, next}, AxisKind::linear).low == Approx(1.5));
  CHECK(axis_for({3, next}, AxisKind::log10).high == Approx(6));
  CHECK(axis_for({1, 1 + 1e-8}, AxisKind::linear).high < 1 + 2e-8);
}

TEST_CASE("a logarithmic axis has decades, or 1, 2, 5 where it is short, or linear ticks within a decade") {
  CHECK(labels({1e-4, 1, AxisKind::log10}, 5) == Words{"10⁻⁴", "10⁻³", "10⁻²", "10⁻¹", "10⁰"});
  CHECK(labels({1, 50, AxisKind::log10}, 5) == Words{"1", "2", "5", "10", "20", "50"});
  CHECK(labels({2, 8, AxisKind::log10}, 3) == Words{"2", "4", "6", "8"});
  CHECK(labels({1e-12, 1, AxisKind::log10}, 4) == Words{"10⁻¹²", "10⁻⁹", "10⁻⁶", "10⁻³", "10⁰"});
  CHECK(labels({1, 8, AxisKind::log2}, 5) == Words{"1", "2", "4", "8"});
}

TEST_CASE("the labels of an axis have one notation") {
  CHECK(labels({0, 0.0012, AxisKind::linear}, 2) == Words{"0", "0.0005", "0.001"});
  CHECK(labels({0.0009, 0.0011, AxisKind::linear}, 4) == Words{"0.0009", "0.00095", "0.001", "0.00105", "0.0011"});
  CHECK(labels({0, 0.0008, AxisKind::linear}, 4) == Words{"0", "2·10⁻⁴", "4·10⁻⁴", "6·10⁻⁴", "8·10⁻⁴"});
  CHECK(labels({-5000, 10000, AxisKind::linear}, 3) == Words{"−5k", "0", "5k", "10k"});
  CHECK(labels({500'000, 1'500'000, AxisKind::linear}, 3) == Words{"0.5M", "1M", "1.5M"});
  CHECK(labels({100, 100'000, AxisKind::log10}, 5) == Words{"100", "1000", "10000", "100000"});
  CHECK(labels({0.0005, 0.005, AxisKind::log10}, 5) == Words{"5·10⁻⁴", "10⁻³", "2·10⁻³", "5·10⁻³"});
  CHECK(labels({8192, 32768, AxisKind::log2}, 3) == Words{"8192", "16384", "32768"});
  CHECK(labels({1.0 / 4096, 1, AxisKind::log2}, 4).front() == "2⁻¹²");
}

TEST_CASE("the estimates of a column have one notation") {
  CHECK(estimate_texts({{0.31, 0.28, 0.34}, {0.5, 0.5, 0.5}}) == Words{"0.310 [0.280, 0.340]", "0.500"});
  CHECK(estimate_texts({{1.1e-5, -2e-6, 2.4e-5}, {0.239, -0.75, 1.23}, {0, 0, 0}}) ==
        Words{"1.10·10⁻⁵ [−2.00·10⁻⁶, 2.40·10⁻⁵]", "2.39·10⁻¹ [−7.50·10⁻¹, 1.23·10⁰]", "0.00"});
  CHECK(estimate_texts({{0.0012, 0.00002, 0.0025}}) == Words{"1.20·10⁻³ [2.00·10⁻⁵, 2.50·10⁻³]"});
}

TEST_CASE("decades have strokes without labels between them") {
  const auto all = ticks({1, 1000, AxisKind::log10}, 5);
  CHECK(all.size() == 28);
  CHECK(all[1].value == 2);
  CHECK(all[1].label.empty());
}

TEST_CASE("places run from the first pixel to the last, straight or by logarithms, and not beyond") {
  const Axis down{0, 10, AxisKind::linear, 200, 100};
  CHECK(down.at(0) == 200);
  CHECK(down.at(2.5) == 175);
  CHECK(down.at(11) == 100);
  const Axis log{0.01, 1, AxisKind::log10, 0, 100};
  CHECK(log.at(0.1) == Approx(50));
  CHECK(log.at(0) == 0);
  CHECK(log.at(-3) == 0);
  CHECK(Axis{10, 10, AxisKind::linear, 0, 100}.at(10) == 50);
}

TEST_CASE("an axis is a little wider than its values, and has a length whatever they are") {
  const auto axis = axis_for({1, 3, INFINITY, NAN}, AxisKind::linear);
  CHECK(axis.low == Approx(0.92));
  CHECK(axis.high == Approx(3.08));
  for (const auto kind : {AxisKind::linear, AxisKind::log10, AxisKind::log2}) {
    for (const auto& values : {std::vector<double>{}, std::vector<double>{5}, std::vector<double>{0}, std::vector<double>{-1, -1}}) {
      const auto some = axis_for(values, kind);
      CHECK(some.high > some.low);
      CHECK((kind == AxisKind::linear || some.low > 0));
    }
  }
}
