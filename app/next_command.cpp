#include "next_command.hpp"

#include <algorithm>

#include "ffn/core/shell.hpp"
#include "ffn/record/study_file.hpp"

namespace ffn::app {

namespace {

// Not because every seed gave the same.
bool fresh_seeds_may_tell(const PairResult& pair) {
  const auto verdict = pair.judgement.verdict;
  return (verdict == stats::Verdict::undecided || verdict == stats::Verdict::too_few_seeds) && !pair.judgement.chances.empty();
}

}  // namespace

std::string settling_command(const Plan& plan, const Comparison& c, const CommonOptions& common) {
  const auto& study = plan.study;
  const bool open = std::any_of(c.facets.begin(), c.facets.end(), [](const Facet& f) { return std::any_of(f.pairs.begin(), f.pairs.end(), fresh_seeds_may_tell); });
  if (!open || study.growing || study.seeds.empty()) return "";
  auto words = common.argv;
  words.erase(std::remove(words.begin(), words.end(), "--fresh"), words.end());
  const auto first = *std::max_element(study.seeds.begin(), study.seeds.end()) + 1;
  words.push_back("name=" + study.name + "-settled");
  words.push_back("seeds={\"until\":\"settled\",\"first\":" + std::to_string(first) + "}");
  return shell_command(words);
}

std::string last_lines(const Plan& plan, const Comparison& c, const CommonOptions& common) {
  const std::string directory = shell_word(plan.directory.string()), results = "results: " + plan.directory.string();
  const std::string pictures = "ffn-train report " + directory, settling = settling_command(plan, c, common);
  if (!settling.empty()) return results + "    pictures: " + pictures + "\nnext, for what is not sure: " + settling;
  return results + "    numbers: ffn-train compare " + directory + " --details\nnext: " + pictures;
}

}  // namespace ffn::app
