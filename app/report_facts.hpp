// What a report says beside its comparison, gathered from the runs' directories.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ffn/compare/compare.hpp"
#include "ffn/pictures/page.hpp"

namespace ffn::app {

/// From the runs as they were found. The commands are added by who knows them.
pictures::ReportFacts facts_of(const FoundRuns& found, const std::vector<std::filesystem::path>& directories);

using Targets = std::set<std::pair<std::string, double>>;  ///< metric, and its limit

Targets targets_of(const FoundRuns& found);

/// Which learning curves are worth a picture: of the compared metric, or of the target's, and of the loss.
std::vector<pictures::CurveRequest> curves_worth_drawing(const Targets& targets, const std::string& compared_metric);

}  // namespace ffn::app
