#include "ffn/report/document.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/base/text.hpp"
#include "ffn/compare/each.hpp"
#include "ffn/report/answer.hpp"
#include "ffn/report/answer_tables.hpp"
#include "ffn/report/cells.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/ladder.hpp"
#include "ffn/report/tuned.hpp"

namespace ffn {

namespace {

// "expansion 4, gelu".
std::string pair_title(const Comparison& c, const Facet& facet, const PairResult& pair) {
  const std::string place = facet_title(c, facet);
  return (place.empty() ? "" : place + ", ") + shown_value(c, pair.value);
}

// For those that fell short: how likely fresh seeds would tell. And a side fact: who has the disasters, whatever the verdict is about.
std::string chances_and_bad_runs(const Comparison& c) {
  std::string text, bad;
  for (const auto& facet : c.facets) {
    for (const auto& pair : facet.pairs) {
      std::vector<std::string> chances;
      for (const auto& chance : pair.judgement.chances)
        chances.push_back(std::to_string(chance.num_seeds) + (chances.empty() ? " fresh seeds " : ": ") +
                          format_percent(chance.if_different, 0) + " (" + format_percent(chance.overall, 0) + ")");
      if (!chances.empty())
        text += pair_title(c, facet, pair) + ": chance of either verdict, if there is a difference (overall), with " + join(chances) + "\n";
      const std::string all = " of " + std::to_string(pair.paired.num_seeds);
      if (pair.bad && pair.bad->variant + pair.bad->reference > 0)
        bad += "bad runs, " + pair_title(c, facet, pair) + ": " + std::to_string(pair.bad->variant) + all + ", " +
               shown_value(c, c.reference) + " " + std::to_string(pair.bad->reference) + all + " (McNemar's p " +
               format_significant(pair.bad->p, 2) + ")\n";
    }
  }
  return bad + text;
}

std::string how_it_was_analysed(const Comparison& c) {
  std::vector<std::string> analyses, maxima;
  for (const auto n : c.sequential->sample_sizes) analyses.push_back(std::to_string(n));
  for (const auto n : c.sequential->maxima) maxima.push_back(std::to_string(n));
  const std::size_t m = c.sequential->comparisons;
  return "Paired by seed; interim analyses with " + (analyses.empty() ? "no" : join(analyses)) +
         " seeds (declared maximum: " + join(maxima, ", then ") + "; " + std::to_string(m) + (m == 1 ? " comparison" : " comparisons") +
         "). Group-sequential sign-flip test, by ranks for times, for runs without a value and for heavy tails; closed over comparisons" +
         (c.min_effect > 0 ? " and both claims, different and not" : "") + ": any wrong verdict over all of them has a chance of at most " +
         format_level(c.alpha) + ". Intervals, each of one comparison, are of what has not been rejected at any of them.\n";
}

std::string how_to_read(const Comparison& c) {
  if (c.sequential) return how_it_was_analysed(c);
  const std::size_t pairs = c.num_comparisons;
  const auto is_by_ranks = [](const PairResult& pair) { return stats::is_of_ranks(pair.paired.test); };
  const bool by_ranks = any_pair(c, is_by_ranks), by_mean = any_pair(c, [&](const PairResult&pair) { return !is_by_ranks(pair); }),
             exact = !any_pair(c, [](const PairResult&pair) { return !pair.paired.exact_p; });
  const std::string difference = c.as_ratios ? "log ratio" : "difference";
  const std::string which = exact ? "exact " : "", how = exact ? "" : " (p of many seeds by random sign flips)";
  const std::string ranks = which + "signed-rank test" + how +
                            ", a run without a value (it never got there or diverged) is worst, of the typical (Hodges–Lehmann) " +
                            difference;
  if (c.unpaired)
    return "Unpaired: " + which +
           (by_mean ? "permutation test of the mean " + difference + " (with different numbers of runs Welch's t test too, the larger p)" +
                          (by_ranks ? "; by ranks, " : "")
                    : "") +
           (by_ranks ? "rank-sum test, a run without a value is worst" : "") + (exact ? "" : " (p of many runs by random splits)") +
           "; intervals of what the test does not reject; p corrected for " + std::to_string(pairs) +
           (pairs == 1 ? " comparison" : " comparisons") + ".\n";
  return "Paired by seed; " +
         (c.splits_rows ? "corrected resampled t test of the mean " + difference + ", since seeds split the same rows"
          : by_mean     ? which + "sign-flip test of the mean " + difference + how + (by_ranks ? "; by ranks, " + ranks : "")
                        : ranks) +
         "; intervals of what the test does not reject; p corrected for " + std::to_string(pairs) +
         (pairs == 1 ? " comparison" : " comparisons") +
         (c.min_effect > 0 ? " and for both claims, different and not (closed test).\n" : " (Holm).\n");
}

std::string ratio_explanation(const Comparison& c) {
  if (!c.as_ratios) return "";
  return "Losses are compared as ratios, seed by seed: −20 % or ÷1.25 is a loss of 0.8 times that of " + shown_value(c, c.reference) +
         ". The mean ratio is that of the geometric means. A bad run has a loss of more than 10 times the median of both sides, or none; "
         "they are counted beside the verdict, which by ranks asks who is better with a typical seed.\n";
}

// compare.min_effect as it is tested.
std::string min_effect_text(const Comparison& c) {
  if (c.min_effect <= 0) return "not set here";
  return c.as_ratios ? "here a " + margin_as_factor(c) : "here " + format_significant(c.min_effect, 2);
}

std::string verdict_words_text(const Comparison& c) {
  std::string text;
  for (const auto& [verdict, word, meaning] : stats::verdict_words()) {
    text += std::string("\"") + word + "\": " + meaning +
            (verdict == stats::Verdict::no_meaningful_difference ? ", " + min_effect_text(c) : "") + ".\n";
  }
  return text;
}

std::string explanation(const Comparison& c) {
  const std::string level = format_level(1 - c.alpha);
  return (c.unpaired
              ? "Every variant has runs of its own, and they are compared with those of " + shown_value(c, c.reference) + ". An interval"
              : "Every variant was trained with the same seeds, and is compared with " + shown_value(c, c.reference) +
                    " seed by seed. An interval") +
         " says where the true mean, or difference, lies: " + level +
         " of such intervals hold it. Where the test is by ranks (steps to a target, diverged runs, a few runs far from the others), the "
         "difference is the typical one, the median over pairs of seeds; a round bracket means that the limit itself is outside, and an "
         "empty interval that the test rejects every value, as it can where most seeds tie.\n" +
         ratio_explanation(c) +
         "An interval is of one comparison; a verdict is corrected for all of them, so it can be undecided where the interval leaves out "
         "0. The chance that any verdict is wrong is at most " +
         format_level(c.alpha) + ", over all comparisons together" +
         (c.history.qualification.empty() ? "" : ", for one answer to what was declared") + ".\n" + verdict_words_text(c);
}

}  // namespace

std::vector<DocumentPart> document_of(const Comparison& c, bool details, bool explain) {
  using Kind = DocumentPart::Kind;
  std::vector<DocumentPart> out;
  const auto say = [&](const std::string& text) {
    if (!text.empty()) out.push_back({Kind::text, text.substr(0, text.find_last_not_of('\n') + 1)});
  };
  const auto show = [&](const std::string& caption, Table table) {
    say(caption);
    out.push_back({Kind::table, "", {std::move(table)}});
  };
  const std::string answer = answer_text(c);
  say(answer + (answer.empty() ? "" : "\n") + conditions_text(c));
  say(short_caption(c));
  out.push_back({Kind::short_table});
  for (const auto& more : more_tables(c)) show(more.caption, more.plain());
  for (auto& more : ladder_tables(c)) show(more.caption, std::move(more.table));
  if (c.tuned && (details || !names_all_choices(*c.tuned))) show("", choices_table(*c.tuned));
  if (c.tuned && details) show(curve_caption(*c.tuned), curve_table(*c.tuned));
  if (auto table = c.tuned && details ? sensitivity_table(*c.tuned, c.alpha) : std::nullopt)
    show(sensitivity_caption(*c.tuned, c.alpha), std::move(*table));
  if (details) {
    const auto tables = detailed_tables(c);
    show(tables[0].caption, tables[0].plain());
    say(std::string("IQM: mean of the middle half of the runs") +
        (is_time_metric(c.metric) ? "; restricted mean: a run that never gets there counts with all its steps" : ""));
    if (tables.size() > 1) show("", tables[1].plain());
    say(chances_and_bad_runs(c));
    if (has_pairs(c)) say(how_to_read(c));
  }
  if (explain) say(explanation(c));
  for (const auto& text : c.notes) out.push_back({Kind::note, "note: " + text});
  for (const auto& e : c.history.claims) {
    const std::string outcome = outcome_of(e);
    out.push_back(
        {Kind::claim,
         "claim: " + claim_text(e) + ": " + outcome + " (" + e.found + (c.history.qualification.empty() ? "" : "; suggestive") + ")",
         {},
         outcome});
  }
  return out;
}

}  // namespace ffn
