#include "next_command.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "ffn/base/files.hpp"
#include "ffn/base/shell.hpp"
#include "ffn/base/text.hpp"
#include "ffn/config/metrics.hpp"
#include "ffn/config/names.hpp"
#include "ffn/report/answer.hpp"
#include "ffn/report/cells.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/layout.hpp"
#include "ffn/report/terminal.hpp"
#include "ffn/store/study_file.hpp"

namespace ffn::app {

namespace {

double rate_of(const RunConfig& config) {
  return std::visit([](const auto& optimizer) { return optimizer.lr; }, config.train.optimizer);
}

// False where every seed gave the same value.
bool fresh_seeds_may_tell(const PairResult& pair) {
  const auto verdict = pair.judgement.verdict;
  if (verdict == stats::Verdict::too_few_seeds && pair.paired.num_seeds == 1) return true;
  return (verdict == stats::Verdict::undecided || verdict == stats::Verdict::too_few_seeds) && !pair.judgement.chances.empty();
}

void set_key(std::vector<std::string>& words, const std::string& key, const std::string& value) {
  const auto sets_key = [&](const std::string& word) { return word.rfind(key + "=", 0) == 0; };
  words.erase(std::remove_if(words.begin(), words.end(), sets_key), words.end());
  words.push_back(key + "=" + value);
}

// The command line without --fresh, and with the chosen number of seeds instead of --budget.
std::vector<std::string> words_again(const Plan& plan, const CommonOptions& common) {
  auto words = common.argv;
  words.erase(std::remove(words.begin(), words.end(), "--fresh"), words.end());
  const auto budget = std::find_if(words.begin(), words.end(), [](const std::string& word) { return word.rfind("--budget", 0) == 0; });
  if (budget == words.end()) return words;
  words.erase(budget, *budget == "--budget" && budget + 1 != words.end() ? budget + 2 : budget + 1);
  set_key(words, "seeds", std::to_string(plan.study.seeds.size()));
  return words;
}

bool is_undecided(const Plan& plan, const Comparison& c) {
  const bool open = !c.history.qualification.empty() || std::any_of(c.facets.begin(), c.facets.end(), [](const Facet& f) {
    return std::any_of(f.pairs.begin(), f.pairs.end(), fresh_seeds_may_tell);
  });
  return open && !plan.study.sequential_seeds && !plan.study.seeds.empty();
}

// The first of `count` consecutive seeds that the study does not have: after its last, or in a gap where no room is left. `largest_seen`:
// the largest seed of any study of these variants whose results were shown.
std::int64_t first_of_fresh_seeds(const Study& study, std::size_t count, std::int64_t largest_seen) {
  const std::int64_t end = study.tune || study.tuned ? kFirstTuningSeed : SequentialSeeds::kLargestFirst;
  std::set<std::int64_t> taken(study.seeds.begin(), study.seeds.end());
  if (largest_seen >= 0) taken.insert(largest_seen);
  const auto wanted = static_cast<std::int64_t>(count);
  if (const auto last = *taken.rbegin(); last < end - wanted) return last + 1;
  std::int64_t first = 0;
  for (const auto seed : taken) {
    if (seed >= first + wanted) break;
    if (seed < end) first = seed + 1;
  }
  return first;
}

// "x-settled", or "x-settled-2" if that is taken.
std::string free_name(const Plan& plan, const std::string& ending) {
  const std::string name = plan.study.name.substr(0, kLongestName - ending.size() - 3) + ending;
  std::string out = name;
  for (int n = 2; path_exists(plan.directory.parent_path() / out); ++n) out = name + "-" + std::to_string(n);
  return out;
}

// For a study without compare.min_effect, which could not decide between variants that are equal: a factor of 1.1 of a loss, a hundredth of
// a share, a tenth of the shortest time but at least the steps between evaluations. From levels, never from differences that were seen.
std::string smallest_difference(const Plan& plan, const Comparison& c) {
  if (c.min_effect > 0 || c.ladder) return "";  // a ladder's seeds have an end
  if (c.as_ratios) return "0.1";
  if (const MetricRow* row = find_metric_row(c.metric); row && row->high == 1) return "0.01";
  if (!is_time_metric(c.metric)) return "";
  double least = INFINITY, interval = 0;
  for (const auto& facet : c.facets) {
    for (const auto& group : facet.groups) {
      if (const auto centre = shown_centre(group); centre && *centre > 0) least = std::min(least, *centre);
    }
  }
  for (const auto& variant : plan.study.variants) {
    if (c.metric == "steps_to_target") interval = std::max(interval, static_cast<double>(variant.config.train.eval_every));
  }
  const double tenth = std::isfinite(least) ? std::stod(significant(least / 10, 1)) : 0;
  return tenth > 0 || interval > 0 ? significant(std::max(tenth, interval), 3) : "";
}

std::string deciding_command(const Plan& plan, const Comparison& c, const CommonOptions& common) {
  const auto& study = plan.study;
  auto words = words_again(plan, common);
  if (const auto effect = smallest_difference(plan, c); !effect.empty()) set_key(words, "compare.min_effect", effect);
  // A sequential design takes neither.
  if (study.config.compare.interaction) set_key(words, "compare.interaction", "false");
  if (study.config.compare.pairs == "best") set_key(words, "compare.pairs", "all");
  set_key(words, "name", free_name(plan, c.splits_rows || c.ladder ? "-fresh" : "-settled"));
  set_key(words, "seeds", fresh_seeds(c, first_of_fresh_seeds(study, SequentialSeeds().max, c.history.last_seed)));
  return shell_command(words);
}

// The same variants, each at its own learning rate. Empty where no verdict rests on the rate, or that study exists.
std::string tuning_command(const Plan& plan, const Comparison& c, const CommonOptions& common) {
  const std::string name = plan.study.name + "-tuned";
  char* end = nullptr;
  const double rate = std::strtod(c.rate.c_str(), &end);
  const bool is_by_size = std::string(end).rfind(" to ", 0) == 0;
  const bool any_verdict = std::any_of(c.facets.begin(), c.facets.end(), [](const Facet& f) {
    return std::any_of(f.pairs.begin(), f.pairs.end(),
                       [](const PairResult& p) { return is_decided(p) && p.judgement.verdict != stats::Verdict::same; });
  });
  const auto& ladder = plan.study.config.ladder;
  if (!any_verdict || plan.study.tune || (ladder && ladder->with->contains("train.optimizer.lr")) || (*end != 0 && !is_by_size) ||
      !(rate > 0) || std::filesystem::exists(plan.directory.parent_path() / name))
    return "";
  auto words = words_again(plan, common);
  std::vector<std::string> rates;
  for (const double times : {0.1, 0.3, 1.0, 3.0, 10.0}) rates.push_back(significant(times * rate, 3));
  set_key(words, "name", name);
  set_key(words, "train.optimizer.lr", "");
  words.pop_back();  // a rate that was given has no effect beside those that are tuned over
  set_key(words, "tune.train.optimizer.lr", join(rates, ","));
  if (is_by_size) set_key(words, "ladder.tuned_at", "smallest");
  if (!plan.study.config.expect->empty()) set_key(words, "expect", "[]");  // claims are about the study's own settings
  set_key(words, "tune.retune", "per_seed");                               // one choice for all seeds is drawn by chance, too
  return shell_command(words);
}

constexpr const char* kUnsure = "next, for what is not sure:";

// The next command and its reason. None where every run diverged: the error says what may help.
std::pair<std::string, std::string> next_of(const Plan& plan, const Comparison& c, const StudyEnd& end, const CommonOptions& common) {
  if (end.num_failed > 0) return {"next, after fixing the errors above:", shell_command(words_again(plan, common))};
  if (end.all_diverged) return {};
  if (is_undecided(plan, c)) return {kUnsure, deciding_command(plan, c, common)};
  if (const auto command = tuning_command(plan, c, common); !command.empty()) return {"next, each at its own learning rate:", command};
  return {"next:", "ffn-train report " + shell_word(plan.directory.string())};
}

}  // namespace

std::string against_divergence(const RunConfig& config) {
  return "a lower train.optimizer.lr such as " + significant(rate_of(config) / 10, 3) +
         (config.train.clip_norm > 0 ? " may help" : " or train.clip_norm=1 may help");
}

std::string sentence_and_command(const std::string& sentence, const std::string& command, int fd) {
  const bool one_line = fd == STDERR_FILENO && !is_terminal(fd);
  const int width = one_line ? 0 : terminal_width_of(fd);
  const std::string line = sentence + " " + command;
  return width <= 0 || display_width(line) <= static_cast<std::size_t>(width) ? line
                                                                              : wrapped(sentence, width) + folded_command(command, width);
}

std::string last_lines(const Plan& plan, const Comparison& c, const StudyEnd& end, const CommonOptions& common) {
  const auto [why, command] = next_of(plan, c, end, common);
  const std::string report = "ffn-train report " + shell_word(plan.directory.string());
  std::string out = "results: " + plan.directory.string();
  if (command != report && !end.all_diverged) {
    const int width = is_terminal(STDERR_FILENO) ? terminal_width_of(STDERR_FILENO) : 0;
    const std::string one_line = out + "    pictures: " + report;
    const bool fits = width <= 0 || display_width(one_line) <= static_cast<std::size_t>(width);
    out = fits ? one_line : out + "\n" + sentence_and_command("pictures:", report, STDERR_FILENO);
  }
  if (why == kUnsure && !smallest_difference(plan, c).empty())
    out += "\nSet compare.min_effect (here " + smallest_difference(plan, c) + ") to the smallest difference that matters.";
  return command.empty() ? out : out + "\n" + sentence_and_command(why, command, STDERR_FILENO);
}

}  // namespace ffn::app
