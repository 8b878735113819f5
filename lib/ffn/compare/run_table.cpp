#include "ffn/compare/run_table.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <set>
#include <sstream>

#include "ffn/base/files.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/base/text.hpp"
#include "ffn/config/metrics.hpp"
#include "ffn/data/table_cells.hpp"

namespace ffn {

namespace {

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// "metrics.val/loss" → "val_loss": as trackers and people write one name.
std::string plain_name(const std::string& column) {
  std::string name = lower(column);
  for (const std::string prefix : {"params.", "metrics.", "tags.mlflow.", "config.", "summary.", "hparams/"}) {
    if (name.rfind(prefix, 0) == 0) name = name.substr(prefix.size());
  }
  for (char& c : name) {
    if (c == '/' || c == ' ' || c == '-' || c == '.') c = '_';
  }
  return name.rfind('_', 0) == 0 ? name.substr(1) : name;
}

RowCells words_of(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

std::size_t index_of(const RunRows& rows, const std::string& column) {
  return static_cast<std::size_t>(std::find(rows.columns.begin(), rows.columns.end(), column) - rows.columns.begin());
}

std::string columns_here(const RunRows& rows) {
  constexpr std::size_t kNamed = 30;
  const auto named = std::min(kNamed, rows.columns.size());
  return "columns here: " + join(RowCells(rows.columns.begin(), rows.columns.begin() + static_cast<std::ptrdiff_t>(named))) +
         (rows.columns.size() > named ? " and " + std::to_string(rows.columns.size() - named) + " more" : "");
}

// The column that was named, or else the first of the usual names; "" where there is none.
std::string find_column(const RunRows& rows, const std::string& asked, const std::string& usual, const char* option) {
  if (!asked.empty()) {
    if (index_of(rows, asked) < rows.columns.size()) return asked;
    RowCells alike;
    std::copy_if(rows.columns.begin(), rows.columns.end(), std::back_inserter(alike),
                 [&](const std::string& name) { return plain_name(name) == plain_name(asked); });
    if (alike.size() == 1) return alike[0];
    throw UsageError(std::string(option) + ": no column \"" + asked + "\"" + did_you_mean(asked, rows.columns), columns_here(rows));
  }
  for (const auto& name : words_of(usual)) {
    for (const auto& column : rows.columns) {
      if (plain_name(column) == name) return column;
    }
  }
  return "";
}

bool varies(const RunRows& rows, const std::string& column) {
  const auto at = index_of(rows, column);
  return std::any_of(rows.rows.begin(), rows.rows.end(), [&](const RowCells& row) { return row[at] != rows.rows[0][at]; });
}

// The usual names whose columns vary.
std::string varying_among(const RunRows& rows, const std::string& usual) {
  RowCells out;
  for (const auto& name : words_of(usual)) {
    const auto column = find_column(rows, "", name, "");
    if (!column.empty() && varies(rows, column)) out.push_back(name);
  }
  return join(out, " ");
}

// "relu-seed3" and "relu_s=3": what is before, and the seed.
std::optional<std::pair<std::string, std::string>> split_seed(const std::string& name) {
  const auto digits = name.find_last_not_of("0123456789") + 1;
  if (digits == name.size() || digits == 0) return std::nullopt;
  std::string rest = name.substr(0, digits);
  const auto drop = [&](const char* marks) { rest.resize(rest.find_last_not_of(marks) + 1); };
  drop("-_=: .");
  const std::string low = lower(rest);
  const bool is_seed = ends_with(low, "seed") ||
                       (ends_with(low, "s") && low.size() > 1 && std::string("-_/ ").find(low[low.size() - 2]) != std::string::npos);
  if (!is_seed) return std::nullopt;
  rest.resize(rest.size() - (ends_with(low, "seed") ? 4 : 1));
  drop("-_/=: .");
  return std::pair(rest, name.substr(digits));
}

// Takes variants and seeds from the runs' names, if all end in a seed.
bool split_names(RunRows& rows, const std::string& column, RunColumns& columns) {
  const auto at = index_of(rows, column);
  const auto ends_in_seed = [&](const RowCells& row) { return split_seed(row[at]).has_value(); };
  if (!columns.seed.empty() || !std::all_of(rows.rows.begin(), rows.rows.end(), ends_in_seed)) return false;
  for (auto& row : rows.rows) {
    const auto [variant, seed] = *split_seed(row[at]);
    row.insert(row.end(), {variant, seed});
  }
  columns.by = "variant of " + column;
  columns.seed = "seed of " + column;
  rows.columns.insert(rows.columns.end(), {columns.by, columns.seed});
  return true;
}

std::optional<std::int64_t> whole_number(const std::string& cell) {
  const auto number = number_in(cell);
  if (!number || std::abs(*number) > 9e15 || *number != std::floor(*number)) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

// Another way to write "no number": a run that diverged.
bool is_not_finite(const std::string& cell) {
  std::string word = lower(cell);
  if (!word.empty() && (word[0] == '-' || word[0] == '+')) word.erase(0, 1);
  return word == "nan" || word == "inf" || word == "infinity";
}

// Nothing for a gap; NaN for what is not finite, or so large that its square is not.
std::optional<double> value_of_cell(const std::string& cell, const std::string& column, const std::string& place) {
  if (is_not_finite(cell)) return NAN;
  if (stands_for_gap(cell)) return std::nullopt;
  constexpr double kLargest = 1e100;
  if (const auto number = number_in(cell)) return std::abs(*number) > kLargest ? NAN : *number;
  const std::string notation = notation_of(cell);
  throw DataError(
      place + ": " + column + " is \"" + with_codes(clipped(cell, 40)) + "\", which is " + (notation.empty() ? "no number" : notation),
      "numbers are written 3.28; an empty cell is a run without a value");
}

// Interrupted: no word of a tracker.
RunState state_of(const std::string& cell) {
  const auto is_one_of = [word = lower(cell)](const char* words) {
    const auto all = words_of(words);
    return std::find(all.begin(), all.end(), word) != all.end();
  };
  if (is_one_of("finished done completed complete success succeeded ok")) return RunState::done;
  if (is_one_of("failed crashed killed error diverged timeout cancelled preempted oom")) return RunState::failed;
  return is_one_of("running pending queued scheduled starting") ? RunState::running : RunState::interrupted;
}

// A dot makes sections of a config's keys; these columns are none.
std::string key_of_column(const std::string& column) {
  std::string key = column;
  for (const std::string prefix : {"params.", "config.", "tags.mlflow."}) {
    if (key.rfind(prefix, 0) == 0) key = key.substr(prefix.size());
  }
  std::replace(key.begin(), key.end(), '.', ' ');
  return key;
}

std::string number_word(double x) {
  std::ostringstream out;
  out.precision(8);
  out << x;
  return out.str();
}

}  // namespace

TakenValue read_taken(const std::string& text) {
  if (text == "last") return {};
  if (text == "best") return {TakenValue::Kind::best};
  if (text.rfind("target=", 0) == 0) {
    if (const auto target = number_in(text.substr(7))) return {TakenValue::Kind::target, *target};
  }
  throw UsageError("--take " + text, "last, best, or target=3.28: the first step at which the metric is there");
}

RunColumns infer_columns(const RunColumns& asked, RunRows& rows, const TakenValue& take) {
  if (rows.columns.empty()) throw DataError("the table has no columns", "its first line has the names, such as: act,seed,val_loss");
  RunColumns out = asked;
  out.metric =
      find_column(rows, asked.metric,
                  "val_loss val_bpb val_bits_per_byte validation_loss valid_loss eval_loss best_val_loss test_loss val_ppl val_perplexity "
                  "val_accuracy val_acc eval_accuracy test_accuracy test_acc loss bpb accuracy acc score reward",
                  "--metric");
  if (out.metric.empty()) {
    const bool has_names = std::none_of(rows.columns.begin(), rows.columns.end(), [](const auto& name) { return number_in(name); });
    throw UsageError("no column has a usual name of a metric, such as val_loss or accuracy",
                     (has_names ? "" : "the first line has to name the columns, as act,seed,val_loss does; ") +
                         ("--metric COLUMN names the metric; " + columns_here(rows)));
  }
  out.seed = find_column(rows, asked.seed, "seed random_seed rng_seed run_seed", "--seed");
  if (asked.seed.empty() && !out.seed.empty() && rows.rows.size() > 1 && !varies(rows, out.seed)) {
    rows.notes.push_back("\"" + out.seed + "\" is the same in all rows and tells no runs apart");
    out.seed.clear();
  }
  out.step = find_column(rows, asked.step, "step global_step trainer_global_step iter iteration epoch", "--step");
  out.run = find_column(rows, "", "run_id id run name run_name runname", "");
  out.state = find_column(rows, "", "state status", "");
  for (auto& facet : out.facets) facet = find_column(rows, facet, "", "--facet");
  const std::string variants = "file variant act activation arm condition method model config group optimizer";
  out.by = find_column(rows, asked.by, asked.by.empty() ? varying_among(rows, variants) : "", "--by");
  if (out.by.empty()) out.by = find_column(rows, "", variants, "--by");
  if (out.by.empty() && !rows.rows.empty()) {
    const std::string name = find_column(rows, "", "name run_name runname run", "");
    if (name.empty() || !split_names(rows, name, out))
      throw UsageError(
          "no column has a usual name of variants, such as act, variant or model",
          "--by COLUMN says what is compared, or give one file for each variant, or name runs like relu-seed3; " + columns_here(rows));
  }
  const auto state = index_of(rows, out.state);
  for (std::size_t i = 0; i < rows.rows.size() && !out.state.empty(); ++i) {
    const auto& word = rows.rows[i][state];
    if (state_of(word) != RunState::interrupted) continue;
    rows.notes.push_back("\"" + out.state + "\" is not read: \"" + with_codes(clipped(word, 40)) + "\" (" + rows.places[i] +
                         ") is no state of a run that is known, such as finished, failed or running");
    out.state.clear();  // a column of another meaning
  }
  if (take.kind == TakenValue::Kind::target && out.step.empty())
    throw UsageError("--take target needs a column of steps", "--step COLUMN names it; " + columns_here(rows));
  if (!out.higher_is_better) out.higher_is_better = usual_direction(out.metric);
  if (!out.higher_is_better) throw UsageError("whether a higher " + out.metric + " is better is not known", "say --higher or --lower");
  for (const auto& [column, option] : {std::pair(out.by, "--by"), std::pair(out.seed, "--seed")}) {
    if (column == out.metric) throw UsageError(std::string(option) + " and --metric are both " + column, "name two columns");
  }
  return out;
}

namespace {

// The rows of one run.
struct RowsOfRun {
  std::string variant, seed;
  RowCells facets;
  std::vector<std::size_t> rows;
};

// Without a seed or a name, rows are of one run where their steps differ.
bool steps_tell_rows_apart(const RunRows& rows, std::size_t by, std::size_t step) {
  std::set<std::pair<std::string, std::string>> seen;
  for (const auto& row : rows.rows) {
    if (!seen.insert({row[by], row[step]}).second) return false;
  }
  return true;
}

std::vector<RowsOfRun> group_rows(const RunRows& rows, const RunColumns& columns) {
  const auto by = index_of(rows, columns.by), seed = index_of(rows, columns.seed), step = index_of(rows, columns.step),
             run = index_of(rows, columns.run), none = rows.columns.size();
  const bool has_steps = step < none && columns.state.empty() && (seed < none || run < none || steps_tell_rows_apart(rows, by, step));
  std::vector<RowsOfRun> out;
  std::map<RowCells, std::size_t> place;
  std::map<RowCells, std::size_t> seen;  // with the step
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    const auto& row = rows.rows[i];
    if (row[by].empty()) throw DataError(rows.places[i] + ": " + columns.by + " is empty", "each row says which variant it is of");
    if (seed < none && stands_for_gap(row[seed]))
      throw DataError(rows.places[i] + ": " + columns.seed + " is empty", "each row has its seed");
    RowsOfRun one{row[by], seed < none ? row[seed] : "", {}, {i}};
    const auto number = whole_number(one.seed);  // 1 and 1.0 are one seed
    RowCells key{one.variant, seed < none               ? (number ? std::to_string(*number) : one.seed)
                              : run < none && has_steps ? row[run]
                              : has_steps               ? ""
                                                        : std::to_string(i)};
    for (const auto& facet : columns.facets) key.push_back(row[index_of(rows, facet)]);
    one.facets.assign(key.begin() + 2, key.end());
    const auto [at, is_new] = place.emplace(key, out.size());
    if (is_new) out.push_back(one);
    else out[at->second].rows.push_back(i);
    key.push_back(has_steps ? row[step] : "");
    const auto [first, is_first] = seen.emplace(key, i);
    if (!is_first) {
      const std::string who =
          columns.by + " " + row[by] + (seed < none ? ", seed " + row[seed] : "") + (has_steps ? ", step " + row[step] : "");
      throw DataError(rows.places[first->second] + " and " + rows.places[i] + " are both of " + who,
                      "each run stands once; a column that tells them apart is a --facet");
    }
  }
  return out;
}

}  // namespace

JudgedRuns runs_of_rows(const RunRows& rows, const RunColumns& columns, const TakenValue& take) {
  JudgedRuns out;
  const auto metric = index_of(rows, columns.metric), step = index_of(rows, columns.step), state = index_of(rows, columns.state),
             none = rows.columns.size();
  const bool higher = *columns.higher_is_better, for_target = take.kind == TakenValue::Kind::target;
  out.metric = for_target ? columns.step + " at " + columns.metric + (higher ? " ≥ " : " ≤ ") + number_word(take.target) : columns.metric;
  if (ends_with(out.metric, "_to_target")) std::replace(out.metric.begin(), out.metric.end(), '_', ' ');  // ours are times of our runs
  out.higher_is_better = higher && !for_target;
  out.has_seeds = !columns.seed.empty();
  auto grouped = group_rows(rows, columns);
  std::set<double> ends;  // of curves whose last value counts
  const bool whole_seeds =
      std::all_of(grouped.begin(), grouped.end(), [](const RowsOfRun& run) { return whole_number(run.seed).has_value(); });
  std::map<std::string, std::int64_t> seed_numbers;
  const std::string by = out.by = key_of_column(columns.by);
  for (auto& one : grouped) {
    std::map<std::size_t, double> steps;
    if (one.rows.size() > 1) {
      for (const auto row : one.rows) {
        const auto at = value_of_cell(rows.rows[row][step], columns.step, rows.places[row]);
        if (!at || std::isnan(*at))
          throw DataError(rows.places[row] + ": " + columns.step + " is empty", "each row of a curve has its step");
        steps[row] = *at;
      }
      std::stable_sort(one.rows.begin(), one.rows.end(), [&](std::size_t a, std::size_t b) { return steps[a] < steps[b]; });
    }
    std::optional<double> value;  // NaN: diverged
    std::optional<double> end;
    for (const auto row : one.rows) {
      const auto here = value_of_cell(rows.rows[row][metric], columns.metric, rows.places[row]);
      if (!here) continue;
      if (one.rows.size() > 1) end = steps[row];
      const bool is_better = value && !std::isnan(*value) && (std::isnan(*here) || (higher ? *value >= *here : *value <= *here));
      if (take.kind == TakenValue::Kind::last || (take.kind == TakenValue::Kind::best && !is_better)) value = here;
      if (for_target && !value && (higher ? *here >= take.target : *here <= take.target))
        value = value_of_cell(rows.rows[row][step], columns.step, rows.places[row]);
    }
    FoundRun run;
    const auto last = one.rows.back();
    run.path = rows.places[last];
    run.variant = one.variant;
    run.keys[by] = one.variant;
    for (std::size_t i = 0; i < columns.facets.size(); ++i) run.keys[key_of_column(columns.facets[i])] = one.facets[i];
    run.seed = !out.has_seeds ? static_cast<std::int64_t>(out.runs.size())
               : whole_seeds  ? *whole_number(one.seed)
                              : seed_numbers.emplace(one.seed, static_cast<std::int64_t>(seed_numbers.size())).first->second;
    const auto said = state < none ? state_of(rows.rows[last][state]) : RunState::done;
    if (said == RunState::running) {
      out.unfinished.push_back(rows.places[last]);
      continue;
    }
    run.state = said == RunState::failed ? RunState::failed : value && std::isfinite(*value) ? RunState::done : RunState::diverged;
    if (said != RunState::failed && end) ends.insert(*end);
    if (said == RunState::failed) run.reason = lower(rows.rows[last][state]);
    else if (run.state == RunState::diverged) run.reason = for_target ? "never" : value ? "not finite" : "no value";
    RunSummary summary;
    summary.end = run.state == RunState::done ? RunEnd::done : RunEnd::diverged;
    summary.metrics.push_back({out.metric, run.state == RunState::done ? *value : NAN, std::nullopt});
    run.summary = summary;
    out.runs.push_back(std::move(run));
  }
  if (take.kind == TakenValue::Kind::last && ends.size() > 1)
    out.notes.push_back("runs end at different steps (" + number_word(*ends.begin()) + " to " + number_word(*ends.rbegin()) +
                        "), and each counts with its last value");
  return out;
}

}  // namespace ffn
