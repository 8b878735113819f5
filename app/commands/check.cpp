// ffn-train check DIR...: whether everything that runs left is as it was written, and what it would take to repair it.
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
    case CheckVerdict::unfinished:
      return "not finished";
    case CheckVerdict::marred:
      return "whole but for meta.json";
    case CheckVerdict::mendable:
      return "damaged but mendable";
    case CheckVerdict::repeated:
      return "to be repeated";
    case CheckVerdict::unreadable:
      return "unreadable";
    case CheckVerdict::old:
      return "without checksums (version 0.1)";
    case CheckVerdict::misplaced:
      return "in another run's directory";
  }
  return "?";
}

// What the command that trained the run does about it when it is started again.
const char* remedy_of(CheckVerdict verdict) {
  switch (verdict) {
    case CheckVerdict::marred:
      return "what was trained is whole; which machine and build did it is written while training only: put the file back from a copy, or "
             "move the run "
             "away and start it again";
    case CheckVerdict::mendable:
      return "starting it again writes that anew from what is intact";
    case CheckVerdict::repeated:
      return "starting it again moves the run aside and trains it anew";
    case CheckVerdict::unfinished:
      return "starting it again goes on from its checkpoint";
    case CheckVerdict::unreadable:
      return "nothing is known of what cannot be read, and starting it again touches nothing of it";
    case CheckVerdict::misplaced:
      return "move it to where it belongs; starting the study again refuses it here";
    default:
      return "";
  }
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
    if (const std::string damage = study_copy_damage(study); !damage.empty())
      out.push_back(damage + "; study.json itself is whole; starting the study again writes the copy anew");
    const auto compared = comparison_path(study);
    if (path_exists(compared) && !parse_json(read_file(compared, "comparison", ExitCode::data, std::uintmax_t{1} << 32)).is_object())
      out.push_back(compared.string() + ": damaged: no JSON object; the runs are not affected; starting the study again writes it anew");
  }
  return out;
}

int check_runs(const std::vector<std::string>& directories, const CommonOptions& common) {
  auto places = find_run_places({directories.begin(), directories.end()});
  if (places.there.empty() && places.missing.empty()) throw DataError("no runs below " + directories[0]);
  for (auto& problem : damage_beside(places.studies)) places.damaged_studies.push_back(std::move(problem));
  std::vector<RunCheck> checks(places.there.size());
  side_by_side(8, checks.size(), [&](std::size_t i) { checks[i] = check_run(RunDirectory(places.there[i])); });

  bool good = places.missing.empty() && places.damaged_studies.empty();
  std::map<CheckVerdict, std::size_t> counts;
  for (const auto& one : checks) {
    ++counts[one.verdict];
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
    sum += separator + format_count(static_cast<std::int64_t>(count)) + " " + verdict_name(verdict);
    separator = ", ";
  }
  if (!places.missing.empty()) sum += "; " + std::to_string(places.missing.size()) + " missing";
  print_text(sum);
  return static_cast<int>(good ? ExitCode::done : ExitCode::data);
}

}  // namespace

void add_check(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("check", "whether all that runs left is as it was written");
  auto directories = std::make_shared<std::vector<std::string>>();
  command.option("directories", *directories, "studies or runs").required().type("DIR...");
  add_output_options(command, common);
  command.run([&common, directories] { return check_runs(*directories, common); });
}

}  // namespace ffn::app
