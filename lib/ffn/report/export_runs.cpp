#include "ffn/report/export_runs.hpp"

#include <algorithm>

#include "ffn/compare/run_keys.hpp"
#include "ffn/store/run_directory.hpp"

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

}  // namespace ffn::exports
