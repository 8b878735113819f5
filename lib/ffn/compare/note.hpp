// Notes beside the numbers of a comparison: one text for each kind. Each {} is a part of what it is about, in order.
#pragma once

#include <string>
#include <vector>

namespace ffn {

struct Comparison;

struct Note {
  const char* text;
};

namespace note {

// Which runs there are.
constexpr Note kLeftOut{"{} left out, for damage: {} (the command that trained them trains them again; `ffn-train check` says more)"};
constexpr Note kMissing{"{} not there, but listed in study.json: {}"};
constexpr Note kExtra{"{} left out, being no part of the study (study.json): {}; --all takes them in"};
constexpr Note kCopies{"{} found twice and {} counted once{}"};
constexpr Note kUnpaired{"{} finished on one side of a pair only and {} left out of it"};
constexpr Note kLonely{"{} of {} groups have no pair with {} = {} that is finished"};
constexpr Note kWaiting{
    "verdicts, differences and intervals are of the interim analysis at {} seeds; up to {} more are finished and count at the next one"};
constexpr Note kMixedEngines{"{} were computed differently, which rounds differently: {}"};
constexpr Note kMoved{
    "{} went on under another engine or processor than they began with: bits may differ from those of an undisturbed run"};

// Keys that vary.
constexpr Note kConstant{"{} does not vary (it is {} in every run), so by it there is nothing to compare; {}"};
constexpr Note kLabels{"the variants differ in {}"};
constexpr Note kGoesAlong{"{} does not vary alone: with it {} {}"};
constexpr Note kSizes{"sizes differ: {} parameters, {}{}"};
constexpr Note kBudgets{"budgets differ ({} to {} steps): pairs are compared up to the smaller one"};
constexpr Note kTunedByAnother{
    "values were chosen by {} and are compared by {}, which other values may suit better; tune.metric={} chooses by what is compared"};
constexpr Note kAtEdge{"the chosen {} is the lowest or highest that was tried for {}: a wider grid may do better"};
constexpr Note kSeedsAtEdge{
    "half of the seeds or more chose the lowest {} that was tried, or the highest, for {}: a wider grid may do better (by itself it grows "
    "where the first 5 seeds together do best at its end)"};
constexpr Note kOneChoice{
    "one choice for all seeds: up to 23 % of studies give equal variants a verdict{}; tune.retune=per_seed, or {}, avoids it"};

// How it was compared.
constexpr Note kUnlike{"these are {}: they stand side by side and are not judged{}"};
constexpr Note kSeconds{
    "seconds are shown, not judged: they tell how busy the machine was as well as what a variant costs; use steps_to_target or "
    "flops_to_target"};
constexpr Note kUnmeasured{"{} is not measured with {} = {}, and not compared there"};
constexpr Note kNoValue{"no run has a value of {}"};
constexpr Note kScaleAsked{"compared {} (scale {})"};
constexpr Note kRatios{"compared as ratios, because {} is positive in all runs{}"};
constexpr Note kDifferences{"compared as differences, because {} is not positive in all runs"};
constexpr Note kByRanks{"by ranks: {}"};
constexpr Note kBadRuns{"bad runs ({} {}): {}"};
constexpr Note kSkewed{
    "the differences of {} are skewed: at equal means 10 to 17 % of such studies would come to a verdict, not 5 %. Look at single seeds; a "
    "new study with compare.scale=ranks asks about a typical seed instead"};
constexpr Note kCoarseTimes{"many pairs are tied, since runs are evaluated every {} steps: train.eval_every={} would tell them apart"};
constexpr Note kLostAfterHit{"some runs reached the target and diverged later; their hits count ({})"};
constexpr Note kOver{
    "each seed counts by its mean over {}, and the verdicts are about these values of it alone; learning curves are of the first"};
constexpr Note kCrossed{"intervals that cover other values like these, too (variant against {}): {}"};
constexpr Note kContrastValues{"main effects and interactions need a value{} of every run; not tested: {}"};
constexpr Note kContrastTimes{
    "main effects and interactions are ratios of times cut at {} {}; a run that does not get there by then counts with all of them"};

// Limits of the data.
constexpr Note kAllFacts{"both know all facts, so that only their sizes differ, and they are not judged: {}; ask with more facts"};
constexpr Note kBelowSizes{"differences below those of the sizes are not judged: {}"};
constexpr Note kMostBits{"all facts known would be {} ({}){}"};
constexpr Note kBaseline{"without a model, the {} of the training rows {} {} {} ({}, mean over the runs){}"};
constexpr Note kCompressor{"gzip needs {} bits per byte for the held-out text ({}){}"};
constexpr Note kKnown{"known of the task {}: {}"};
constexpr Note kSameRows{"verdicts are about the {}: seeds {}"};
constexpr Note kSplits{
    "seeds draw other splits of the {}, which are no replicates: the test adds {}, the held-out rows per training row, to 1/seeds (Nadeau "
    "& Bengio 2003), so {}. ± is over splits of these rows"};
constexpr Note kSameStart{
    "all seeds of a variant start from the same weights: verdicts are about training from {}, not from another start"};
constexpr Note kOverfitted{
    "{} rose after its minimum ({}): runs were trained for too long. compare.metric=\"best {}\" compares the minima{}"};
constexpr Note kNoLadder{"the sizes are not judged together as a ladder: {}"};
constexpr Note kEpochs{"runs read their text more than once: {}"};
constexpr Note kStillFalling{"{} still falls in the last fifth of the steps ({}): after more train.steps the answer may be another"};

}  // namespace note

/// Each of `about` in place of a {}.
std::string note_text(const Note& note, const std::vector<std::string>& about);

void add_note(const Note& note, const std::vector<std::string>& about, Comparison& comparison);

}  // namespace ffn
