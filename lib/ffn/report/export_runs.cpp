#include "ffn/report/export_runs.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "ffn/base/files.hpp"
#include "ffn/base/named_file.hpp"
#include "ffn/compare/run_keys.hpp"
#include "ffn/report/table.hpp"
#include "ffn/store/run_directory.hpp"
#include "ffn/store/study_file.hpp"

namespace ffn::exports {

Selection select_runs(const std::vector<std::filesystem::path>& directories, Extras extras) {
  auto found = find_runs(directories, extras);
  Selection out;
  out.notes = notes_about(found);
  for (auto& run : with_formulas_by_name(without_computing(std::move(found.runs), ""))) {
    if (run.state != RunState::pending) out.runs.push_back(std::move(run));
  }
  if (out.runs.empty())
    throw DataError("no run has begun there", out.notes.empty() ? "name a directory that results went to" : out.notes[0]);
  out.varying = varying_keys(out.runs);
  return out;
}

std::vector<Evaluation> curve_of(const FoundRun& run) {
  const auto path = RunDirectory(run.path).metrics_path();
  if (!run.summary) return read_metrics(path);
  const auto facts = run.summary->files.find(path.filename());
  if (facts == run.summary->files.end()) return {};  // keep: summary
  std::vector<Evaluation> out;
  for_each_evaluation(read_metrics_up_to(path, facts->second), path, [&](const Evaluation& evaluation) { out.push_back(evaluation); });
  return out;
}

void note_left_out(std::vector<std::string>& notes, const std::string& problem) {
  const std::string note = "left out of the curves: " + problem;
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
}

namespace fs = std::filesystem;

namespace {

using CsvRow = std::vector<std::string>;

std::string number(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "NaN" : value > 0 ? "Inf" : "-Inf";
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}

// A key that a run's kind does not have, or that is null, is a missing value.
std::string key_cell(const FoundRun& run, const std::string& key) {
  const auto found = run.keys.find(key);
  return found == run.keys.end() || found->second == "null" ? "" : found->second;
}

// As kRunsTable has them.
const CsvRow kFirstHeaders{"run", "variant", "seed", "state"};

// Columns that tell runs apart.
CsvRow identifying_headers(const Selection& selection) {
  CsvRow out = kFirstHeaders;
  out.push_back("label");
  out.insert(out.end(), selection.varying.begin(), selection.varying.end());
  return out;
}

CsvRow identifying_cells(const FoundRun& run, const Selection& selection) {
  CsvRow out{run.path.string(), run.variant, std::to_string(run.seed), to_string(run.state), run.label};
  for (const auto& key : selection.varying) out.push_back(key_cell(run, key));
  return out;
}

// Metrics that any run has logged, in the order in which they are met.
std::vector<std::string> metrics_of(const Selection& selection) {
  std::vector<std::string> out;
  for (const auto& run : selection.runs) {
    if (!run.summary) continue;
    for (const auto& metric : run.summary->metrics) {
      if (std::find(out.begin(), out.end(), metric.name) == out.end()) out.push_back(metric.name);
    }
  }
  return out;
}

// The last value that a run measured before it diverged is no final one, as for compare.
CsvRow summary_cells(const RunSummary& summary, const std::vector<std::string>& metrics) {
  CsvRow out{
      std::to_string(summary.steps),      std::to_string(summary.cost.parameters), std::to_string(summary.cost.active_parameters),
      std::to_string(summary.cost.flops), number(summary.train_seconds),           summary.hit ? std::to_string(summary.hit->step) : ""};
  const bool diverged = summary.end == RunEnd::diverged;
  for (const auto& name : metrics) {
    const auto* metric = summary.find(name);
    out.push_back(metric && !diverged ? number(metric->final_value) : "");
    out.push_back(metric && metric->best ? number(metric->best->value) : "");
    out.push_back(metric && metric->best ? std::to_string(metric->best->step) : "");
  }
  return out;
}

// The columns of scripts/ffn_train.py's runs().
std::string csv_text(const Selection& selection) {
  const auto metrics = metrics_of(selection);
  CsvRow headers = identifying_headers(selection);
  headers.insert(headers.end(), {"steps", "parameters", "active_parameters", "flops_per_token", "train_seconds", "hit_step"});
  for (const auto& name : metrics) headers.insert(headers.end(), {name, "best " + name, "best step " + name});
  std::string out = csv_line(headers);
  for (const auto& run : selection.runs) {
    CsvRow cells = identifying_cells(run, selection);
    if (run.summary) {
      const CsvRow summary = summary_cells(*run.summary, metrics);
      cells.insert(cells.end(), summary.begin(), summary.end());
    }
    cells.resize(headers.size());
    out += csv_line(cells);
  }
  return out;
}

// The columns of scripts/ffn_train.py's metrics(), and when that was.
std::string curves_csv(const Selection& selection, std::size_t& rows, std::vector<std::string>& notes) {
  CsvRow headers = identifying_headers(selection);
  headers.insert(headers.end(), {"step", "time_s", "tokens", "metric", "value"});
  std::string out = csv_line(headers);
  for (const auto& run : selection.runs) {
    std::vector<Evaluation> curve;
    try {
      curve = curve_of(run);
    } catch (const DataError& error) {
      note_left_out(notes, error.what());
    }
    CsvRow cells = identifying_cells(run, selection);
    const std::size_t own = cells.size();
    for (const auto& evaluation : curve) {
      for (const auto& [name, value] : evaluation.metrics) {
        cells.resize(own);
        cells.insert(cells.end(),
                     {std::to_string(evaluation.step), number(evaluation.time_s), std::to_string(evaluation.tokens), name, number(value)});
        out += csv_line(cells);
        ++rows;
      }
    }
  }
  return out;
}

}  // namespace

CsvFiles write_csv(const Selection& selection, const fs::path& directory, std::vector<std::string>& notes) {
  CsvFiles files{directory / "runs.csv", directory / "curves.csv"};
  const NamedFile runs(files.runs, kRunsTable, Chosen::by_program),
      curves(files.curves, kRunsTable, Chosen::by_program);  // what cannot be written is found before any is
  make_directories(directory);
  runs.write(csv_text(selection));
  curves.write(curves_csv(selection, files.num_curve_rows, notes));
  return files;
}

}  // namespace ffn::exports
