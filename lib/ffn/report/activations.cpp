#include "ffn/report/activations.hpp"

#include <cmath>

namespace ffn::report {

namespace {

constexpr Axis kX{-3, 3}, kY{-1.2, 3.2};  // where they differ; beyond it they are straight or flat, but for relu2
constexpr int kSteps = 240;

struct Sample {
  double z, value, slope;  ///< NaN beyond the axis, and of a slope where it jumps
};

double value_at(const Activation& a, double z) {
  double y;
  a.values(1, &z, &y);
  return y;
}

double slope_at(const Activation& a, double z) {
  const double one = 1;
  double slope;
  a.gradients(1, &z, &one, &slope);
  return slope;
}

std::vector<Sample> samples(const Activation& a) {
  std::vector<Sample> out;
  const auto shown = [](double y) { return kY.has(y) ? y : std::nan(""); };
  for (int i = 0; i <= kSteps; ++i) {
    const double z = kX.low + (kX.high - kX.low) * i / kSteps;
    constexpr double kBeside = 1e-6;
    const bool jumps = std::abs(slope_at(a, z + kBeside) - slope_at(a, z - kBeside)) > 1e-3;
    out.push_back({z, shown(value_at(a, z)), jumps ? std::nan("") : shown(slope_at(a, z))});
  }
  return out;
}

}  // namespace

TerminalChart activation_chart(const Activation& a) {
  TerminalChart chart{std::string(a.name) + "  " + a.formula, kX, kY, {}, {}};
  ChartLine value{{Style::cyan, '*'}, {}, false}, slope{{Style::yellow, '.'}, {}, false};
  for (const auto& sample : samples(a)) {
    value.points.push_back({sample.z, sample.value, sample.value, sample.value});
    slope.points.push_back({sample.z, sample.slope, sample.slope, sample.slope, true});
  }
  chart.lines = {slope, value};
  return chart;
}

}  // namespace ffn::report
