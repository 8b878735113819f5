#include "ffn/compare/ladder.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "ffn/base/error.hpp"
#include "ffn/base/json_document.hpp"
#include "ffn/base/text.hpp"
#include "ffn/compare/compare.hpp"
#include "ffn/compare/note.hpp"
#include "ffn/compare/outcomes.hpp"
#include "ffn/compare/pairs.hpp"
#include "ffn/compare/run_keys.hpp"
#include "ffn/compare/shown_names.hpp"
#include "ffn/config/metrics.hpp"
#include "ffn/stats/verdict.hpp"

namespace ffn {

namespace {

// Below, models of text lie on no law: on our own ladder a fit of widths 16 to 48 missed the next size by 3 to 5 %.
constexpr double kFewestParameters = 5e4;
// Up to four readings of a text are nearly worth fresh text (Muennighoff et al. 2023, arXiv:2305.16264).
constexpr double kMostEpochs = 4;
constexpr double kCeiling = 0.999;  // of accuracy: what is left of the loss is no matter of size
constexpr std::size_t kResamples = 2000;

using Runs = std::map<std::int64_t, const FoundRun*>;

/// [value][size], seeds that all of them have.
struct LadderRuns {
  std::vector<std::vector<Runs>> runs;
  std::vector<std::int64_t> seeds;
};

LadderRuns complete_runs(const std::vector<Cell>& cells, const std::vector<std::string>& values, const Metric& metric) {
  LadderRuns out;
  std::map<std::int64_t, std::size_t> count;
  for (const auto& value : values) {
    auto& of_value = out.runs.emplace_back();
    for (const auto& cell : cells) {
      const auto group = cell.runs.find(value);
      of_value.push_back(group == cell.runs.end() ? Runs() : by_seed(group->second, metric));
      for (const auto& [seed, run] : of_value.back()) count[seed] += stats::has_value(outcome_of(*run, metric));
    }
  }
  for (const auto& [seed, times] : count)
    if (times == values.size() * cells.size()) out.seeds.push_back(seed);
  return out;
}

double training_flops(const FoundRun& run) {
  return 3.0 * static_cast<double>(run.flops_per_token) * static_cast<double>(run.tokens_per_step) * static_cast<double>(run.budget_steps);
}

double mean_seconds(const Runs& runs, const std::vector<std::int64_t>& seeds) {
  double sum = 0;
  for (const auto seed : seeds) sum += runs.at(seed)->summary->train_seconds;
  return sum / static_cast<double>(seeds.size());
}

stats::Ladder losses_of(const LadderRuns& all, const Metric& metric) {
  stats::Ladder out;
  for (const auto& of_value : all.runs) {
    out.emplace_back();
    for (const auto& runs : of_value) {
      stats::Rung rung{std::max(1.0, training_flops(*runs.begin()->second)), {}};
      for (const auto seed : all.seeds) rung.losses.push_back(*outcome_of(*runs.at(seed), metric));
      out.back().push_back(std::move(rung));
    }
  }
  return out;
}

stats::Ladder first_sizes(const stats::Ladder& ladder, std::size_t num_sizes) {
  stats::Ladder out;
  for (const auto& rungs : ladder) out.emplace_back(rungs.begin(), rungs.begin() + static_cast<std::ptrdiff_t>(num_sizes));
  return out;
}

/// Which of these contrasts have a verdict, corrected for all of them.
std::vector<bool> sure_of(const std::vector<stats::PairedResult>& results) {
  std::vector<bool> out;
  for (const auto& judgement : stats::judge(results))
    out.push_back(judgement.verdict == stats::Verdict::better || judgement.verdict == stats::Verdict::worse);
  return out;
}

// ---- why not to follow a law

std::string one_decimal(double x) { return number_text(std::round(10 * x) / 10); }

double characters_trained(const FoundRun& run) { return static_cast<double>(run.budget_steps) * static_cast<double>(run.tokens_per_step); }

// How often a run read the training part of its text; 0 where the file is not there any more.
double epochs(const FoundRun& run) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(value_of(run, "task.file"), error);
  if (error || bytes == 0) return 0;
  const double held_out = std::strtod(value_of(run, "task.validation_fraction").c_str(), nullptr);
  return characters_trained(run) / (static_cast<double>(bytes) * (1 - held_out));
}

void note_epochs(const LadderRuns& all, const LadderAnswer& answer, Comparison& out) {
  std::vector<std::string> parts;
  for (std::size_t k = 0; k < answer.sizes.size(); ++k) {
    const FoundRun& run = *all.runs[0][k].at(all.seeds[0]);
    if (value_of(run, "task.kind") == TextConfig::kKind && epochs(run) > 1)
      parts.push_back(one_decimal(epochs(run)) + " times at " + shown_key(out, answer.key) + " " + answer.sizes[k].value);
  }
  if (!parts.empty()) add_note(note::kEpochs, {join(parts)}, out);
}

/// Reasons against a law, whatever the fit says.
std::string reason_against(const LadderRuns& all, const std::vector<std::string>& sizes, const LadderConfig& config, const Comparison& c) {
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const FoundRun& run = *all.runs[0][k].at(all.seeds[0]);
    const std::string at = "at " + config.key + " " + sizes[k];
    if (!(training_flops(run) > 0)) return "the FLOPs of these runs are not known";
    std::size_t at_ceiling = 0;
    for (const auto seed : all.seeds) {
      const auto accuracy = logged_value(*all.runs[0][k].at(seed)->summary, metric::kValAccuracy.name);
      at_ceiling += accuracy && *accuracy >= kCeiling;
    }
    if (2 * at_ceiling > all.seeds.size()) return at + " the task is at its ceiling";
    if (value_of(run, "task.kind") != TextConfig::kKind) continue;
    const bool ruled = config.tokens_per_param && !config.with->contains("train.steps");
    const double parameters =
        ruled ? characters_trained(run) / *config.tokens_per_param : static_cast<double>(run.summary->cost.parameters);
    // Steps are rounded.
    if (parameters < .99 * kFewestParameters) return at + " a model of text has fewer than 50,000 parameters, too few for a law";
    if (epochs(run) > kMostEpochs) return at + " the text is read " + one_decimal(epochs(run)) + " times";
  }
  for (const auto& variant : c.tuned ? c.tuned->variants : std::vector<TunedVariant>())
    if (!variant.edge.empty()) return "the chosen " + variant.edge[0] + " of " + variant.name + " is at the end of its grid";
  return "";
}

// ---- the parts

void add_slopes(const stats::Ladder& ladder, const std::vector<double>& sizes, const stats::CompareOptions& options, LadderAnswer& out) {
  std::vector<stats::PairedResult> slopes;
  for (std::size_t v = 1; v < ladder.size(); ++v)
    slopes.push_back(stats::compare_contrast(stats::log_ratio_slopes(ladder[v], ladder[0], sizes), stats::Direction::lower_is_better,
                                             stats::PairedValues::log_ratio, options));
  const auto sure = sure_of(slopes);
  for (std::size_t v = 1; v < ladder.size(); ++v) {
    out.variants[v].slope = slopes[v - 1];
    out.variants[v].is_slope_sure = sure[v - 1];
  }
}

/// Names of variants whose exponent is surely another than the reference's.
std::vector<std::string> other_exponents(const stats::Ladder& ladder, const stats::LossLaw& law, const stats::CompareOptions& options,
                                         const Comparison& c, const LadderAnswer& out) {
  std::vector<stats::PairedResult> differences;
  for (std::size_t v = 1; v < ladder.size(); ++v)
    differences.push_back(stats::compare_contrast(stats::exponent_differences(ladder[v], ladder[0], law.floor),
                                                  stats::Direction::lower_is_better, stats::PairedValues::difference, options));
  std::vector<std::string> names;
  const auto sure = sure_of(differences);
  for (std::size_t v = 1; v < ladder.size(); ++v)
    if (sure[v - 1]) names.push_back(shown_value(c, out.variants[v].value));
  return names;
}

void check_speeds(const Json& tokens_per_s, const std::vector<std::string>& values, const std::string& by) {
  if (tokens_per_s.empty()) return;
  const auto is_there = [&](const std::string& value) { return tokens_per_s.contains(value); };
  if (tokens_per_s.size() != values.size() || !std::all_of(values.begin(), values.end(), is_there))
    throw UsageError("ladder.tokens_per_s " + dump_json(tokens_per_s) + " is not of the values that are compared",
                     "give one number for each value of " + by + ": " + join(values));
}

void add_multipliers(const stats::Ladder& ladder, const LadderRuns& all, const Json& tokens_per_s, const stats::LadderOptions& options,
                     LadderAnswer& out) {
  const auto estimates = stats::multipliers(ladder, options);
  out.is_speed_given = !tokens_per_s.empty();
  const auto throughput = [&](std::size_t v) {
    const Runs& runs = all.runs[v].back();
    return out.is_speed_given
               ? tokens_per_s[out.variants[v].value].get<double>() * static_cast<double>(runs.begin()->second->flops_per_token)
               : ladder[v].back().compute / mean_seconds(runs, all.seeds);
  };
  for (std::size_t v = 1; v < ladder.size(); ++v) {
    const auto& m = estimates[v];
    out.variants[v].multiplier = m;
    const double ratio = stats::effective_speedup(1, throughput(v), throughput(0));
    if (std::isfinite(ratio) && ratio > 0)
      out.variants[v].speedup = stats::Estimate{m.value * ratio, {m.interval.low * ratio, m.interval.high * ratio, m.interval.level}};
  }
}

/// Holds the law of the other sizes against the held-out ones. All intervals together miss a true law with a chance of 1 − level.
void add_predictions(const stats::Ladder& ladder, std::size_t num_fitted, stats::LadderOptions options, LadderAnswer& out) {
  const std::size_t held_out = ladder[0].size() - num_fitted;
  if (held_out == 0) {
    out.no_projection = "no size is held out (ladder.hold_out)";
    return;
  }
  if (!options.floor && num_fitted < 3) {
    out.no_projection = "a law with a fitted floor needs 3 sizes besides those held out";
    return;
  }
  options.level = 1 - (1 - options.level) / static_cast<double>(ladder.size() * held_out);
  std::vector<std::string> missed;
  for (std::size_t k = num_fitted; k < ladder[0].size(); ++k) {
    std::vector<double> compute;
    std::vector<stats::Rung> there;
    for (const auto& rungs : ladder) {
      compute.push_back(rungs[k].compute);
      there.push_back(rungs[k]);
    }
    const auto predicted = stats::predictions(first_sizes(ladder, num_fitted), compute, &there, options);
    for (std::size_t v = 0; v < ladder.size(); ++v) {
      auto& variant = out.variants[v];
      variant.predicted.push_back(predicted[v]);
      variant.measured.push_back(stats::geometric_mean(there[v].losses, options.level).value);
      const auto& interval = predicted[v].interval;
      if (interval.unbounded() || !std::isfinite(interval.high)) out.no_projection = "too few sizes and seeds to hold a law against";
      else if (interval.excludes(variant.measured.back())) missed.push_back(out.sizes[k].value);
    }
  }
  if (!missed.empty()) out.no_projection = "the sizes do not lie on a law";
}

void add_projection(const stats::Ladder& ladder, const stats::LadderOptions& options, LadderAnswer& out) {
  out.projected_compute = stats::kFarthestProjection * ladder[0].back().compute;
  std::vector<double> compute;
  for (const auto& rungs : ladder) compute.push_back(stats::kFarthestProjection * rungs.back().compute);
  const auto projected = stats::predictions(ladder, compute, nullptr, options);
  for (std::size_t v = 0; v < ladder.size(); ++v) out.variants[v].projected = projected[v];
}

void add_holding(const stats::Ladder& ladder, const stats::LadderOptions& options, LadderAnswer& out) {
  const auto shares = stats::shares_that_hold(ladder, {std::begin(kHoldingTimes), std::end(kHoldingTimes)}, options);
  for (std::size_t v = 1; v < shares.size(); ++v) out.variants[v].holds = shares[v];
}

void add_law(const stats::Ladder& ladder, const LadderRuns& all, const LadderConfig& config, const stats::CompareOptions& options,
             std::size_t resamples, const Comparison& c, LadderAnswer& out) {
  std::vector<std::string> sizes;
  for (const auto& size : out.sizes) sizes.push_back(size.value);
  out.no_law = reason_against(all, sizes, config, c);
  if (out.no_law.empty() && !config.floor && ladder[0].size() < 3)
    out.no_law = "a law with a fitted floor needs 3 sizes; add some, or give ladder.floor";
  double smallest = INFINITY;
  for (const auto& rungs : ladder)
    for (const auto& rung : rungs)
      for (const double loss : rung.losses) smallest = std::min(smallest, loss);
  if (config.floor && !(*config.floor < smallest))
    out.no_law = "ladder.floor " + number_text(*config.floor) + " is not below every loss, the smallest being " + number_text(smallest);
  if (!out.no_law.empty()) return;
  const auto law = stats::fit_law(ladder, config.floor);
  if (!(law.exponent > 0)) {
    out.no_law = "losses do not fall from size to size";
    return;
  }
  out.law = law;
  stats::LadderOptions fit;
  fit.floor = config.floor;
  fit.level = 1 - options.alpha;
  fit.resamples = std::min(resamples, kResamples);
  add_predictions(ladder, ladder[0].size() - config.num_held_out(), fit, out);
  if (out.no_projection.empty()) add_holding(ladder, fit, out);
  if (const auto names = other_exponents(ladder, law, options, c, out); !names.empty()) {
    out.no_law = "losses fall at another rate with " + join(names, " and ");  // no multiplier serves all sizes
    out.law.reset();
    return;
  }
  add_multipliers(ladder, all, *config.tokens_per_s, fit, out);
  if (out.no_projection.empty()) add_projection(ladder, fit, out);
}

}  // namespace

void add_ladder(const std::vector<Cell>& cells, const std::vector<std::string>& values, const Metric& metric, const CompareRequest& request,
                Comparison& out) {
  if (!request.ladder) return;
  const LadderConfig& config = *request.ladder;
  const bool only_sizes =
      !cells.empty() && cells.size() == config.num_sizes() && cells[0].keys.size() == 1 && cells[0].keys.count(config.key) > 0;
  if (!only_sizes || metric.kind() != stats::MetricKind::minimised || !out.as_ratios || out.mixed_scales) {
    add_note(note::kNoLadder, {only_sizes ? metric.name + " is not compared as ratios" : "sizes are not the only groups"}, out);
    return;
  }
  check_speeds(*config.tokens_per_s, values, out.by);
  const LadderRuns all = complete_runs(cells, values, metric);
  if (all.seeds.empty()) return;
  LadderAnswer answer;
  answer.key = config.key;
  answer.num_seeds = all.seeds.size();
  if (out.tuned) answer.tuned_at = config.tuned_at;
  const auto ladder = losses_of(all, metric);
  std::vector<double> sizes;
  for (std::size_t k = 0; k < cells.size(); ++k) {
    const std::string& value = cells[k].keys.at(config.key);
    sizes.push_back(std::strtod(value.c_str(), nullptr));
    answer.sizes.push_back({value, k >= config.values->size(), ladder[0][k].compute, stats::decision_accuracy(ladder, k, 1 - out.alpha)});
  }
  for (const auto& value : values) answer.variants.push_back({value, std::nullopt, false, std::nullopt, std::nullopt});
  stats::CompareOptions options;
  options.alpha = out.alpha;
  options.resamples = 1;
  add_slopes(ladder, sizes, options, answer);
  add_law(ladder, all, config, options, request.resamples, out, answer);
  note_epochs(all, answer, out);
  out.ladder = std::move(answer);
}

}  // namespace ffn
