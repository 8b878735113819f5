// The interval that goes with a sequential test.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <utility>

#include "ffn/stats/check.hpp"
#include "ffn/stats/distributions.hpp"
#include "ffn/stats/flips.hpp"
#include "ffn/stats/interim_analyses.hpp"
#include "ffn/stats/sequential.hpp"
#include "ffn/stats/summary.hpp"

namespace ffn::stats {
namespace {

using detail::kInfinity;

/// Start of the search for an interval: its centre, the spread of the differences, and the values at which a test by ranks can change
/// its verdict, which are the averages of all pairs of differences, ascending.
struct Start {
  double centre, reach;
  std::vector<double> averages;
};

Start where_to_begin(const std::vector<double>& d, const std::vector<double>& finite, double range, PairedTest test) {
  const auto spread = [](double x, double centre) { return x > 0.0 ? x : 1.0 + std::abs(centre); };
  if (test == PairedTest::sign_flip_of_mean) return {mean(finite), spread(range, mean(finite)), {}};
  std::vector<double> averages = detail::pair_averages(d), distances;
  const double centre = median(averages);
  for (const double x : finite) {
    if (std::isfinite(centre) && x != centre) distances.push_back(std::abs(x - centre));
  }
  const double reach = distances.empty() ? spread(range, 0.0) : median(distances);
  return {centre, reach, std::move(averages)};
}

/// The centre, or the nearest stretch between averages that has not crossed: zeros are dropped from ranks, so that the test may say of
/// the centre what it says of nothing beside it. NaN if there is none.
double first_inside(double centre, const std::vector<double>& averages, const std::function<bool(double)>& crosses) {
  if (!crosses(centre)) return centre;
  constexpr int kStretches = 4;  // on each side
  auto above = std::upper_bound(averages.begin(), averages.end(), centre);
  auto below = std::make_reverse_iterator(std::lower_bound(averages.begin(), averages.end(), centre));
  double last_above = centre, last_below = centre;
  const auto stretch = [&](auto& at, const auto& end, double& last) {
    while (at != end && *at == last) ++at;
    if (at == end || !std::isfinite(*at)) return std::numeric_limits<double>::quiet_NaN();
    const double between = last / 2.0 + *at / 2.0;
    last = *at;
    return between;
  };
  for (int i = 0; i < kStretches; ++i) {
    for (const double theta : {stretch(above, averages.end(), last_above), stretch(below, averages.rend(), last_below)})
      if (!std::isnan(theta) && !crosses(theta)) return theta;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

/// The centre, which has crossed, as both limits; where 0 has not, it and all up to the centre.
Interval nothing_inside(double centre, bool crosses_zero, double level) {
  if (crosses_zero) return empty_interval(centre, level);
  return {std::min(centre, 0.0), std::max(centre, 0.0), level, centre < 0.0, 0.0 < centre};
}

struct Limit {
  double value;
  bool open;
};

/// Between `inside`, which has not crossed, and `outside`, which has: the first average at or beyond which the test crosses, open if it
/// has crossed there. Without one, `inside`. `outside` may be such an average but for rounding.
Limit limit_between(double inside, double outside, const std::vector<double>& averages, double rounding,
                    const std::function<bool(double)>& crosses) {
  const auto [near, past] = std::minmax(inside, outside);
  std::vector<double> at(std::lower_bound(averages.begin(), averages.end(), near - rounding),
                         std::upper_bound(averages.begin(), averages.end(), past + rounding));
  at.erase(std::unique(at.begin(), at.end()), at.end());
  if (outside < inside) std::reverse(at.begin(), at.end());
  if (at.empty()) return {inside, false};
  for (std::size_t i = 0; i + 1 < at.size(); ++i) {
    if (crosses(at[i])) return {at[i], true};
    if (crosses(at[i] / 2.0 + at[i + 1] / 2.0)) return {at[i], false};
  }
  return {at.back(), crosses(at.back())};
}

}  // namespace

Interval sequential_interval(const std::vector<double>& differences, const SequentialDesign& design) {
  const std::vector<std::size_t> sample_sizes = interim_sample_sizes(design.maxima);
  detail::check_between("alpha", design.alpha, 0.0, 1.0);
  std::vector<double> finite;
  for (const double d : differences)
    if (std::isfinite(d)) finite.push_back(d);
  if (differences.size() < sample_sizes.front() || finite.empty()) return unbounded_interval(1.0 - design.alpha);
  const detail::Flips flips(detail::paths_of(design), differences.size());
  const detail::Spent spent = [&](std::size_t n) { return spent_alpha(design.alpha, n, design.maxima.front()); };
  const auto crosses = [&](double theta) {
    const std::vector<double> shifted = detail::less(differences, theta);
    return detail::crossing(detail::run_interim_analyses(shifted, sample_sizes, {spent}, flips, Side::both, design.rule).front()) !=
           detail::kNever;
  };

  const auto [low, high] = std::minmax_element(finite.begin(), finite.end());
  const double range = *high - *low;
  const Start start = where_to_begin(differences, finite, range, design.rule(differences));
  const double centre = start.centre, reach = start.reach;
  constexpr double kPrecision = 1e-4, kFar = 1e3;
  const double rounding = detail::kSameAverage * std::max(std::abs(*low), std::abs(*high));
  const double far = kFar * std::max(range, reach);
  const double middle = first_inside(std::isfinite(centre) ? centre : centre > 0 ? *high + far : *low - far, start.averages, crosses);
  if (std::isnan(middle)) return nothing_inside(centre, crosses(0.0), 1.0 - design.alpha);
  const auto limit = [&](double direction) -> Limit {
    if (!std::isfinite(centre) && direction * centre > 0) return {centre, false};
    double step = reach / 8.0, inside = middle, outside = middle + direction * step;
    for (; !crosses(outside); outside = middle + direction * step) {
      if (step > 4 * far) return {direction * kInfinity, false};
      inside = outside;
      step *= 2.0;
    }
    while (std::abs(outside - inside) > kPrecision * reach) {
      const double between = inside + (outside - inside) / 2.0;
      if (between == inside || between == outside) break;
      (crosses(between) ? outside : inside) = between;
    }
    return limit_between(inside, outside, start.averages, rounding, crosses);
  };
  const Limit lowest = limit(-1.0), highest = limit(1.0);
  // Zeros are dropped from ranks, so that the test may say of 0 alone what it says of nothing beside it.
  return detail::agreeing({lowest.value, highest.value, 1.0 - design.alpha, lowest.open, highest.open}, middle > 0.0, crosses(0.0));
}

}  // namespace ffn::stats
