#include "ffn/study/command_metrics.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "ffn/base/files.hpp"
#include "ffn/data/csv.hpp"

namespace ffn {

namespace {

constexpr std::uintmax_t kMostBytes = std::uintmax_t{1} << 30;

/// Values by step; the one without steps is at kNoStep.
using Series = std::map<std::int64_t, double>;
constexpr std::int64_t kNoStep = -1;

double number_of(const std::string& text, const CommandMetric& metric) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0') throw DataError(metric.name + ": " + shortened(Json(text)) + " is no number");
  return value;
}

std::int64_t step_of(const std::string& text, const CommandMetric& metric) {
  constexpr double kMost = 1e15;
  const double step = number_of(text, metric);
  if (!(step >= 0 && step <= kMost)) throw DataError(metric.name + ": " + shortened(Json(text)) + " is no step");
  return static_cast<std::int64_t>(step);
}

std::string text_in(const CommandMetric& metric, const CommandOutput& output) {
  const auto text = read_file_if_there(output.directory / metric.file, metric.name, ExitCode::data, kMostBytes);
  if (!text) throw DataError("no " + metric.name + ": there is no " + metric.file + " in {run_dir}");
  return *text;
}

Series from_json(const CommandMetric& metric, const CommandOutput& output) {
  std::string text = text_in(metric, output);
  Json json = parse_json(text);
  if (json.is_discarded()) {  // Python writes these words, which JSON does not have
    static const std::regex kNotFinite("-?\\b(NaN|Infinity)\\b");
    json = parse_json(std::regex_replace(text, kNotFinite, "null"));
  }
  if (json.is_discarded()) throw DataError("no " + metric.name + ": " + metric.file + " is no JSON");
  const Json::json_pointer at(metric.what);
  if (!json.contains(at)) throw DataError("no " + metric.name + ": " + metric.file + " has no " + metric.what);
  const Json& value = json[at];
  if (!value.is_number() && !value.is_null()) throw DataError(metric.name + ": " + shortened(value) + " is no number");
  return {{kNoStep, value.is_null() ? NAN : value.get<double>()}};
}

Series from_csv(const CommandMetric& metric, const CommandOutput& output) {
  const Csv csv = parse_csv(text_in(metric, output), {}, metric.file);
  const auto column = [&](const std::string& name) {
    return static_cast<std::size_t>(std::find(csv.columns.begin(), csv.columns.end(), name) - csv.columns.begin());
  };
  const std::size_t at = column(metric.what), step = column("step");
  if (at == csv.columns.size()) throw DataError("no " + metric.name + ": " + metric.file + " has no column " + metric.what);
  Series out;
  for (const auto& row : csv.rows) {
    if (!row[at].empty()) out[step < row.size() ? step_of(row[step], metric) : kNoStep] = number_of(row[at], metric);
  }
  return out;
}

Series from_text(const CommandMetric& metric, const CommandOutput& output) {
  constexpr std::size_t kLongestLine = 10'000;  // std::regex recurses for each character
  const std::regex form(metric.what);
  Series out;
  for (const auto& printed : output.printed) {
    std::istringstream lines(printed);
    for (std::string line; std::getline(lines, line);) {
      line.resize(std::min(line.size(), kLongestLine));
      for (std::sregex_iterator match(line.begin(), line.end(), form), end; match != end; ++match) {
        const bool has_step = form.mark_count() == 2;
        out[has_step ? step_of((*match)[1].str(), metric) : kNoStep] = number_of((*match)[has_step ? 2 : 1].str(), metric);
      }
    }
    if (!out.empty()) break;
  }
  return out;
}

}  // namespace

std::vector<Evaluation> read_command_metrics(const std::vector<CommandMetric>& sources, const CommandOutput& output) {
  using Source = CommandMetric::Source;
  std::vector<Series> all;
  std::int64_t last = 0;
  for (const auto& metric : sources) {
    all.push_back(metric.source == Source::json  ? from_json(metric, output)
                  : metric.source == Source::csv ? from_csv(metric, output)
                                                 : from_text(metric, output));
    if (all.back().empty())
      throw DataError("no " + metric.name + ": " +
                      (metric.source == Source::csv ? "its column is empty" : "nothing printed matches " + metric.what));
    last = std::max(last, all.back().rbegin()->first);
  }
  std::map<std::int64_t, Evaluation> by_step;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    for (const auto& [step, value] : all[i]) {
      auto& evaluation = by_step[step == kNoStep ? last : step];
      evaluation.step = step == kNoStep ? last : step;
      evaluation.metrics.emplace_back(sources[i].name, value);
    }
  }
  std::vector<Evaluation> out;
  for (auto& [step, evaluation] : by_step) out.push_back(std::move(evaluation));
  return out;
}

}  // namespace ffn
