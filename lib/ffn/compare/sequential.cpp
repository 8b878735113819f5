#include "ffn/compare/sequential.hpp"

#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

#include "ffn/base/side_by_side.hpp"
#include "ffn/compare/each.hpp"
#include "ffn/compare/note.hpp"

namespace ffn {

namespace {

std::vector<PairResult*> pairs_of(Comparison& c) {
  std::vector<PairResult*> pairs;
  for_each_pair(c, [&](const Facet&, PairResult& pair) { pairs.push_back(&pair); });
  return pairs;
}

// From advantages, positive is better, to variant − reference, as effects are given.
stats::Interval as_difference(const stats::Interval& i, stats::Direction direction) {
  if (direction == stats::Direction::higher_is_better) return i;
  stats::Interval out = i;
  out.low = i.high == 0 ? 0 : -i.high;
  out.high = i.low == 0 ? 0 : -i.low;
  std::swap(out.low_open, out.high_open);
  return out;
}

void set_interval(PairResult& pair, const stats::Interval& interval) {
  auto& paired = pair.paired;
  if (!paired.effect) return;
  paired.effect->interval = interval;
  const bool of_mean = paired.effect->estimand == stats::Estimand::mean_difference && paired.values == stats::PairedValues::difference;
  if (paired.difference && of_mean) paired.difference->interval = interval;
}

void note_waiting_seeds(const std::vector<PairResult*>& pairs, Comparison& c) {
  std::size_t waiting = 0, num_analysed = 0;
  for (const auto* pair : pairs) {
    if (pair->waiting_seeds >= waiting) {
      waiting = pair->waiting_seeds;
      num_analysed = pair->sequential->num_analysed;
    }
  }
  if (waiting > 0 && num_analysed > 0) add_note(note::kWaiting, {std::to_string(num_analysed), std::to_string(waiting)}, c);
}

}  // namespace

std::size_t seeds_analysed(const SequentialRequest& request, std::size_t finished) {
  std::size_t last = 0;
  for (const std::size_t size : stats::interim_sample_sizes(request.maxima)) {
    if (size <= finished) last = size;
  }
  return last == 0 ? finished : last;
}

void judge_sequentially(Comparison& c, const SequentialRequest& request, const PairScale& scale) {
  const auto pairs = pairs_of(c);
  stats::SequentialDesign design;
  design.alpha = c.alpha;
  design.min_effect = scale.margin(c.min_effect);
  design.maxima = request.maxima;
  design.comparisons = std::max({std::size_t{1}, request.comparisons, c.num_comparisons});
  design.rule = scale.test_rule();
  std::vector<std::vector<double>> advantages;
  for (const auto* pair : pairs) advantages.push_back(pair->advantages);
  const auto verdicts = stats::judge_sequentially(advantages, design);

  c.sequential = SequentialProgress{request.maxima, design.comparisons, {}, 0};
  std::size_t decided = 0, num_analysed = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    pairs[i]->sequential = verdicts[i];
    auto& judgement = pairs[i]->judgement;
    judgement.verdict = verdicts[i].verdict;
    if (verdicts[i].num_analysed == request.maxima.back() && !is_decided(*pairs[i]) && stats::is_same_with_every_seed(pairs[i]->paired))
      judgement.verdict = stats::Verdict::same;
    judgement.comparisons = design.comparisons;
    judgement.seeds_for_verdict = stats::first_possible_verdict(design);
    judgement.chances.clear();  // of fresh studies: this one goes on
    decided += is_decided(*pairs[i]);
    num_analysed = std::max(num_analysed, verdicts[i].num_analysed);
  }
  c.sequential->open = c.num_comparisons - std::min(c.num_comparisons, decided);
  for (const std::size_t size : stats::interim_sample_sizes(request.maxima)) {
    if (size <= num_analysed) c.sequential->sample_sizes.push_back(size);
  }
  note_waiting_seeds(pairs, c);
  if (request.verdicts_only) return;
  side_by_side(std::max(1u, std::thread::hardware_concurrency()), pairs.size(), [&](std::size_t i) {
    pairs[i]->interim_analyses = stats::interim_analyses(pairs[i]->advantages, design);
    set_interval(*pairs[i], as_difference(stats::sequential_interval(pairs[i]->advantages, design), pairs[i]->paired.direction));
  });
}

bool is_decided(const PairResult& pair) {
  const auto verdict = pair.judgement.verdict;
  return verdict != stats::Verdict::undecided && verdict != stats::Verdict::too_few_seeds;
}

std::string sequential_sentence(const Comparison& c, const PairResult& pair) {
  const auto& v = *pair.sequential;
  const std::string verdict = stats::to_string(pair.judgement.verdict) + ": ";
  const std::string limits = " of at most " + std::to_string(c.sequential->maxima.back()) + " (" +
                             std::to_string(c.sequential->comparisons) +
                             (c.sequential->comparisons == 1 ? " comparison)" : " comparisons)");
  if (pair.judgement.verdict == stats::Verdict::too_few_seeds)
    return verdict + "the first interim analysis is at " + std::to_string(stats::kFirstSampleSize) + " seeds" + limits;
  const auto& at = pair.judgement.verdict == stats::Verdict::no_meaningful_difference ? v.negligible : v.different;
  return verdict +
         (at ? "since the interim analysis at " + std::to_string(*at) : "at the interim analysis at " + std::to_string(v.num_analysed)) +
         " seeds" + limits;
}

}  // namespace ffn
