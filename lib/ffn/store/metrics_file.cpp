#include "ffn/store/metrics_file.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "ffn/base/number.hpp"
#include "ffn/store/json_text.hpp"

namespace ffn {
namespace fs = std::filesystem;

using store::count_from;
using store::number_from;
using store::number_json;

namespace {

constexpr std::uintmax_t kMaxMetricsBytes = std::uintmax_t{1} << 31;  // ten million evaluations

// As number_json: the fewest digits that read back as the same double. A study of small runs writes a hundred thousand
// lines, so these do without a document.
void append_number(std::string& line, double value) {
  if (!std::isfinite(value)) {
    line += dump_json(number_json(value));
    return;
  }
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  line.append(digits, end);
  if (std::find_if(digits, end, [](char c) { return c == '.' || c == 'e'; }) == end) line += ".0";  // not an integer's text
}

void append_line(std::string& text, const Evaluation& evaluation) {
  text += "{\"step\":" + std::to_string(evaluation.step) + ",\"time_s\":";
  append_number(text, evaluation.time_s);
  text += ",\"tokens\":" + std::to_string(evaluation.tokens);
  for (const auto& [name, value] : evaluation.metrics) {  // names of the catalogue: nothing to escape
    text.append(",\"").append(name).append("\":");
    append_number(text, value);
  }
  text += "}\n";
}

/// Nothing if the text is no evaluation.
std::optional<Evaluation> parse_line(const std::string& text) {
  const Json line = parse_json(text);
  if (!line.is_object()) return std::nullopt;
  Evaluation out;
  try {
    out.step = count_from(line.at("step"));
    out.tokens = count_from(line.at("tokens"));
    out.time_s = number_from(line.at("time_s"));
    for (const auto& [name, value] : line.items()) {
      if (name != "step" && name != "time_s" && name != "tokens") out.metrics.emplace_back(name, number_from(value));
    }
  } catch (const Json::exception&) {
    return std::nullopt;
  }
  return out;
}

std::string read_text(const fs::path& path) {
  return read_file_if_there(path, "metrics file", ExitCode::data, kMaxMetricsBytes).value_or("");
}

// The text of a file that has to exist.
std::string read_vouched_text(const fs::path& path) {
  auto text = read_file_if_there(path, "metrics file", ExitCode::data, kMaxMetricsBytes);
  if (!text) throw DataError(path.string() + " is missing");
  return std::move(*text);
}

}  // namespace

std::string metrics_lines(const std::vector<Evaluation>& evaluations) {
  std::string lines;
  for (const auto& evaluation : evaluations) append_line(lines, evaluation);
  return lines;
}

std::vector<Evaluation> read_metrics(const fs::path& path) {
  std::vector<Evaluation> out;
  for_each_evaluation(read_text(path), path, [&](const Evaluation& evaluation) { out.push_back(evaluation); });
  return out;
}

void for_each_evaluation(const std::string& text, const fs::path& path, const std::function<void(const Evaluation&)>& take) {
  for (std::size_t begin = 0, number = 1; begin < text.size(); ++number) {
    const std::string line = text.substr(begin, text.find('\n', begin) - begin);
    const auto evaluation = parse_line(line);
    if (!evaluation)
      throw DataError(path.string() + ":" + std::to_string(number) + ": no evaluation: " + shortened(Json(line)),
                      "the file was changed by hand or damaged");
    take(*evaluation);
    begin += line.size() + 1;
  }
}

namespace {

// The number behind `"name":` within a line of ours; nothing if it stands there otherwise.
std::optional<double> number_after(std::string_view line, const std::string& quoted_name) {
  const auto at = line.find(quoted_name);
  if (at == std::string_view::npos) return std::nullopt;
  const char* first = line.data() + at + quoted_name.size();
  double value = 0;
  const auto read = read_double(first, line.data() + line.size(), value);
  const bool ends = read.ec == std::errc() && read.ptr < line.data() + line.size() && (*read.ptr == ',' || *read.ptr == '}');
  return ends ? std::optional<double>(value) : std::nullopt;
}

MetricValues row_of(const Evaluation& evaluation, const std::vector<std::string>& names) {
  MetricValues row{evaluation.step, std::vector<double>(names.size(), std::nan(""))};
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (const auto& [name, value] : evaluation.metrics) {
      if (name == names[i]) row.values[i] = value;
    }
  }
  return row;
}

}  // namespace

std::vector<MetricValues> read_metric_rows(const fs::path& path, const std::vector<std::string>& names, const FileFacts* facts) {
  std::vector<MetricValues> rows;
  if (!facts) {
    for_each_evaluation(read_text(path), path, [&](const Evaluation& evaluation) { rows.push_back(row_of(evaluation, names)); });
    return rows;
  }
  const std::string text = read_vouched_text(path);
  if (text.size() != facts->bytes)
    throw DataError(path.string() + ": " + std::to_string(text.size()) + " bytes instead of " + std::to_string(facts->bytes));
  if (checksum_of(text) != facts->checksum) throw DataError(path.string() + ": damaged: its checksum differs");
  std::vector<std::string> quoted;
  for (const auto& name : names) quoted.push_back("\"" + name + "\":");
  const std::string step_name = "\"step\":";
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line(text.data() + begin, end - begin);
    const auto step = number_after(line, step_name);
    bool known = step && *step >= 0 && *step <= static_cast<double>(store::kLargestCount);
    MetricValues row{known ? static_cast<std::int64_t>(*step) : 0, {}};
    for (const auto& name : quoted) {
      const auto value = number_after(line, name);
      known = known && value;
      row.values.push_back(value.value_or(0));
    }
    if (known) rows.push_back(std::move(row));
    else
      for_each_evaluation(std::string(line) + "\n", path, [&](const Evaluation& evaluation) { rows.push_back(row_of(evaluation, names)); });
    begin = end + 1;
  }
  return rows;
}

std::string read_metrics_up_to(const fs::path& path, const FileFacts& facts) {
  std::string text = read_vouched_text(path);
  if (text.size() < facts.bytes)
    throw DataError(path.string() + ": " + std::to_string(text.size()) + " bytes, the checkpoint rests on " + std::to_string(facts.bytes));
  text.resize(facts.bytes);
  if (checksum_of(text) != facts.checksum) throw DataError(path.string() + ": damaged: its checksum differs");
  return text;
}

}  // namespace ffn
