#include "ffn/report/document.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/base/suggest.hpp"
#include "ffn/report/answer.hpp"
#include "ffn/report/answer_history.hpp"
#include "ffn/report/cells.hpp"
#include "ffn/report/conditions.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/more_comparisons.hpp"
#include "ffn/report/tuned.hpp"

namespace ffn {

namespace {

std::string runs_cell(const GroupResult& g) {
  std::string text = std::to_string(g.num_done);
  if (g.num_diverged > 0) text += ", " + std::to_string(g.num_diverged) + " diverged";
  if (g.num_failed > 0) text += ", " + std::to_string(g.num_failed) + " failed";
  if (g.num_pending > 0) text += ", " + std::to_string(g.num_pending) + " to do";
  return text;
}

std::string optional_number(const std::optional<double>& x, int digits = 3) {
  return x && std::isinf(*x) ? "no value" : x ? format_significant(*x, digits) : "-";
}

// One table over all facets, the facet's keys as its first columns: a study of twelve variants is twelve rows.
Table groups_table(const Comparison& c) {
  const auto& first = c.facets.at(0);
  const bool targets = std::any_of(c.facets.begin(), c.facets.end(), [](const Facet& f) {
    return std::any_of(f.groups.begin(), f.groups.end(), [](const GroupResult& g) { return g.has_target; });
  });
  std::vector<Column> columns;
  for (const auto& [key, value] : first.keys) columns.push_back({shown_key(c, key), Align::right});
  columns.push_back({shown_key(c, c.by), Align::left});
  const bool time = is_time_metric(c.metric);
  columns.push_back({"runs", Align::right});
  columns.push_back({(has_misses(c) ? "median of hits "
                      : time        ? "restricted mean "
                                    : centre_name(c) + " ") +
                         interval_form(c),
                     Align::right});
  columns.push_back({"IQM", Align::right});
  if (targets) {
    for (const char* name : {"hits", "median steps"}) columns.push_back({name, Align::right});
  }
  for (const char* name : {"parameters", "FLOPs/token", "time/run"}) columns.push_back({name, Align::right});
  if (targets) columns.push_back({"time to target", Align::right});

  Table table(columns);
  for (const auto& facet : c.facets) {
    for (const auto& g : facet.groups) {
      std::vector<std::string> row;
      for (const auto& [key, value] : facet.keys) row.push_back(shown_value(c, key, value));
      row.insert(row.end(), {shown_value(c, g.value), runs_cell(g), centre_text(c, g),
                             is_time_metric(c.metric) && g.iqm && std::isinf(*g.iqm) ? "never" : optional_number(g.iqm, 4)});
      if (targets) {
        const auto over = g.num_done + g.num_diverged + g.num_failed;
        row.push_back(over > 0 ? hits_cell(g) : "-");
        row.push_back(g.median_steps ? format_rounded(*g.median_steps) : over > 0 ? "not reached" : "-");
      }
      const bool known = g.parameters > 0;
      row.insert(row.end(), {known ? format_count(g.parameters) : "-", known ? format_count(g.flops_per_token) : "-",
                             known ? format_duration(g.train_seconds) : "-"});
      if (targets) row.push_back(g.seconds_to_target ? format_duration(*g.seconds_to_target) : "-");
      table.add_row(row);
    }
  }
  return table;
}

// For those that fell short: how likely fresh seeds would tell.
std::string chances_details(const Comparison& c) {
  std::string text;
  for (const auto& facet : c.facets) {
    for (const auto& pair : facet.pairs) {
      if (pair.judgement.chances.empty()) continue;
      std::vector<std::string> chances;
      for (const auto& chance : pair.judgement.chances)
        chances.push_back(std::to_string(chance.num_seeds) + (chances.empty() ? " fresh seeds " : ": ") +
                          format_percent(chance.if_different, 0) + " (" + format_percent(chance.overall, 0) + ")");
      const std::string place = facet_title(c, facet);
      text += (place.empty() ? "" : place + ", ") + shown_value(c, pair.value) +
              ": chance of either verdict, if there is a difference (overall), with " + join(chances) + "\n";
    }
  }
  return text;
}

// The interim analysis at which the verdict stood first.
std::string since_text(const PairResult& pair) {
  const bool same = pair.judgement.verdict == stats::Verdict::no_meaningful_difference;
  const auto& at = same ? pair.sequential->negligible : pair.sequential->different;
  return at ? std::to_string(*at) + " seeds" : "-";
}

// A side fact: who has the disasters, whatever the verdict is about.
std::string bad_runs_text(const Comparison& c) {
  std::string text;
  for (const auto& facet : c.facets) {
    for (const auto& pair : facet.pairs) {
      if (!pair.bad || pair.bad->variant + pair.bad->reference == 0) continue;
      const std::string place = facet_title(c, facet), all = " of " + std::to_string(pair.paired.num_seeds);
      text += "bad runs, " + (place.empty() ? "" : place + ", ") + shown_value(c, pair.value) + ": " + std::to_string(pair.bad->variant) +
              all + ", " + shown_value(c, c.reference) + " " + std::to_string(pair.bad->reference) + all + " (McNemar's p " +
              format_significant(pair.bad->p, 2) + ")\n";
    }
  }
  return text;
}

Table pairs_table(const Comparison& c) {
  std::vector<Column> columns;
  for (const auto& [key, value] : c.facets.at(0).keys) columns.push_back({shown_key(c, key), Align::right});
  const std::string interval = format_level(1 - c.alpha);
  columns.push_back({shown_key(c, c.by), Align::left});
  columns.push_back({difference_name(c) + (difference_name(c) == "ratio" ? " to " : " from ") + shown_value(c, c.reference) + " [" +
                         interval + " interval]",
                     Align::right});
  columns.push_back({"P(better)", Align::right});
  columns.push_back({"won/tied/lost", Align::right});
  columns.push_back({c.sequential ? "stands since" : "p (corrected)", Align::right});
  columns.push_back({"verdict", Align::left});
  Table table(columns);
  for (const auto& facet : c.facets) {
    for (const auto& pair : facet.pairs) {
      const auto& p = pair.paired;
      std::vector<std::string> row;
      for (const auto& [key, value] : facet.keys) row.push_back(shown_value(c, key, value));
      row.insert(row.end(), {shown_value(c, pair.value), difference_text(c, pair), format_significant(p.improvement.paired, 2),
                             p.unpaired ? "-" : std::to_string(p.wins) + "/" + std::to_string(p.ties) + "/" + std::to_string(p.losses),
                             pair.sequential ? since_text(pair) : format_significant(pair.judgement.p_holm, 2),
                             stats::to_string(pair.judgement.verdict)});
      table.add_row(row);
      if (is_different(pair)) table.highlight_last_row();
    }
  }
  return table;
}

std::string title(const Comparison& c) {
  return c.metric + " by " + c.by + ", " + (c.higher_is_better ? "higher" : "lower") + " is better\n";
}

std::string how_it_was_analysed(const Comparison& c) {
  std::vector<std::string> looks, maxima;
  for (const auto n : c.sequential->sample_sizes) looks.push_back(std::to_string(n));
  for (const auto n : c.sequential->maxima) maxima.push_back(std::to_string(n));
  const std::size_t m = c.sequential->comparisons;
  return "Paired by seed; interim analyses with " + (looks.empty() ? "no" : join(looks)) +
         " seeds (declared maximum: " + join(maxima, ", then ") + "; " + std::to_string(m) + (m == 1 ? " comparison" : " comparisons") +
         "). Group-sequential sign-flip test, by ranks for times, for runs without a value and for heavy tails; closed over comparisons" +
         (c.min_effect > 0 ? " and both claims, different and not" : "") + ": any wrong verdict over all of them has a chance of at most " +
         format_level(c.alpha) + ". Intervals, each of one comparison, are of what has not been rejected at any of them.\n";
}

std::string how_to_read(const Comparison& c) {
  const std::size_t pairs = c.num_comparisons;
  bool by_ranks = false, by_mean = false, exact = true;
  for (const auto& facet : c.facets) {
    for (const auto& pair : facet.pairs) {
      (stats::is_of_ranks(pair.paired.test) ? by_ranks : by_mean) = true;
      exact = exact && pair.paired.exact_p;
    }
  }
  if (c.sequential) return how_it_was_analysed(c);
  const std::string difference = c.as_ratios ? "log ratio" : "difference";
  const std::string which = exact ? "exact " : "", how = exact ? "" : " (p of many seeds by random sign flips)";
  const std::string ranks = which + "signed-rank test" + how +
                            ", a run without a value (it never got there or diverged) is worst, of the typical (Hodges–Lehmann) " +
                            difference;
  if (c.unpaired)
    return "Unpaired: " + which + (by_mean ? "permutation test of the mean " + difference + (by_ranks ? "; by ranks, " : "") : "") +
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
         ". The mean ratio is that of the geometric means. A bad run has a loss of more than 10 times the median of both sides, or none; they "
         "are counted beside the verdict, which by ranks asks who is better with a typical seed.\n";
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
         " of such intervals hold it. Where the test is by ranks (steps to a target, diverged runs, a few runs far from the others), the difference is the typical one, "
         "the median over pairs of seeds; a round bracket means that the limit itself is outside, and an empty interval that the test rejects every value, as it can where most seeds tie.\n" +
         ratio_explanation(c) +
         "An interval is of one comparison; a verdict is corrected for all of them, so it can be undecided where the interval leaves out 0. The chance that any verdict "
         "is wrong is at most " +
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
  const auto show = [&](Table table) { out.push_back({Kind::table, "", {std::move(table)}}); };
  const auto note = [&](const std::string& text) { out.push_back({Kind::note, "note: " + text}); };
  const std::string answer = answer_text(c);
  say(answer + (answer.empty() ? "" : "\n") + conditions_text(c));
  say(short_caption(c));
  out.push_back({Kind::short_table});
  for (auto& more : {further_pairs_table(c), contrasts_table(c)}) {
    if (!more) continue;
    say(more->caption);
    show(more->table);
  }
  if (c.tuned) {
    if (details || !names_all_choices(*c.tuned)) show(choices_table(*c.tuned));
    if (details) {
      say(curve_caption(*c.tuned));
      show(curve_table(*c.tuned));
    }
  }
  if (details) {
    say(title(c));
    show(groups_table(c));
    say(std::string("IQM: mean of the middle half of the runs") +
        (is_time_metric(c.metric) ? "; restricted mean: a run that never gets there counts with all its steps" : ""));
    if (has_pairs(c)) show(pairs_table(c));
    say(bad_runs_text(c));
    say(chances_details(c));
    if (has_pairs(c)) say(how_to_read(c));
  }
  if (explain) say(explanation(c));
  for (const auto& text : c.notes) note(text);
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
