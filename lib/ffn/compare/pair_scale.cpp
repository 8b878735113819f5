#include "ffn/compare/pair_scale.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/base/error.hpp"
#include "ffn/base/text.hpp"
#include "ffn/compare/each.hpp"
#include "ffn/compare/note.hpp"
#include "ffn/compare/shown_names.hpp"

namespace ffn {

namespace {

using stats::MetricKind;
using stats::PairedTest;
using stats::PairedValues;

constexpr std::size_t kMostNoted = 4;  // pairs that a note names

bool positive_or_none(const stats::Outcome& run) { return !run || *run > 0; }

// " at expansion 4".
std::string place_of(const Comparison& c, const Facet& facet) { return facet.keys.empty() ? "" : " at " + facet_title(c, facet); }

std::string noted(std::vector<std::string> parts) {
  const std::size_t all = parts.size();
  if (all > kMostNoted) {
    parts.resize(kMostNoted);
    parts.push_back("and " + std::to_string(all - kMostNoted) + " more");
  }
  return join(parts, "; ");
}

// Its value, and what it is held against where that is not the study's reference.
std::string pair_name(const Comparison& c, const PairResult& pair) {
  return shown_value(c, pair.value) + (pair.reference == c.reference ? "" : " against " + shown_value(c, pair.reference));
}

}  // namespace

void check_scale(const std::string& asked, const std::string& metric, MetricKind kind) {
  if (kind == MetricKind::time_to_target && (asked == "difference" || asked == "ratio"))
    throw UsageError("compare.scale is " + asked + ", but " + metric + " is compared by ranks: a run that never gets there has no time",
                     "leave compare.scale at auto");
  if (kind == MetricKind::maximised && asked == "ratio")
    throw UsageError("compare.scale is ratio, but " + metric + " need not be positive", "use compare.scale=difference or ranks");
}

PairScale::PairScale(const std::string& asked, const std::string& metric, MetricKind kind, const std::vector<stats::Outcome>& runs)
    : asked_(asked), kind_(kind), values_(stats::choose_values(kind, runs)) {
  check_scale(asked, metric, kind);
  if (asked == "difference") values_ = PairedValues::difference;
  const auto positive = std::count_if(runs.begin(), runs.end(), positive_or_none);
  if (asked == "ratio" && values_ != PairedValues::log_ratio)
    throw UsageError("compare.scale is ratio, but " + metric + " is not positive in " +
                         std::to_string(static_cast<std::ptrdiff_t>(runs.size()) - positive) + " of " + std::to_string(runs.size()) +
                         " runs",
                     "use compare.scale=difference or ranks");
}

double PairScale::margin(double min_effect) const { return as_ratios() ? std::log1p(min_effect) : min_effect; }

std::vector<double> PairScale::advantages(const std::vector<stats::Outcome>& variant, const std::vector<stats::Outcome>& reference) const {
  return stats::advantages(kind_, values_, variant, reference);
}

stats::TestRule PairScale::test_rule() const {
  if (asked_ == "auto" || kind_ == MetricKind::time_to_target) return stats::test_rule(kind_);
  if (asked_ == "ranks") return [](const std::vector<double>&) { return PairedTest::signed_rank; };
  return [](const std::vector<double>& differences) {  // there is no mean where a run has no value
    const bool complete = std::all_of(differences.begin(), differences.end(), [](double d) { return std::isfinite(d); });
    return complete ? PairedTest::sign_flip_of_mean : PairedTest::signed_rank;
  };
}

stats::Scale PairScale::of_pair(const std::vector<stats::Outcome>& variant, const std::vector<stats::Outcome>& reference) const {
  stats::Scale scale = stats::choose_test(kind_, values_, variant, reference);
  if (asked_ == "auto" || kind_ == MetricKind::time_to_target) return scale;
  const auto has_value = [](const stats::Outcome& run) { return run.has_value(); };
  const bool complete =
      std::all_of(variant.begin(), variant.end(), has_value) && std::all_of(reference.begin(), reference.end(), has_value);
  if (asked_ == "ranks") return {values_, PairedTest::signed_rank, "ranks, the scale that was asked for"};
  if (!complete) return scale;  // there is no mean
  return {values_, PairedTest::sign_flip_of_mean, asked_ + ", the scale that was asked for"};
}

void note_scale(const std::string& asked, Comparison& c) {
  std::size_t pairs = 0, missing = 0, values = 0;
  std::vector<std::string> by_ranks;
  for_each_pair(c, [&](const Facet& facet, const PairResult& pair) {
    ++pairs;
    const std::size_t without = pair.paired.missing_variant + pair.paired.missing_reference;
    missing += without;
    const auto& unpaired = pair.paired.unpaired;
    values += (unpaired ? unpaired->num_variant + unpaired->num_reference : 2 * pair.paired.num_seeds) - without;
    if (!stats::is_of_ranks(pair.paired.test) || asked == "ranks") return;
    const auto& reason = pair.paired.test_reason;
    const auto because = reason.find(", because ");
    by_ranks.push_back(pair_name(c, pair) + place_of(c, facet) + (because == std::string::npos ? "" : reason.substr(because)));
  });
  if (pairs == 0) return;
  const std::string form = c.as_ratios ? "ratios" : "differences";
  if (asked != "auto") add_note(note::kScaleAsked, {(asked == "ranks" ? "by ranks of " : "as ") + form, asked}, c);
  else if (values == 0) add_note(note::kNoValue, {c.metric}, c);
  else if (c.as_ratios) add_note(note::kRatios, {c.metric, missing > 0 ? " that have a value" : ""}, c);
  else if (!c.higher_is_better) add_note(note::kDifferences, {c.metric}, c);
  if (!by_ranks.empty()) add_note(note::kByRanks, {noted(std::move(by_ranks))}, c);
}

void note_bad_runs(Comparison& c) {
  std::vector<std::string> counts;
  bool any_limit = false;
  for_each_pair(c, [&](const Facet& facet, const PairResult& pair) {
    if (!pair.bad || pair.bad->variant + pair.bad->reference == 0) return;
    any_limit = any_limit || std::isfinite(pair.bad->limit);
    counts.push_back(shown_value(c, pair.value) + " " + std::to_string(pair.bad->variant) + " and " + shown_value(c, pair.reference) + " " +
                     std::to_string(pair.bad->reference) + " of " + std::to_string(pair.paired.num_seeds) + " seeds" + place_of(c, facet));
  });
  if (!counts.empty())
    add_note(note::kBadRuns,
             {c.metric, any_limit ? "above 10 times the median of both sides, or no value" : "without a value", noted(std::move(counts))},
             c);
}

}  // namespace ffn
