#include "ffn/compare/run_plan.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/base/text.hpp"
#include "ffn/data/table_cells.hpp"
#include "ffn/stats/permutation.hpp"
#include "ffn/stats/power.hpp"
#include "ffn/stats/unpaired.hpp"

namespace ffn {

namespace {

struct Amount {
  double value;
  bool is_relative;
};

Amount read_amount(const char* option, const std::string& text) {
  const bool is_relative = !text.empty() && text.back() == '%';
  auto digits = is_relative ? text.substr(0, text.size() - 1) : text;
  digits.resize(digits.find_last_not_of(' ') + 1);
  const auto number = number_in(digits);
  if (!number || !(*number > 0)) throw UsageError(std::string(option) + " " + text + ": not a size", "0.5% or 0.005");
  return {is_relative ? *number / 100 : *number, is_relative};
}

// Standard deviation within variants, on the mean of all, and the correlation of runs of one seed.
void measure_noise(const JudgeQuestion& noise, bool is_relative, RunPlan& out) {
  auto rows = read_run_rows(noise.files);
  auto asked = noise.columns;
  if (asked.by.empty()) {  // runs of one baseline need no column that tells variants apart
    const bool has_none = [&] {
      try {
        infer_columns(asked, rows, {});
        return false;
      } catch (const UsageError&) {
        return true;
      }
    }();
    if (has_none) {
      rows.columns.emplace_back("all runs");
      for (auto& row : rows.rows) row.emplace_back("all");
      asked.by = "all runs";
    }
  }
  const auto columns = infer_columns(asked, rows, read_taken(noise.take));
  const auto judged = runs_of_rows(rows, columns, read_taken(noise.take));
  std::map<std::pair<std::map<std::string, std::string>, std::string>, std::map<std::int64_t, double>> groups;
  std::size_t without = 0;
  for (const auto& run : judged.runs) {
    if (run.state != RunState::done) ++without;
    else groups[{run.keys, run.variant}][run.seed] = run.summary->metrics[0].final_value;
  }
  double squares = 0, sum = 0, freedom = 0, count = 0, products = 0;
  std::size_t shared = 0;
  std::vector<std::map<std::int64_t, double>> residuals;
  for (const auto& [name, values] : groups) {
    std::vector<double> all;
    for (const auto& [seed, value] : values) all.push_back(value);
    const double centre = stats::mean(all);
    residuals.emplace_back();
    for (const auto& [seed, value] : values) residuals.back()[seed] = value - centre;
    for (const double value : all) {
      squares += std::pow(value - centre, 2);
      sum += value;
    }
    freedom += static_cast<double>(all.size()) - 1;
    count += static_cast<double>(all.size());
  }
  if (freedom < 1)
    throw DataError("no variant has two runs with a number in " + judged.metric,
                    "noise is measured of runs that differ in their seeds alone");
  out.sd = std::sqrt(squares / freedom) / (is_relative ? std::abs(sum / count) : 1);
  double degrees = 0;
  for (std::size_t a = 0; judged.has_seeds && a < residuals.size(); ++a) {
    for (std::size_t b = a + 1; b < residuals.size(); ++b) {
      std::size_t both = 0;
      for (const auto& [seed, value] : residuals[a]) {
        const auto other = residuals[b].find(seed);
        if (other == residuals[b].end()) continue;
        products += value * other->second;
        ++both;
      }
      shared += both;
      if (both > 1) degrees += static_cast<double>(both) - 1;
    }
  }
  constexpr std::size_t kEnough = 4;
  if (shared >= kEnough && squares > 0) out.correlation = std::clamp(products / degrees / (squares / freedom), -1.0, 0.999);
  out.notes.push_back("noise of " + counted(static_cast<std::size_t>(count), "run") + " of " + counted(groups.size(), "variant") +
                      ", by \"" + judged.metric + "\"" +
                      (without > 0 ? "; " + counted(without, "run") + " without a number left out" : ""));
}

template <class Power>
std::size_t fewest_runs(std::size_t least, Power power) {
  std::size_t n = std::max<std::size_t>(2, least);
  while (n <= kMostPlanned && power(n) < stats::kDefaultPower) n += n < 1000 ? 1 : n / 500;
  return n > kMostPlanned ? 0 : n;
}

}  // namespace

RunPlan plan_runs(const std::string& effect_text, const std::string& sd_text, const JudgeQuestion& noise) {
  RunPlan out;
  const Amount effect = read_amount("--effect", effect_text);
  out.is_relative = effect.is_relative;
  if (!sd_text.empty()) {
    const Amount sd = read_amount("--sd", sd_text);
    if (sd.is_relative != effect.is_relative)
      throw UsageError("--effect " + effect_text + " and --sd " + sd_text, "give both in percent, or neither");
    out.sd = sd.value;
  } else if (!noise.files.empty()) {
    measure_noise(noise, effect.is_relative, out);
  } else {
    throw UsageError("--plan needs the noise of a run", "--sd 0.4%, or --noise FILE with runs that differ in their seeds alone");
  }
  const double alpha = noise.config.alpha, size = out.sd > 0 ? effect.value / out.sd : INFINITY;
  out.rows.push_back(
      {"unpaired", fewest_runs(stats::runs_for_any_verdict(alpha), [&](std::size_t n) { return stats::unpaired_power(size, n, alpha); })});
  const auto paired = [&](double correlation) {
    const double of_pairs = size / std::sqrt(2 * (1 - correlation));
    return fewest_runs(stats::seeds_for_any_verdict(alpha), [&](std::size_t n) { return stats::paired_power(of_pairs, n, alpha); });
  };
  const auto row = [&](double correlation) {
    out.rows.push_back({"paired by seed, correlation " + significant(correlation, 2), paired(correlation)});
  };
  if (out.correlation) row(*out.correlation);
  else
    for (const double correlation : {0.0, 0.5, 0.9}) row(correlation);
  return out;
}

}  // namespace ffn
