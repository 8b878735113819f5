// A report, gathered from the runs' directories: the comparison, its pictures, and what is said beside them.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compare_question.hpp"
#include "ffn/compare/compare.hpp"
#include "ffn/report/page.hpp"

namespace ffn::app {

/// Everything of a page.
struct Report {
  Comparison comparison;
  Json data;  ///< what the page's script draws
  report::ReportFacts facts;
};
/// `finished` hears of each of kReportParts but the last, which is the page: what was found, compared, read for curves.
std::unique_ptr<Report> make_report(
    const CompareQuestion& question, const std::function<void(int part)>& finished = [](int) {});
constexpr int kReportParts = 4;

/// Networks of one or two numbers over all of their input, three seeds of each variant, for the page's script (report_surfaces.cpp).
Json surfaces_of(const Comparison& comparison);

/// The report's place by default: inside the directory, or the working directory for several.
std::filesystem::path report_path(const CompareQuestion& question);

/// From the runs as they were found. The commands are added by who knows them.
report::ReportFacts facts_of(const FoundRuns& found, const std::vector<std::filesystem::path>& directories);

using Targets = std::set<std::pair<std::string, double>>;  ///< metric, and its limit

Targets targets_of(const FoundRuns& found);

/// Which learning curves are worth a picture: of the compared metric, or of the target's, and of the loss.
std::vector<report::CurveRequest> curves_worth_drawing(const Targets& targets, const std::string& compared_metric);

}  // namespace ffn::app
