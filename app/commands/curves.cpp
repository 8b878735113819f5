// ffn-train curves DIR...: learning curves in the terminal.
#include "ffn/report/curves.hpp"

#include <iostream>
#include <nlohmann/json.hpp>

#include "../commands.hpp"
#include "../compare_question.hpp"
#include "../report_facts.hpp"
#include "ffn/base/text.hpp"
#include "ffn/report/cells.hpp"
#include "ffn/report/terminal_curves.hpp"
#include "ffn/store/log.hpp"

namespace ffn::app {

namespace {

Json number_or_infinity(double x) { return std::isfinite(x) ? Json(x) : Json(x > 0 ? "inf" : "-inf"); }

Json curves_json(const Comparison& c, const report::CurveSet& set) {
  Json out = {{"metric", set.metric},    {"by", c.by},        {"centre", centre_name(set.centre)}, {"level", 1 - c.alpha},
              {"facets", Json::array()}, {"notes", set.notes}};
  if (set.floor) out["floor"] = *set.floor;
  for (const auto& facet : c.facets) {
    Json groups = Json::array();
    for (const auto& group : facet.groups) {
      Json points = Json::array();
      for (const auto& p : set.groups.at(&group).points)
        points.push_back({{"step", p.step},
                          {"runs", p.runs},
                          {"gone", p.gone},
                          {"centre", number_or_infinity(p.centre)},
                          {"low", number_or_infinity(p.low)},
                          {"high", number_or_infinity(p.high)}});
      groups.push_back({{"value", group.value}, {"points", points}});
    }
    out["facets"].push_back({{"keys", facet.keys}, {"groups", groups}});
  }
  return out;
}

struct CurvesOptions {
  CompareQuestion question;
  std::string metric;
};

int curves(CurvesOptions options, const CommonOptions& common) {
  if (is_time_metric(options.metric))
    throw UsageError(options.metric + " is one number of a run and has no curve",
                     "`ffn-train compare` compares it; curves are of a logged metric, such as val/loss");
  auto& request = options.question.request;
  request.resamples = 1;  // nothing is judged here
  if (!options.metric.empty()) request.config.metric = options.metric;
  Targets targets;
  std::vector<std::string> about;
  bool finished = false, kept = false;
  const auto comparison = answer_to(options.question, [&](const FoundRuns& found) {
    targets = targets_of(found);
    about = notes_about(found);
    for (const auto& run : found.runs) {
      finished = finished || run.summary;
      kept = kept || (run.summary && !run.summary->files.empty());
    }
  });
  const auto wanted = curves_worth_drawing(targets, comparison.metric).front();
  auto sets = report::read_curves(comparison, {wanted});
  if (sets.empty() && finished && !kept)
    throw DataError("these runs kept no curves (their config has keep: summary)", "train them with keep=all under another name");
  if (sets.empty())
    throw DataError("no run has logged " + wanted.metric + " yet", "`ffn-train runs` says how far they are; --metric NAME draws another");
  for (auto& note : about) {
    if (common.json) sets[0].notes.push_back(std::move(note));
    else log_warning(note);
  }
  if (common.json) print_json(curves_json(comparison, sets[0]));
  else {
    const auto text = report::curves_text(comparison, sets[0], terminal_width_of(1), color_enabled(color_mode(common), 1));
    std::cout << printable(text, /*keep_colors=*/true);
  }
  return 0;
}

}  // namespace

void add_curves(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("curves", "draw learning curves in the terminal");
  auto options = std::make_shared<CurvesOptions>();
  add_grouping_options(command, options->question);
  command.option("--metric", options->metric, "a logged metric; the compared one, or the target's, otherwise").type("METRIC");
  add_output_options(command, common);
  command.run([&common, options] { return curves(*options, common); });
}

}  // namespace ffn::app
