#include "ffn/compare/judge.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "ffn/base/files.hpp"
#include "ffn/base/hash.hpp"
#include "ffn/base/text.hpp"
#include "ffn/compare/expect.hpp"
#include "ffn/compare/looks.hpp"
#include "ffn/compare/run_keys.hpp"
#include "ffn/compare/sequential.hpp"
#include "ffn/config/json_writer.hpp"
#include "ffn/stats/permutation.hpp"
#include "ffn/stats/unpaired.hpp"
#include "ffn/store/log.hpp"

namespace ffn {

namespace {

using Seeds = std::set<std::int64_t>;
/// Facet, then variant.
using SeedsOf = std::map<std::vector<std::string>, std::map<std::string, Seeds>>;

std::vector<std::string> facet_of(const FoundRun& run, const std::string& by) {
  std::vector<std::string> out;
  for (const auto& [key, value] : run.keys) {
    if (key != by) out.push_back(value);
  }
  return out;
}

SeedsOf seeds_of(const std::vector<FoundRun>& runs, const std::string& by) {
  SeedsOf out;
  for (const auto& run : runs) out[facet_of(run, by)][run.variant].insert(run.seed);
  return out;
}

template <class Holds>
bool all_pairs_of_seeds(const SeedsOf& seeds, Holds holds) {
  return std::all_of(seeds.begin(), seeds.end(), [&](const auto& facet) {
    const auto& variants = facet.second;
    return std::all_of(variants.begin(), variants.end(),
                       [&](const auto& variant) { return holds(variants.begin()->second, variant.second); });
  });
}

// One side has all seeds of the other, as while runs still come.
bool is_within(const Seeds& a, const Seeds& b) {
  const Seeds &less = a.size() < b.size() ? a : b, &more = a.size() < b.size() ? b : a;
  return std::includes(more.begin(), more.end(), less.begin(), less.end());
}

std::string some(const std::vector<std::string>& all) {
  constexpr std::size_t kNamed = 5;
  const std::vector<std::string> named(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(kNamed, all.size())));
  return join(named) + (all.size() > kNamed ? " and " + std::to_string(all.size() - kNamed) + " more" : "");
}

void note_columns(const RunColumns& columns, const JudgedRuns& judged, Comparison& out) {
  std::set<std::string> variants;
  for (const auto& run : judged.runs) variants.insert(run.variant);
  std::vector<std::string> said{"variants from \"" + columns.by + "\"",
                                columns.seed.empty() ? "no column of seeds" : "seeds from \"" + columns.seed + "\"",
                                "the metric is \"" + out.metric + "\" (" + (judged.higher_is_better ? "higher" : "lower") + " is better)"};
  out.notes.insert(out.notes.begin(),
                   counted(judged.runs.size(), "run") + " of " + counted(variants.size(), "variant") + ": " + join(said));
}

void note_worst(const JudgedRuns& judged, Comparison& out) {
  std::vector<std::string> worst;
  for (const auto& run : judged.runs) {
    if (!run.reason.empty()) worst.push_back(run.path.string() + " (" + run.variant + ", " + run.reason + ")");
  }
  if (!worst.empty())
    out.notes.push_back(counted(worst.size(), "run") + (worst.size() == 1 ? " counts" : " count") + " as worst: " + some(worst));
  if (!judged.unfinished.empty())
    out.notes.push_back(counted(judged.unfinished.size(), "run") + " still to finish, left out: " + some(judged.unfinished));
}

// Seeds that stand on both sides of an unpaired comparison, and what pairing by them would save.
void note_shared_seeds(Comparison& out) {
  constexpr std::size_t kEnough = 4;
  for (const auto& facet : out.facets) {
    const auto values_of = [&](const std::string& value) {
      std::map<std::int64_t, double> by_seed;
      for (const auto& group : facet.groups) {
        for (const auto& run : group.runs) {
          if (group.value == value && run.value) by_seed[run.seed] = *run.value;
        }
      }
      return by_seed;
    };
    for (const auto& pair : facet.pairs) {
      const auto reference = values_of(pair.reference);
      std::vector<double> a, b, differences;
      for (const auto& [seed, value] : values_of(pair.value)) {
        const auto other = reference.find(seed);
        if (other == reference.end()) continue;
        a.push_back(value);
        b.push_back(other->second);
        differences.push_back(value - other->second);
      }
      if (differences.size() < kEnough) continue;
      const double apart = std::hypot(stats::standard_deviation(a), stats::standard_deviation(b));
      const double share = apart > 0 ? std::pow(stats::standard_deviation(differences) / apart, 2) : 1;
      out.notes.push_back(
          pair.value + " and " + pair.reference + " share " + counted(differences.size(), "seed") +
          ", but not all, so runs are not paired. With the same seeds in all variants (an empty metric where a run failed), pairing " +
          (share < 0.9 ? "would need about " + significant(100 * share, 2) + " % of the runs" : "would save few runs"));
      return;
    }
  }
}

std::string pairing_text(const Comparison& c, bool is_drawn) {
  std::vector<const PairResult*> pairs;
  for (const auto& facet : c.facets) {
    for (const auto& pair : facet.pairs) pairs.push_back(&pair);
  }
  if (pairs.empty()) return "";
  if (!c.unpaired) return is_drawn ? "Paired at random." : "Paired by seed.";
  const auto& first = pairs[0]->paired;
  const std::string test =
      std::string(first.exact_p ? "exact " : "") + (first.test == stats::PairedTest::rank_sum ? "rank-sum test" : "permutation test");
  if (pairs.size() > 1) return "Unpaired: permutation tests, corrected for " + counted(c.num_comparisons, "comparison") + ".";
  std::string text = "Unpaired: " + test + " of " + std::to_string(first.unpaired->num_variant) + " and " +
                     counted(first.unpaired->num_reference, "run") + ", p = " + significant(first.p, 2);
  if (first.unpaired->welch_p) text += "; Welch's t test beside it, p = " + significant(*first.unpaired->welch_p, 2);
  return text + ".";
}

// A run as the record knows it: changed by nothing but what is judged.
std::string record_text_of(const FoundRun& run, bool has_seeds) {
  return dump_json_lossy({run.keys, run.variant, has_seeds ? run.seed : 0, to_string(run.state),
                          run.state == RunState::done ? Json(run.summary->metrics[0].final_value) : Json()});
}

// Stdin, a pipe or a device: nothing stands beside it.
bool is_stream(const std::string& file) {
  return file == "-" || (path_exists(file) && !directory_exists(file) && type_of(file) != std::filesystem::file_type::regular);
}

// Named in another order or by a link, files have the same record.
std::filesystem::path record_path(const JudgeQuestion& question) {
  std::filesystem::path first = *std::min_element(question.files.begin(), question.files.end());
  if (is_stream(first)) first = "stdin";
  else if (path_exists(first) && link_type_of(first) == std::filesystem::file_type::symlink) first = std::filesystem::canonical(first);
  first = without_slash(first);
  if (!question.record_directory.empty()) return std::filesystem::path(question.record_directory) / (first.filename().string() + kLooksEnd);
  return first.string() + kLooksEnd;
}

std::string schedule_text(std::size_t maximum, std::size_t done) {
  std::vector<std::string> sizes;
  for (const auto n : stats::interim_sample_sizes({maximum})) {
    if (n > done) sizes.push_back(std::to_string(n));
  }
  return sizes.empty() ? "" : join(sizes);
}

// In a design runs follow each other in the order that the record keeps: by seed where one side has all seeds of the other, otherwise
// drawn by a hash, because the order of rows may tell of their values: trackers sort tables. Returns whether it is drawn.
bool number_in_order(std::vector<FoundRun>& runs, const std::string& by, bool has_seeds, Looks& looks, std::vector<std::string>& texts) {
  const bool by_seed = has_seeds && all_pairs_of_seeds(seeds_of(runs, by), is_within);
  std::map<std::string, std::size_t> alike;
  std::multimap<std::int64_t, FoundRun*> places;
  Seeds known;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    auto& run = runs[i];
    if (!by_seed) {
      texts[i] += " drawn";
      const std::string hash = sha256_hex(texts[i] + std::to_string(alike[texts[i]]++));
      run.seed = std::stoll(hash.substr(0, 15), nullptr, 16);
    }
    known.insert(run.seed);
    places.emplace(run.seed, &run);
    if (run.state == RunState::failed) run.state = RunState::diverged;  // one that failed is not trained again, as ours are
  }
  std::map<std::pair<std::vector<std::string>, std::string>, std::int64_t> counts;
  std::int64_t number = 0;
  for (const auto place : looks.order(known)) {
    const auto [begin, end] = places.equal_range(place);
    for (auto at = begin; at != end; ++at) {
      auto& run = *at->second;
      run.seed = by_seed ? number : counts[{facet_of(run, by), run.variant}]++;
    }
    ++number;
  }
  return !by_seed;
}

Json question_of(const JudgeQuestion& question, const RunColumns& columns, const std::string& reference) {
  Json compare = write_json(question.config);
  compare.erase("reference");
  return {{"by", columns.by},         {"seed", columns.seed},  {"metric", columns.metric}, {"higher_is_better", *columns.higher_is_better},
          {"facets", columns.facets}, {"take", question.take}, {"reference", reference},   {"compare", compare}};
}

}  // namespace

JudgeAnswer judge_files(const JudgeQuestion& question) {
  const auto take = read_taken(question.take);
  const Json asked_claims = claims_of(question.claims);
  const bool is_piped = std::any_of(question.files.begin(), question.files.end(), is_stream);
  const bool records = !is_piped || !question.record_directory.empty();
  if (!question.record_directory.empty()) make_directories(question.record_directory);
  const bool is_there = is_piped || path_exists(question.files[0]);
  RunRows rows;
  const bool declares = records && (question.maximum || !question.claims.empty());
  if (is_there || !declares) rows = read_run_rows(question.files);
  std::optional<Looks> looks;
  if (records) looks.emplace(record_path(question));
  if (question.maximum) {
    if (!looks) throw UsageError("a design is kept beside its file, and a pipe has none", "-o DIR keeps it there");
    looks->declare({*question.maximum, 0});
  }
  const JsonValue claims = looks ? looks->claim(asked_claims) : JsonValue(asked_claims);
  const auto design = looks ? looks->design() : std::nullopt;
  if (rows.rows.empty() && declares) {
    looks->write();
    const auto claimed = counted(claims->size(), "claim");
    return {std::nullopt,
            "Declared in " + looks->path().string() + ": " +
                (!design ? claimed + ". Judge the table when its runs are done."
                         : (claims->empty() ? "" : claimed + ", ") + "interim analyses at " + schedule_text(design->maximum, 0) +
                               " runs of each variant. Judge the table whenever rows have come; runs between two analyses "
                               "wait for the next.")};
  }
  if (rows.rows.empty()) throw DataError("there are no rows to judge", "a table has a line of names and a row for each run");
  const auto columns = infer_columns(question.columns, rows, take);
  auto judged = runs_of_rows(rows, columns, take);
  if (judged.runs.empty()) throw DataError("no run has finished yet", "judge again when they have");
  if (std::none_of(judged.runs.begin(), judged.runs.end(), [](const FoundRun& run) { return run.state == RunState::done; }))
    throw DataError("no run has a number in " + judged.metric, "--metric COLUMN names another one");

  CompareRequest request;
  request.config = question.config;
  request.in_given_order = true;
  request.higher_is_better = judged.higher_is_better;
  request.config.metric = judged.metric;
  if (take.kind == TakenValue::Kind::target && request.config.scale == "auto") request.config.scale = "ranks";
  const std::string& by = request.config.by = judged.by;
  if (const std::string before = looks ? looks->reference() : "";
      request.config.reference.empty() &&
      std::any_of(judged.runs.begin(), judged.runs.end(), [&](const FoundRun& run) { return run.variant == before; }))
    request.config.reference = before;
  auto runs = judged.runs;
  std::vector<std::string> texts;
  for (const auto& run : runs) texts.push_back(record_text_of(run, judged.has_seeds));
  bool is_drawn = false;
  if (design) {
    is_drawn = number_in_order(runs, by, judged.has_seeds, *looks, texts);
    request.sequential = SequentialRequest{{design->maximum}, design->comparisons};
  } else {
    request.unpaired = !judged.has_seeds || !all_pairs_of_seeds(seeds_of(runs, by), [](const Seeds& a, const Seeds& b) { return a == b; });
  }
  JudgeAnswer answer;
  auto& c = answer.comparison.emplace(compare_runs(runs, request));
  note_columns(columns, judged, c);
  c.notes.insert(c.notes.end(), rows.notes.begin(), rows.notes.end());
  c.notes.insert(c.notes.end(), judged.notes.begin(), judged.notes.end());
  note_worst(judged, c);
  if (c.unpaired && judged.has_seeds) note_shared_seeds(c);
  c.pairing = pairing_text(c, is_drawn);
  try {
    check_expectations(asked_claims, c, "", true);
  } catch (const ConfigError& error) {
    throw UsageError("--claim: " + error.problems()[0].message);
  }
  c.history.claims = check_claims(*claims, claims, c, looks ? looks->path().string() : "--claim");

  std::string reason;
  if (looks) {
    reason = looks->look(question_of(question, columns, c.reference), texts, c.num_comparisons);
    try {
      looks->write();
    } catch (const SystemError& error) {
      log_warning(error.what());
      if (reason.empty()) reason = "Looks at this table cannot be recorded beside it, but with -o DIR elsewhere";
    }
  }
  if (reason.empty() && !design && !judged.unfinished.empty()) reason = "Not all runs are finished";
  if (!reason.empty()) {
    c.history.qualification = reason + ": suggestive.";
    c.history.way_out =
        "Fresh runs in a new file give a sure answer, looked at once, or as often as you like with --design settled --max 40 declared "
        "first.";
  }
  if (design && c.sequential && c.sequential->open > 0) {
    const auto done = c.sequential->sample_sizes.empty() ? 0 : c.sequential->sample_sizes.back();
    const auto next = schedule_text(design->maximum, done);
    if (!next.empty()) c.notes.push_back("interim analyses to come: at " + next + " runs of each variant");
  }
  if (!looks) c.notes.emplace_back("looks at a pipe are not recorded (-o DIR does): this answer is sure as the first look only");
  return answer;
}

}  // namespace ffn
