// The facts on a report's page beside its comparison (export_html.cpp).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ffn/base/json.hpp"
#include "ffn/compare/compare.hpp"
#include "ffn/report/curves.hpp"

namespace ffn::report {

/// A run that came to no good end.
struct LostRun {
  std::string path, state, reason;
};

/// A report's facts beside the comparison. Texts may be anything: they are escaped.
struct ReportFacts {
  std::string title, question, source;
  std::vector<LostRun> lost;
  std::vector<std::pair<std::string, std::string>> varying;      ///< key of the config, and its values
  std::vector<std::pair<std::string, std::string>> environment;  ///< "CPU", "AMD EPYC"
  std::vector<std::string> commands;                             ///< that reproduce it
  std::string config;                                            ///< of the study, as it was trained; empty without one
  std::size_t num_runs = 0, num_ended = 0;
  double done = 0;                     ///< of the runs, begun ones in part
  std::optional<double> seconds_left;  ///< of a study that trains; for `watch`
  std::string written;                 ///< UTC
  std::string version;
};

/// The data that the page's script draws: the answer (answered_json()), the curves, and networks over all of their input. Of very many
/// variants the first have their single runs.
Json comparison_data(const Comparison& comparison, const std::vector<CurveSet>& curves, const Json& surfaces);

/// The page of `ffn-train watch` before a study's first run has begun.
std::string waiting_page(const ReportFacts& facts);

}  // namespace ffn::report
