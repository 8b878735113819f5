#include "ffn/compare/table_reader.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "ffn/base/files.hpp"
#include "ffn/base/json_document.hpp"
#include "ffn/base/text.hpp"
#include "ffn/compare/event_files.hpp"
#include "ffn/data/csv.hpp"
#include "ffn/data/table_cells.hpp"

namespace ffn {

namespace {

constexpr std::uintmax_t kMostTableBytes = std::uintmax_t{1} << 28;
constexpr std::size_t kMostCells = std::size_t{1} << 25;

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
    RowCells row(out_.columns.size());
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

void add_json(const std::string& text, const std::string& file, const RowCells& with, RowCollector& rows) {
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

void add_chart(const Csv& csv, const std::string& file, const RowCells& with, RowCollector& rows) {
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

void add_csv(const std::string& text, const std::string& file, const RowCells& with, RowCollector& rows) {
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

void add_event_files(const std::string& directory, const RowCells& with, RowCollector& rows) {
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

}  // namespace

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), std::string::npos, end) == 0;
}

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
    const RowCells with = files.size() > 1 ? RowCells{stems[stem_of(file)] > 1 ? file : stem_of(file)} : RowCells();
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

}  // namespace ffn
