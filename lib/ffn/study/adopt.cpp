#include "ffn/study/adopt.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "ffn/core/files.hpp"
#include "ffn/record/log.hpp"
#include "ffn/record/run_claim.hpp"
#include "ffn/record/run_standing.hpp"
#include "ffn/study/run_copy.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

std::vector<fs::path> directories_in(const fs::path& parent) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator at(parent, error), end; !error && at != end; at.increment(error)) {
    std::error_code unknown;
    if (!is_no_result(at->path().filename().string()) && fs::is_directory(at->symlink_status(unknown))) out.push_back(at->path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Runs in the study's directory that lie where the plan has none: identity → place.
std::map<std::string, fs::path> runs_elsewhere(const Plan& plan) {
  std::set<std::string> planned;
  for (const auto& variant : plan.study.variants) planned.insert(variant.name);
  std::vector<fs::path> places;
  for (const auto& child : directories_in(plan.directory)) {
    if (holds_run(child)) places.push_back(child);
    else if (!planned.count(child.filename().string())) {
      for (auto& run : directories_in(child)) places.push_back(std::move(run));
    }
  }
  std::map<std::string, fs::path> out;
  for (const auto& place : places) {
    try {
      if (const auto summary = read_summary(place)) out.emplace(summary->identity, place);
    } catch (const Error&) {  // damaged: no help
    }
  }
  return out;
}

bool adopt(const PlannedRun& run, const fs::path& from) {
  try {
    if (check_run(RunDirectory(from)).verdict != RunCheck::Verdict::whole) return false;
    const auto claim = RunClaim::take(run.directory);
    if (!claim || path_exists(run.directory)) return false;  // somebody is at it
    copy_run(from, run.directory, InTheWay::nothing);
    return true;
  } catch (const std::exception& error) {
    log_warning(from.string() + " is what " + run.directory.string() + " will be, and could not be copied: " + error.what() + "; the run is trained again");
    return false;
  }
}

}  // namespace

std::size_t adopt_runs(const Plan& plan, const std::vector<std::size_t>& runs, std::vector<Progress>& found) {
  std::vector<std::size_t> absent;
  for (const auto i : runs) {
    if (found[i] == Progress::pending && !path_exists(plan.runs[i].directory)) absent.push_back(i);
  }
  if (absent.empty() || !path_exists(plan.directory)) return 0;
  const auto elsewhere = runs_elsewhere(plan);
  std::size_t adopted = 0;
  for (const auto i : absent) {
    const auto at = elsewhere.find(plan.runs[i].identity);
    if (at == elsewhere.end() || !adopt(plan.runs[i], at->second)) continue;
    found[i] = progress_of(plan.runs[i]);
    ++adopted;
  }
  return adopted;
}

}  // namespace ffn
