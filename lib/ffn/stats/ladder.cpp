#include "ffn/stats/ladder.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ffn/stats/check.hpp"
#include "ffn/stats/distributions.hpp"
#include "ffn/stats/random.hpp"

namespace ffn::stats {
namespace {

/// Logarithms of losses and compute.
struct LogLadder {
  explicit LogLadder(const Ladder& ladder);
  std::size_t num_variants() const { return compute.size(); }
  std::size_t num_sizes() const { return compute.front().size(); }
  /// Their means over these seeds: [variant][size].
  std::vector<std::vector<double>> means(const std::vector<std::size_t>& drawn) const;

  std::vector<std::vector<double>> compute;              ///< [variant][size]
  std::vector<std::vector<std::vector<double>>> losses;  ///< [variant][size][seed]
  std::size_t num_seeds = 0;
  double smallest = detail::kInfinity;  ///< loss, not its logarithm
};

LogLadder::LogLadder(const Ladder& ladder) {
  if (ladder.empty() || ladder.front().size() < 2) detail::fail("a ladder needs at least 2 sizes");
  num_seeds = ladder.front().front().losses.size();
  for (const auto& rungs : ladder) {
    if (rungs.size() != ladder.front().size()) detail::fail("a ladder's variants need the same sizes");
    auto& logs = losses.emplace_back();
    auto& computes = compute.emplace_back();
    for (const Rung& rung : rungs) {
      detail::check_sample("a rung of a ladder", rung.losses);
      if (rung.losses.size() != num_seeds) detail::fail("a ladder's rungs need the same seeds");
      if (!(rung.compute > 0)) detail::fail("compute (", rung.compute, ") must be positive");
      computes.push_back(std::log(rung.compute));
      logs.emplace_back();
      for (const double loss : rung.losses) {
        if (!(loss > 0)) detail::fail("a ladder's losses must be positive, got ", loss);
        smallest = std::min(smallest, loss);
        logs.back().push_back(std::log(loss));
      }
    }
  }
}

std::vector<std::vector<double>> LogLadder::means(const std::vector<std::size_t>& drawn) const {
  auto out = compute;
  for (std::size_t v = 0; v < num_variants(); ++v)
    for (std::size_t k = 0; k < num_sizes(); ++k) {
      double sum = 0;
      for (const std::size_t seed : drawn) sum += losses[v][k][seed];
      out[v][k] = sum / static_cast<double>(drawn.size());
    }
  return out;
}

std::vector<std::size_t> every_seed(const LogLadder& ladder) {
  std::vector<std::size_t> all(ladder.num_seeds);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The law at this floor: ln(ℓ − E) = ln A_v − α ln C, one slope for all variants.
LossLaw at_floor(const std::vector<std::vector<double>>& compute, const std::vector<std::vector<double>>& log_losses, double floor) {
  LossLaw law{floor, true, 0, {}};
  std::vector<double> excess(log_losses.front().size());
  double products = 0, squares = 0;
  for (std::size_t v = 0; v < compute.size(); ++v) {
    for (std::size_t k = 0; k < excess.size(); ++k) excess[k] = std::log(std::exp(log_losses[v][k]) - floor);
    const double centre = mean_of(compute[v]), height = mean_of(excess);
    for (std::size_t k = 0; k < excess.size(); ++k) {
      products += (compute[v][k] - centre) * (excess[k] - height);
      squares += (compute[v][k] - centre) * (compute[v][k] - centre);
    }
    law.log_scale.push_back(height);
  }
  law.exponent = -products / squares;
  for (std::size_t v = 0; v < compute.size(); ++v) law.log_scale[v] += law.exponent * mean_of(compute[v]);
  return law;
}

double squared_error(const LossLaw& law, const std::vector<std::vector<double>>& compute,
                     const std::vector<std::vector<double>>& log_losses) {
  double sum = 0;
  for (std::size_t v = 0; v < compute.size(); ++v)
    for (std::size_t k = 0; k < compute[v].size(); ++k) {
      const double miss = log_losses[v][k] - std::log(law.floor + std::exp(law.log_scale[v] - law.exponent * compute[v][k]));
      sum += miss * miss;
    }
  return sum;
}

LossLaw fitted(const LogLadder& ladder, const std::vector<std::size_t>& drawn, std::optional<double> floor) {
  const auto log_losses = ladder.means(drawn);
  if (floor) return at_floor(ladder.compute, log_losses, *floor);
  const auto error_at = [&](double e) { return squared_error(at_floor(ladder.compute, log_losses, e), ladder.compute, log_losses); };
  // The best of a grid, then a golden section about it: with few sizes the error can have two minima.
  constexpr int kGrid = 24, kSections = 30;
  const double most = ladder.smallest * (1 - 1e-6), golden = 0.6180339887498949;
  int best = 0;
  double least = detail::kInfinity;
  for (int i = 0; i < kGrid; ++i)
    if (const double error = error_at(most * i / kGrid); error < least) least = error, best = i;
  double low = most * std::max(0, best - 1) / kGrid, high = most * (best + 1) / kGrid;
  for (int i = 0; i < kSections; ++i) {
    const double left = high - golden * (high - low), right = low + golden * (high - low);
    if (error_at(left) < error_at(right)) high = right;
    else low = left;
  }
  LossLaw law = at_floor(ladder.compute, log_losses, (low + high) / 2);
  law.is_floor_given = false;
  return law;
}

LogLadder checked(const Ladder& ladder, std::optional<double> floor) {
  LogLadder logs(ladder);
  if (!floor && logs.num_sizes() < 3) detail::fail("a law with a fitted floor needs at least 3 sizes, got ", logs.num_sizes());
  if (floor && !(*floor >= 0 && *floor < logs.smallest))
    detail::fail("the floor (", *floor, ") must be at least 0 and below every loss, the smallest is ", logs.smallest);
  return logs;
}

/// The `statistic` of each resample: laws of resampled seeds, and which seeds.
template <class Statistic>
void resample(const LogLadder& ladder, const LadderOptions& options, const Statistic& statistic) {
  SplitMix64 random(options.seed);
  std::vector<std::size_t> drawn(ladder.num_seeds);
  for (std::size_t i = 0; i < options.resamples; ++i) {
    for (auto& seed : drawn) seed = random.index(ladder.num_seeds);
    statistic(fitted(ladder, drawn, options.floor), drawn);
  }
}

/// Half the width of Student's t interval, from a statistic's resamples.
double reach_of(const std::vector<double>& resamples, std::size_t num_seeds, double level) {
  const bool finite = std::all_of(resamples.begin(), resamples.end(), [](double x) { return std::isfinite(x); });
  if (num_seeds < 2 || resamples.size() < 2 || !finite) return detail::kInfinity;
  const auto seeds = static_cast<double>(num_seeds);
  return detail::critical_t_of_seeds(num_seeds, (1 - level) / 2) * standard_deviation(resamples) * std::sqrt(seeds / (seeds - 1));
}

/// Half the width of the interval for ln(ℓ − E) of one more point at `at` = ln C, from the scatter about the law.
double reach_of_scatter(const LogLadder& ladder, const LossLaw& law, std::size_t variant, double at, double level) {
  const auto log_losses = ladder.means(every_seed(ladder));
  const auto line = [&](std::size_t v, double x) { return law.log_scale[v] - law.exponent * x; };
  // d ln(ℓ − E) / dE = −1 / (ℓ − E): what a fitted floor adds is one more column.
  const auto column = [&](std::size_t v, double x) { return law.is_floor_given ? 0.0 : std::exp(-line(v, x)); };
  double xx = 0, xz = 0, zz = 0, squares = 0, dx = 0, dz = 0;
  for (std::size_t v = 0; v < ladder.num_variants(); ++v) {
    std::vector<double> z;
    for (const double x : ladder.compute[v]) z.push_back(column(v, x));
    const double x_mean = mean_of(ladder.compute[v]), z_mean = mean_of(z);
    for (std::size_t k = 0; k < z.size(); ++k) {
      const double x = ladder.compute[v][k], miss = std::log(std::exp(log_losses[v][k]) - law.floor) - line(v, x);
      xx += (x - x_mean) * (x - x_mean), xz += (x - x_mean) * (z[k] - z_mean), zz += (z[k] - z_mean) * (z[k] - z_mean);
      squares += miss * miss;
    }
    if (v == variant) dx = at - x_mean, dz = column(v, at) - z_mean;
  }
  const double free = static_cast<double>(ladder.num_variants() * (ladder.num_sizes() - 1)) - (law.is_floor_given ? 1 : 2);
  if (free < 1) return detail::kInfinity;
  const double leverage = law.is_floor_given ? dx * dx / xx : (dx * dx * zz - 2 * dx * dz * xz + dz * dz * xx) / (xx * zz - xz * xz);
  return detail::critical_t(free, (1 - level) / 2) *
         std::sqrt(squares / free * (1 + 1 / static_cast<double>(ladder.num_sizes()) + leverage));
}

std::vector<double> slopes(const std::vector<double>& x, const std::vector<std::vector<double>>& y_of_seed) {
  const double centre = mean_of(x);
  std::vector<double> out;
  for (const auto& y : y_of_seed) {
    double products = 0, squares = 0;
    for (std::size_t k = 0; k < x.size(); ++k) products += (x[k] - centre) * y[k], squares += (x[k] - centre) * (x[k] - centre);
    out.push_back(products / squares);
  }
  return out;
}

}  // namespace

double LossLaw::loss(std::size_t variant, double compute) const {
  return floor + std::exp(log_scale.at(variant) - exponent * std::log(compute));
}

double LossLaw::multiplier(std::size_t variant, std::size_t reference) const {
  return std::exp((log_scale.at(reference) - log_scale.at(variant)) / exponent);
}

LossLaw fit_law(const Ladder& ladder, std::optional<double> floor) {
  const LogLadder logs = checked(ladder, floor);
  return fitted(logs, every_seed(logs), floor);
}

double compute_multiplier(double loss, double reference_loss, double floor, double exponent) {
  if (!(loss > floor && reference_loss > floor && exponent > 0))
    detail::fail("losses ", loss, " and ", reference_loss, " must be above the floor ", floor, ", and the exponent ", exponent, " above 0");
  return std::pow((reference_loss - floor) / (loss - floor), 1 / exponent);
}

std::vector<Estimate> multipliers(const Ladder& ladder, const LadderOptions& options) {
  const LogLadder logs = checked(ladder, options.floor);
  const LossLaw law = fitted(logs, every_seed(logs), options.floor);
  std::vector<std::vector<double>> resampled(logs.num_variants());
  resample(logs, options, [&](const LossLaw& again, const std::vector<std::size_t>&) {
    for (std::size_t v = 0; v < resampled.size(); ++v)
      resampled[v].push_back(again.exponent > 0 ? std::log(again.multiplier(v, 0)) : detail::kInfinity);
  });
  std::vector<Estimate> out;
  for (std::size_t v = 0; v < resampled.size(); ++v) {
    const double value = law.multiplier(v, 0), reach = reach_of(resampled[v], logs.num_seeds, options.level);
    out.push_back({value, {value * std::exp(-reach), value * std::exp(reach), options.level}});
  }
  return out;
}

std::vector<Estimate> predictions(const Ladder& ladder, const std::vector<double>& compute, const std::vector<Rung>* measured,
                                  const LadderOptions& options) {
  const LogLadder logs = checked(ladder, options.floor);
  const LossLaw law = fitted(logs, every_seed(logs), options.floor);
  std::vector<std::vector<double>> resampled(logs.num_variants());
  resample(logs, options, [&](const LossLaw& again, const std::vector<std::size_t>& drawn) {
    for (std::size_t v = 0; v < resampled.size(); ++v) {
      double there = 0;
      for (const std::size_t seed : drawn) there += std::log((measured ? measured->at(v) : ladder[v].back()).losses.at(seed));
      resampled[v].push_back(std::log(again.loss(v, compute.at(v))) - there / static_cast<double>(drawn.size()));
    }
  });
  std::vector<Estimate> out;
  for (std::size_t v = 0; v < resampled.size(); ++v) {
    const double value = law.loss(v, compute[v]), excess = value - law.floor;
    double of_seeds = reach_of(resampled[v], logs.num_seeds, options.level);
    const double of_scatter = reach_of_scatter(logs, law, v, std::log(compute[v]), options.level);
    if (logs.num_seeds == 1) of_seeds = 0;
    out.push_back({value,
                   {std::min(law.floor + excess * std::exp(-of_scatter), value * std::exp(-of_seeds)),
                    std::max(law.floor + excess * std::exp(of_scatter), value * std::exp(of_seeds)), options.level}});
  }
  return out;
}

std::vector<std::vector<double>> shares_that_hold(const Ladder& ladder, const std::vector<double>& times, const LadderOptions& options) {
  const LogLadder logs = checked(ladder, options.floor);
  if (logs.num_seeds < 2) return {};
  const auto measured = logs.means(every_seed(logs));
  std::vector<std::vector<double>> out(logs.num_variants(), std::vector<double>(times.size(), 0));
  resample(logs, options, [&](const LossLaw& shared, const std::vector<std::size_t>& drawn) {
    const auto means = logs.means(drawn);
    std::vector<LossLaw> own;
    for (std::size_t v = 0; v < out.size(); ++v) own.push_back(at_floor({logs.compute[v]}, {means[v]}, shared.floor));
    const auto loss = [&](std::size_t v, double factor) { return own[v].loss(0, factor * std::exp(logs.compute[v].back())); };
    for (std::size_t v = 0; v < out.size(); ++v)
      for (std::size_t t = 0; t < times.size(); ++t)
        out[v][t] += (loss(v, times[t]) < loss(0, times[t])) == (measured[v].back() < measured[0].back());
  });
  for (auto& of_variant : out)
    for (double& share : of_variant) share /= static_cast<double>(options.resamples);
  return out;
}

std::vector<double> log_ratio_slopes(const std::vector<Rung>& variant, const std::vector<Rung>& reference,
                                     const std::vector<double>& sizes) {
  const LogLadder logs({variant, reference});
  if (sizes.size() != logs.num_sizes()) detail::fail(sizes.size(), " sizes of a ladder with ", logs.num_sizes());
  std::vector<double> x;
  for (const double size : sizes) x.push_back(std::log2(size));
  std::vector<std::vector<double>> ratios(logs.num_seeds);
  for (std::size_t seed = 0; seed < logs.num_seeds; ++seed)
    for (std::size_t k = 0; k < x.size(); ++k) ratios[seed].push_back(logs.losses[0][k][seed] - logs.losses[1][k][seed]);
  return slopes(x, ratios);
}

std::vector<double> exponent_differences(const std::vector<Rung>& variant, const std::vector<Rung>& reference, double floor) {
  const LogLadder logs = checked({variant, reference}, floor);
  std::vector<std::vector<double>> of_side;
  for (std::size_t side = 0; side < 2; ++side) {
    std::vector<std::vector<double>> excess(logs.num_seeds);
    for (std::size_t seed = 0; seed < logs.num_seeds; ++seed)
      for (const auto& losses : logs.losses[side]) excess[seed].push_back(std::log(std::exp(losses[seed]) - floor));
    of_side.push_back(slopes(logs.compute[side], excess));
  }
  for (std::size_t seed = 0; seed < logs.num_seeds; ++seed) of_side[0][seed] = of_side[1][seed] - of_side[0][seed];
  return of_side[0];
}

DecisionAccuracy decision_accuracy(const Ladder& ladder, std::size_t size, double level) {
  const LogLadder logs(ladder);
  const auto means = logs.means(every_seed(logs));
  const auto order = [&](std::size_t a, std::size_t b, std::size_t k) { return (means[a][k] > means[b][k]) - (means[a][k] < means[b][k]); };
  DecisionAccuracy out{0, 0, {0, 1, level}};
  for (std::size_t a = 0; a < means.size(); ++a)
    for (std::size_t b = a + 1; b < means.size(); ++b, ++out.num_pairs)
      out.num_agreeing += order(a, b, size) == order(a, b, logs.num_sizes() - 1);
  if (out.num_pairs == 0) return out;
  const std::size_t num_disjoint = means.size() / 2;
  const double n = static_cast<double>(num_disjoint), z = detail::normal_quantile((1 + level) / 2);
  const double share = static_cast<double>(out.num_agreeing) / static_cast<double>(out.num_pairs);
  const double centre = share + z * z / (2 * n), reach = z * std::sqrt(share * (1 - share) / n + z * z / (4 * n * n));
  out.interval = {(centre - reach) / (1 + z * z / n), (centre + reach) / (1 + z * z / n), level};
  return out;
}

}  // namespace ffn::stats
