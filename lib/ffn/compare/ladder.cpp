#include "ffn/compare/ladder.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "ffn/base/error.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/json_document.hpp"
#include "ffn/base/text.hpp"
#include "ffn/compare/compare.hpp"
#include "ffn/compare/note.hpp"
#include "ffn/compare/outcomes.hpp"
#include "ffn/compare/pairs.hpp"
#include "ffn/compare/run_keys.hpp"
#include "ffn/compare/shown_names.hpp"
#include "ffn/config/metrics.hpp"
#include "ffn/data/corpus.hpp"
#include "ffn/stats/verdict.hpp"
#include "ffn/store/run_directory.hpp"

namespace ffn {

namespace {

// Below, models of text lie on no law: on our own ladder a fit of widths 16 to 48 missed the next size by 3 to 5 %.
constexpr double kFewestParameters = 5e4;
// Up to four readings of a text are nearly worth fresh text (Muennighoff et al. 2023, arXiv:2305.16264).
constexpr double kMostEpochs = 4;
constexpr double kCeiling = 0.999;  // of accuracy: what is left of the loss is no matter of size
constexpr std::size_t kResamples = 2000;
// Wider intervals, from end to end, tell nothing: of a multiplier, and of the loss that a law predicts.
constexpr double kWidestMultiplier = 100, kWidestPrediction = 2;

using Runs = std::map<std::int64_t, const FoundRun*>;

/// [value][size], seeds that all of them have.
struct LadderRuns {
  std::vector<std::vector<Runs>> runs;
  std::vector<std::int64_t> seeds;
  std::size_t num_lost = 0;  ///< runs that are over without a value
};

LadderRuns complete_runs(const std::vector<Cell>& cells, const std::vector<std::string>& values, const Metric& metric) {
  LadderRuns out;
  std::map<std::int64_t, std::size_t> count;
  for (const auto& value : values) {
    auto& of_value = out.runs.emplace_back();
    for (const auto& cell : cells) {
      const auto group = cell.runs.find(value);
      of_value.push_back(group == cell.runs.end() ? Runs() : by_seed(group->second, metric));
      for (const auto& [seed, run] : of_value.back()) {
        const bool has_value = stats::has_value(outcome_of(*run, metric));
        count[seed] += has_value;
        out.num_lost += run->summary && !has_value;
      }
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

/// A model of a text.
struct TextModel {
  double parameters;  ///< N of the ladder's rules
  double epochs;      ///< how often it read the training part; NaN where the text is gone, or another is in its place
};

std::optional<TextModel> text_model(const FoundRun& run) {
  if (value_of(run, "task.kind") != TextConfig::kKind) return std::nullopt;
  const auto record = read_record(run.path);
  if (!record) return std::nullopt;
  const RunConfig config = config_of(*record, RunDirectory(run.path));
  const auto& text = std::get<TextConfig>(config.task);
  TextModel out{ladder_parameters(config.model, text.context), NAN};
  if (!path_exists(text.file)) return out;
  const auto corpus = read_corpus(text);
  if (corpus->sha256 == run.text)
    out.epochs = static_cast<double>(run.budget_steps) * static_cast<double>(run.tokens_per_step) /
                 static_cast<double>(corpus->text.size() - corpus->held_out);
  return out;
}

void note_epochs(const LadderRuns& all, const LadderAnswer& answer, Comparison& out) {
  std::vector<std::string> parts;
  for (std::size_t k = 0; k < answer.sizes.size(); ++k) {
    const auto model = text_model(*all.runs[0][k].at(all.seeds[0]));
    if (model && model->epochs > 1)
      parts.push_back(one_decimal(model->epochs) + " times at " + shown_key(out, answer.key) + " " + answer.sizes[k].value);
  }
  if (!parts.empty()) add_note(note::kEpochs, {join(parts)}, out);
}

bool is_at_ceiling(const Runs& runs, const std::vector<std::int64_t>& seeds) {
  std::size_t count = 0;
  for (const auto seed : seeds) {
    const auto accuracy = logged_value(*runs.at(seed)->summary, metric::kValAccuracy.name);
    count += accuracy && *accuracy >= kCeiling;
  }
  return 2 * count > seeds.size();
}

/// Reasons against a law, whatever the fit says.
std::string reason_against(const LadderRuns& all, const std::vector<std::string>& sizes, const std::string& key, const Comparison& c) {
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const FoundRun& run = *all.runs[0][k].at(all.seeds[0]);
    const std::string at = "at " + key + " " + sizes[k];
    if (!(training_flops(run) > 0)) return "the FLOPs of these runs are not known";
    for (const auto& of_value : all.runs)
      if (is_at_ceiling(of_value[k], all.seeds)) return at + " the task is at its ceiling";
    const auto model = text_model(run);
    if (!model) continue;
    if (std::isnan(model->epochs)) return "the text of these runs is not at " + value_of(run, "task.file") + " any more";
    if (model->epochs > kMostEpochs) return at + " the text is read " + one_decimal(model->epochs) + " times";
    if (model->parameters < kFewestParameters)
      return at + " a model of text has fewer than 50,000 parameters outside embeddings and head, too few for a law";
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
    if (!(m.interval.high < kWidestMultiplier * m.interval.low)) continue;
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
      if (!(interval.high < kWidestPrediction * interval.low)) out.no_projection = "too few sizes and seeds to hold a law against";
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
  out.no_law = reason_against(all, sizes, config.key, c);
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
  const bool only_sizes = !cells.empty() && cells[0].keys.size() == 1 && cells[0].keys.count(config.key) > 0;
  const bool has_ratios = metric.kind() == stats::MetricKind::minimised && out.as_ratios && !out.mixed_scales;
  if (!only_sizes || cells.size() != config.num_sizes() || !has_ratios) {
    add_note(note::kNoLadder,
             {!only_sizes   ? "sizes are not the only groups"
              : !has_ratios ? metric.name + " is not compared as ratios"
                            : "there are runs of " + std::to_string(cells.size()) + " sizes, not of " + std::to_string(config.num_sizes())},
             out);
    return;
  }
  check_speeds(*config.tokens_per_s, values, out.by);
  const LadderRuns all = complete_runs(cells, values, metric);
  if (all.seeds.empty() && all.num_lost == 0) return;  // nothing is over
  LadderAnswer answer;
  answer.key = config.key;
  answer.num_seeds = all.seeds.size();
  answer.has_rules = config.tokens_per_param.has_value();
  if (out.tuned) answer.tuned_at = config.tuned_at;
  for (const auto& value : values) answer.variants.push_back({value, std::nullopt, false, std::nullopt, std::nullopt});
  std::vector<double> sizes;
  for (std::size_t k = 0; k < cells.size(); ++k) {
    const std::string& value = cells[k].keys.at(config.key);
    sizes.push_back(std::strtod(value.c_str(), nullptr));
    const Runs& runs = all.runs[0][k];
    answer.sizes.push_back(
        {value, k >= config.values->size(), runs.empty() ? 0 : training_flops(*runs.begin()->second), {0, 0, {0, 1, 1 - out.alpha}}});
  }
  if (all.num_lost > 0) {  // the seeds that are left would speak for those that are lost
    answer.no_law = std::to_string(all.num_lost) + (all.num_lost == 1 ? " run has" : " runs have") + " no " + metric.name;
    out.ladder = std::move(answer);
    return;
  }
  const auto ladder = losses_of(all, metric);
  for (std::size_t k = 0; k < sizes.size(); ++k) answer.sizes[k].accuracy = stats::decision_accuracy(ladder, k, 1 - out.alpha);
  stats::CompareOptions options;
  options.alpha = out.alpha;
  options.resamples = 1;
  add_slopes(ladder, sizes, options, answer);
  add_law(ladder, all, config, options, request.resamples, out, answer);
  note_epochs(all, answer, out);
  out.ladder = std::move(answer);
}

}  // namespace ffn
