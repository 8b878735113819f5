// Descriptive statistics of one sample: what a table row shows about one variant.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace ffn::stats {

/// A confidence interval, in the units of what was estimated. An infinite limit means "nothing is known on
/// this side"; low == high means that the sample had no spread to learn from. Empty, (x, x) without x, where a test rejects every value:
/// by ranks it can where most differences tie at x.
struct Interval {
  double low;
  double high;
  double level;            ///< nominal coverage in (0, 1), e.g. 0.95
  bool low_open = false;   ///< the limit itself is outside: the test rejects it but not values next to it
  bool high_open = false;  ///< likewise

  /// The value lies outside.
  bool excludes(double value) const { return value < low || value > high || (low_open && value == low) || (high_open && value == high); }
  bool empty() const { return low > high || (low == high && (low_open || high_open)); }
  bool unbounded() const { return !(low > -std::numeric_limits<double>::infinity()) && !(high < std::numeric_limits<double>::infinity()); }
};

/// The interval of a sample of one: (−∞, ∞).
Interval unbounded_interval(double level);

/// Holds nothing; its limits are the estimate, for a picture to have a place.
Interval empty_interval(double estimate, double level);

/// Arithmetic mean. Throws if empty or not finite.
double mean(const std::vector<double>& values);

/// Sample standard deviation with divisor n − 1. Throws if n < 2 or not finite.
double standard_deviation(const std::vector<double>& values);

/// Third central moment over the cubed standard deviation, both with divisor n; 0 without spread, and of fewer than 3 values.
double skewness(const std::vector<double>& values);

/// Quantile by linear interpolation between order statistics (Hyndman & Fan 1996, type 7: the default of R and
/// NumPy). ±∞ is allowed and sorts as expected. Throws if empty, if a value is NaN, or if p is outside [0, 1].
double quantile(std::vector<double> values, double p);

/// The same for values that are already ascending; looks at nothing but the two neighbours.
double sorted_quantile(const std::vector<double>& ascending, double p);

/// Median: quantile at 1/2.
double median(std::vector<double> values);

/// Interquartile mean by rliable's convention (Agarwal et al. 2021, arXiv:2108.13264; scipy.stats.trim_mean with
/// 0.25): sort, drop ⌊n/4⌋ values at each end, average the rest. Nothing is dropped for n ≤ 3. The textbook IQM
/// that weights the quarter points fractionally gives other numbers: 3.1667 against 4.3333 for {1, 2, 10}.
/// ±∞ is allowed, so that diverged runs can enter as the worst value; the result is infinite when more of them
/// are present than are dropped. Throws if empty or if a value is NaN.
double interquartile_mean(std::vector<double> values);

/// Student's t interval for the mean, mean ± t_{n−1} s/√n (Student 1908); (−∞, ∞) for n = 1.
/// Throws if empty, not finite, or if the level is outside (0, 1).
Interval t_interval(const std::vector<double>& values, double level);
/// The same from the mean of n values and its standard error s/√n. Throws if n < 2.
Interval t_interval(double mean, double standard_error, std::size_t n, double level);

struct Centre {
  double value;
  Interval interval;
};

/// e^(mean of ln x), with Student's t interval of the logarithms: the ratio of two of them is that of the mean log ratio.
/// Throws if empty or if a value is not positive and finite.
Centre geometric_mean(const std::vector<double>& values, double level);

/// The median with its exact interval between order statistics [x_(r), x_(n+1−r)], r the largest with P(X < r) ≤ (1 − level)/2,
/// X binomial(n, 1/2); unbounded below 6 values at 95 %. ±∞ is allowed, for runs without a value. Throws if empty or if a value is NaN.
Centre median_with_interval(std::vector<double> values, double level);

/// A mean over rows and columns with an interval that covers other rows and other columns, too.
struct CrossedMean {
  std::size_t rows, columns;
  double value;
  Interval interval;
};

/// effects[row][column] = mean + row effect + column effect + rest, all three random. The variance of the mean is estimated without bias by
/// (MS_rows + MS_columns − MS_rest) / (rows · columns), and its degrees of freedom as Satterthwaite 1946, doi:10.2307/3002019, does; never
/// less than the larger of the two alone. Throws if there are fewer than two rows or columns, if rows differ in length, or if a value is
/// not finite.
CrossedMean crossed_mean(const std::vector<std::vector<double>>& effects, double level);

}  // namespace ffn::stats
