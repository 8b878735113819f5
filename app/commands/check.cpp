// ffn-train check DIR...: whether everything that runs left is as it was written.
#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "../commands.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/side_by_side.hpp"
#include "ffn/compare/compare.hpp"
#include "ffn/report/format.hpp"
#include "ffn/store/run_check.hpp"
#include "ffn/store/study_file.hpp"

namespace ffn::app {

namespace {

using CheckVerdict = RunCheck::Verdict;

const char* verdict_name(CheckVerdict verdict) {
  switch (verdict) {
    case CheckVerdict::whole:
      return "whole";
    case CheckVerdict::absent:
    case CheckVerdict::unfinished:
    case CheckVerdict::failed:
      return "not finished";
    case CheckVerdict::damaged:
      return "damaged";
    case CheckVerdict::unreadable:
      return "unreadable";
  }
  return "?";
}

// How starting the run's command again handles the problem.
const char* remedy_of(CheckVerdict verdict) {
  return verdict == CheckVerdict::unreadable ? "nothing is known of what cannot be read; check again when it can be"
                                             : "starting it again renames the run's directory and trains it anew";
}

Json report_of(const RunPlaces& places, const std::vector<RunCheck>& checks) {
  Json out = {{"runs", Json::array()}, {"missing", Json::array()}};
  for (std::size_t i = 0; i < checks.size(); ++i)
    out["runs"].push_back(
        {{"directory", places.there[i].string()}, {"state", verdict_name(checks[i].verdict)}, {"damage", checks[i].damage}});
  for (const auto& path : places.missing) out["missing"].push_back(path.string());
  out["damaged_studies"] = places.damaged_studies;
  return out;
}

// Files of a study that comparisons do without.
std::vector<std::string> damage_beside(const std::vector<std::filesystem::path>& studies) {
  std::vector<std::string> out;
  for (const auto& study : studies) {
    const auto compared = comparison_path(study);
    if (path_exists(compared) && !parse_json(read_file(compared, "comparison", ExitCode::data, std::uintmax_t{1} << 32)).is_object())
      out.push_back(compared.string() + ": damaged: no JSON object; the runs are not affected; starting the study again writes it anew");
  }
  return out;
}

int check_runs(const std::vector<std::string>& directories, const CommonOptions& common) {
  auto places = find_run_places({directories.begin(), directories.end()}, TuningRuns::include);
  if (places.there.empty() && places.missing.empty()) throw DataError("no runs below " + directories[0]);
  for (auto& problem : damage_beside(places.studies)) places.damaged_studies.push_back(std::move(problem));
  std::vector<RunCheck> checks(places.there.size());
  side_by_side(8, checks.size(), [&](std::size_t i) { checks[i] = check_run_closely(RunDirectory(places.there[i])); });

  bool good = places.missing.empty() && places.damaged_studies.empty();
  std::map<std::string, std::size_t> counts;
  for (const auto& one : checks) {
    ++counts[verdict_name(one.verdict)];
    good = good && one.damage.empty();
  }
  if (common.json) {
    print_json(report_of(places, checks));
    return static_cast<int>(good ? ExitCode::done : ExitCode::data);
  }
  for (std::size_t i = 0; i < checks.size(); ++i) {
    if (checks[i].damage.empty()) continue;
    std::cout << places.there[i].string() << "\n";
    for (const auto& line : checks[i].damage) print_text("  " + line);
    print_text(std::string("  ") + remedy_of(checks[i].verdict));
  }
  for (const auto& problem : places.damaged_studies) print_text(problem, 2);
  for (const auto& path : places.missing)
    print_text(path.string() + ": listed in study.json, but not there; starting the study again trains it");
  std::string sum = format_count(static_cast<std::int64_t>(checks.size())) + (checks.size() == 1 ? " run" : " runs");
  const char* separator = ": ";
  for (const auto& [verdict, count] : counts) {
    sum += separator + format_count(static_cast<std::int64_t>(count)) + " " + verdict;
    separator = ", ";
  }
  if (!places.missing.empty()) sum += "; " + std::to_string(places.missing.size()) + " missing";
  print_text(sum);
  return static_cast<int>(good ? ExitCode::done : ExitCode::data);
}

}  // namespace

void add_check(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("check", "verify the checksums of results");
  auto directories = std::make_shared<std::vector<std::string>>();
  command.option("directories", *directories, "studies or runs").required().type("DIR...");
  add_output_options(command, common);
  command.run([&common, directories] { return check_runs(*directories, common); });
}

}  // namespace ffn::app
