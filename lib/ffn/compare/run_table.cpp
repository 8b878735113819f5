#include "ffn/compare/run_table.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "ffn/base/files.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/base/utf8.hpp"
#include "ffn/compare/event_files.hpp"
#include "ffn/data/csv.hpp"
#include "ffn/data/table_cells.hpp"

namespace ffn {

namespace {

using Cells = std::vector<std::string>;
constexpr std::uintmax_t kMostTableBytes = std::uintmax_t{1} << 28;
constexpr std::size_t kMostCells = std::size_t{1} << 25;

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), std::string::npos, end) == 0;
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

std::string cell_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_null() || value.is_structured() ? "" : dump_json(value);
}

void flatten(const Json& object, const std::string& prefix, std::vector<std::pair<std::string, std::string>>& out) {
  for (const auto& item : object.items()) {
    const std::string key = prefix.empty() ? item.key() : prefix + "." + item.key();
    if (item.value().is_object()) flatten(item.value(), key, out);
    else out.emplace_back(key, cell_of(item.value()));
  }
}

// Python writes NaN and Infinity into JSON, which has neither: strings of the same name.
std::string with_quoted_nan(const std::string& text) {
  std::string out;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\' && i + 1 < text.size()) {
      out += text.substr(i++, 2);
      continue;
    }
    if (text[i] == '"') quoted = !quoted;
    const std::string word = quoted                                 ? ""
                             : text.compare(i, 3, "NaN") == 0       ? "NaN"
                             : text.compare(i, 9, "-Infinity") == 0 ? "-Infinity"
                             : text.compare(i, 8, "Infinity") == 0  ? "Infinity"
                                                                    : "";
    out += word.empty() ? std::string(1, text[i]) : "\"" + word + "\"";
    if (!word.empty()) i += word.size() - 1;
  }
  return out;
}

class RowCollector {
 public:
  explicit RowCollector(RunRows& out) : out_(out) {}

  void add(const std::vector<std::pair<std::string, std::string>>& cells, const std::string& place) {
    Cells row(out_.columns.size());
    for (const auto& [name, cell] : cells) {
      const auto [at, is_new] = index_.emplace(name, out_.columns.size());
      if (is_new) {
        out_.columns.push_back(with_codes(name));
        row.emplace_back();
      }
      row[at->second] = with_codes(cell);
    }
    if ((out_.rows.size() + 1) * out_.columns.size() > kMostCells)
      throw DataError(place + ": a table of " + std::to_string(out_.columns.size()) + " columns has too many rows",
                      "keep the columns of variants, seeds and the metric");
    out_.rows.push_back(std::move(row));
    out_.places.push_back(place);
  }

  void finish() {
    for (auto& row : out_.rows) row.resize(out_.columns.size());
  }

 private:
  RunRows& out_;
  std::map<std::string, std::size_t> index_;
};

void add_json(const std::string& text, const std::string& file, const Cells& with, RowCollector& rows) {
  const auto add = [&](const Json& value, const std::string& place) {
    if (!value.is_object())
      throw DataError(place + ": no JSON object", "each line is one run: {\"act\": \"relu\", \"seed\": 0, \"val_loss\": 3.28}");
    std::vector<std::pair<std::string, std::string>> cells;
    flatten(value, "", cells);
    if (!with.empty()) cells.emplace_back("file", with[0]);
    rows.add(cells, place);
  };
  if (text.find_first_not_of(" \t\r\n") < text.size() && text[text.find_first_not_of(" \t\r\n")] == '[') {
    const Json all = parse_json(with_quoted_nan(text));
    if (!all.is_array()) throw DataError(file + ": no JSON", "a list of objects, or one object on each line");
    for (std::size_t i = 0; i < all.size(); ++i) add(all[i], file + " entry " + std::to_string(i + 1));
    return;
  }
  std::istringstream lines(text);
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string place = file + ":" + std::to_string(number);
    const Json value = parse_json(with_quoted_nan(line));
    if (value.is_discarded()) throw DataError(place + ": no JSON", "each line is one object; a line that was cut off is deleted");
    add(value, place);
  }
}

// Columns "relu-seed0 - val/loss" beside their __MIN and __MAX: what W&B's charts export.
bool is_chart_export(const Csv& csv) {
  const auto has = [&](const std::string& end) {
    return std::any_of(csv.columns.begin(), csv.columns.end(), [&](const std::string& name) { return ends_with(name, end); });
  };
  return has("__MIN") && has("__MAX");
}

void add_chart(const Csv& csv, const std::string& file, const Cells& with, RowCollector& rows) {
  std::string metric;
  for (std::size_t column = 1; column < csv.columns.size(); ++column) {
    const std::string& name = csv.columns[column];
    const auto dash = name.rfind(" - ");
    if (ends_with(name, "__MIN") || ends_with(name, "__MAX") || dash == std::string::npos) continue;
    if (name.substr(0, dash).find(": ") != std::string::npos)
      throw DataError(file + ":1: \"" + name + "\" is a mean over a group of runs", "export the chart with its runs not grouped");
    if (metric.empty()) metric = name.substr(dash + 3);
    if (name.substr(dash + 3) != metric)
      throw DataError(file + ":1: columns of " + metric + " and of " + name.substr(dash + 3), "export one chart for each metric");
    for (std::size_t row = 0; row < csv.rows.size(); ++row) {
      if (csv.rows[row][column].empty()) continue;
      std::vector<std::pair<std::string, std::string>> cells{
          {"name", name.substr(0, dash)}, {"step", csv.rows[row][0]}, {metric, csv.rows[row][column]}};
      if (!with.empty()) cells.emplace_back("file", with[0]);
      rows.add(cells, file + ":" + std::to_string(csv.lines[row]));
    }
  }
}

void add_csv(const std::string& text, const std::string& file, const Cells& with, RowCollector& rows) {
  const Csv csv = parse_csv(text, {}, file);
  std::set<std::string> names;
  for (const auto& name : csv.columns) {
    if (!name.empty() && !names.insert(name).second)
      throw DataError(file + ":1: two columns are called \"" + name + "\"", "give each column its own name");
  }
  if (is_chart_export(csv)) return add_chart(csv, file, with, rows);
  for (std::size_t row = 0; row < csv.rows.size(); ++row) {
    std::vector<std::pair<std::string, std::string>> cells;
    for (std::size_t i = 0; i < csv.columns.size(); ++i) {
      if (!csv.columns[i].empty()) cells.emplace_back(csv.columns[i], csv.rows[row][i]);
    }
    if (!with.empty()) cells.emplace_back("file", with[0]);
    rows.add(cells, file + ":" + std::to_string(csv.lines[row]));
  }
}

void add_event_files(const std::string& directory, const Cells& with, RowCollector& rows) {
  for (const auto& run : read_event_files(directory)) {
    for (const auto& [step, scalars] : run.scalars) {
      std::vector<std::pair<std::string, std::string>> cells(scalars.begin(), scalars.end());
      cells.emplace_back("name", run.directory.lexically_relative(directory).string());
      cells.emplace_back("step", std::to_string(step));
      if (!with.empty()) cells.emplace_back("file", with[0]);
      rows.add(cells, run.directory.string() + " step " + std::to_string(step));
    }
  }
}

Cells words_of(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

std::size_t index_of(const RunRows& rows, const std::string& column) {
  return static_cast<std::size_t>(std::find(rows.columns.begin(), rows.columns.end(), column) - rows.columns.begin());
}

std::string columns_here(const RunRows& rows) {
  constexpr std::size_t kNamed = 30;
  const auto named = std::min(kNamed, rows.columns.size());
  return "columns here: " + join(Cells(rows.columns.begin(), rows.columns.begin() + static_cast<std::ptrdiff_t>(named))) +
         (rows.columns.size() > named ? " and " + std::to_string(rows.columns.size() - named) + " more" : "");
}

// The column that was named, or else the first of the usual names; "" where there is none.
std::string find_column(const RunRows& rows, const std::string& asked, const std::string& usual, const char* option) {
  if (!asked.empty()) {
    if (index_of(rows, asked) < rows.columns.size()) return asked;
    Cells alike;
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
  return std::any_of(rows.rows.begin(), rows.rows.end(), [&](const Cells& row) { return row[at] != rows.rows[0][at]; });
}

// The usual names whose columns vary.
std::string varying_among(const RunRows& rows, const std::string& usual) {
  Cells out;
  for (const auto& name : words_of(usual)) {
    const auto column = find_column(rows, "", name, "");
    if (!column.empty() && varies(rows, column)) out.push_back(name);
  }
  return join(out, " ");
}

std::optional<bool> usual_direction(const std::string& metric) {
  const std::string name = plain_name(metric);
  for (const char* word : {"loss", "bpb", "bits", "ppl", "perplexity", "err", "nll", "mse", "mae", "rmse", "time", "second", "step"}) {
    if (name.find(word) != std::string::npos) return false;
  }
  for (const char* word : {"acc", "auc", "f1", "score", "reward", "return", "bleu", "iou", "psnr", "r2", "precision", "recall"}) {
    if (name.find(word) != std::string::npos) return true;
  }
  return std::nullopt;
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
  const auto ends_in_seed = [&](const Cells& row) { return split_seed(row[at]).has_value(); };
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

std::filesystem::path without_slash(const std::filesystem::path& path) {
  return path.has_filename() || !path.has_relative_path() ? path : path.parent_path();
}

RunRows read_run_rows(const std::vector<std::string>& files) {
  RunRows out;
  RowCollector rows(out);
  std::map<std::string, int> stems;
  const auto stem_of = [](const std::string& file) {
    const auto path = without_slash(file);
    return (directory_exists(path) ? path.filename() : path.stem()).string();
  };
  for (const auto& file : files) ++stems[stem_of(file)];
  for (const auto& file : files) {
    const Cells with = files.size() > 1 ? Cells{stems[stem_of(file)] > 1 ? file : stem_of(file)} : Cells();
    if (directory_exists(file)) {
      add_event_files(without_slash(file).string(), with, rows);
      continue;
    }
    const std::string shown = file == "-" ? "stdin" : file;
    std::string text = read_input(file, "table of runs", ExitCode::data, kMostTableBytes);
    if (text.compare(0, 3, "\xEF\xBB\xBF") == 0) text.erase(0, 3);
    if (text.find('\0') != std::string::npos) throw DataError(shown + ": no text", "a table of runs is CSV, TSV or JSON lines in UTF-8");
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first != std::string::npos && (text[first] == '{' || text[first] == '[')) add_json(text, shown, with, rows);
    else add_csv(text, shown, with, rows);
  }
  rows.finish();
  return out;
}

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
  if (!out.state.empty() && std::any_of(rows.rows.begin(), rows.rows.end(), [&](const Cells& row) {
        return state_of(row[index_of(rows, out.state)]) == RunState::interrupted;
      }))
    out.state.clear();  // a column of another meaning
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
  Cells facets;
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
  std::map<Cells, std::size_t> place;
  std::map<Cells, std::size_t> seen;  // with the step
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    const auto& row = rows.rows[i];
    if (row[by].empty()) throw DataError(rows.places[i] + ": " + columns.by + " is empty", "each row says which variant it is of");
    if (seed < none && stands_for_gap(row[seed]))
      throw DataError(rows.places[i] + ": " + columns.seed + " is empty", "each row has its seed");
    RowsOfRun one{row[by], seed < none ? row[seed] : "", {}, {i}};
    const auto number = whole_number(one.seed);  // 1 and 1.0 are one seed
    Cells key{one.variant, seed < none               ? (number ? std::to_string(*number) : one.seed)
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
