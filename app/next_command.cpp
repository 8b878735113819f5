#include "next_command.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "ffn/base/files.hpp"
#include "ffn/base/json.hpp"
#include "ffn/base/shell.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/base/utf8.hpp"
#include "ffn/config/metrics.hpp"
#include "ffn/config/names.hpp"
#include "ffn/report/answer.hpp"
#include "ffn/report/cells.hpp"
#include "ffn/report/fit.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/terminal.hpp"
#include "ffn/store/study_file.hpp"

namespace ffn::app {

namespace {

double rate_of(const RunConfig& config) {
  return std::visit([](const auto& optimizer) { return optimizer.lr; }, config.train.optimizer);
}

// Not because every seed gave the same.
bool fresh_seeds_may_tell(const PairResult& pair) {
  const auto verdict = pair.judgement.verdict;
  if (verdict == stats::Verdict::too_few_seeds && pair.paired.num_seeds == 1) return true;
  return (verdict == stats::Verdict::undecided || verdict == stats::Verdict::too_few_seeds) && !pair.judgement.chances.empty();
}

// The command line with another value of a key, where one is given; an option's value is none.
void set_key(std::vector<std::string>& words, const std::string& key, const std::string& value, const CommandDescription& program) {
  const std::string beginning = key + "=";
  const auto takes_value = [&](const std::string& word) {
    return std::any_of(program.options.begin(), program.options.end(), [&](const OptionDescription& option) {
      return !option.value.empty() && std::find(option.names.begin(), option.names.end(), word) != option.names.end();
    });
  };
  std::vector<std::string> out;
  for (const auto& word : words) {
    if (word.rfind(beginning, 0) != 0 || (!out.empty() && takes_value(out.back()))) out.push_back(word);
  }
  out.push_back(beginning + value);
  words = std::move(out);
}

// The words without --fresh, which moved earlier results aside, and with the seeds that a budget chose in its place.
std::vector<std::string> words_again(const Plan& plan, const CommonOptions& common) {
  auto words = common.argv;
  words.erase(std::remove(words.begin(), words.end(), "--fresh"), words.end());
  const auto budget = std::find_if(words.begin(), words.end(), [](const std::string& word) { return word.rfind("--budget", 0) == 0; });
  if (budget == words.end()) return words;
  words.erase(budget, *budget == "--budget" && budget + 1 != words.end() ? budget + 2 : budget + 1);
  set_key(words, "seeds", std::to_string(plan.study.seeds.size()), common.description);
  return words;
}

bool is_to_be_settled(const Plan& plan, const Comparison& c) {
  const bool open = !c.history.qualification.empty() || std::any_of(c.facets.begin(), c.facets.end(), [](const Facet& f) {
    return std::any_of(f.pairs.begin(), f.pairs.end(), fresh_seeds_may_tell);
  });
  return open && !plan.study.growing && !plan.study.seeds.empty();
}

// Additions to a study that is to be settled: a smallest difference where none is named, and evaluations fine enough to tell it.
struct Finer {
  std::string min_effect;       ///< empty: not known, or named
  std::int64_t eval_every = 0;  ///< 0: as it is
};

// One digit, as 20 or 0.3.
double rounded(double x, double (*round)(double)) {
  const double power = std::pow(10.0, std::floor(std::log10(x)));
  return round(x / power) * power;
}

// A tenth of a time, but no less than lies between two evaluations; of a loss a tenth, of a share a hundredth. Of levels, never of
// differences that were seen.
Finer finer_question(const Plan& plan, const Comparison& c) {
  Finer out;
  if (c.min_effect > 0) return out;
  if (c.as_ratios) return {"0.1", 0};
  if (const MetricRow* row = find_metric_row(c.metric); row && row->high == 1) return {"0.01", 0};
  if (!is_time_metric(c.metric)) return out;
  double least = INFINITY, interval = 0;
  for (const auto& facet : c.facets) {
    for (const auto& group : facet.groups) {
      if (const auto centre = shown_centre(group); centre && *centre > 0) least = std::min(least, *centre);
    }
  }
  bool alike = true;
  if (c.metric == "steps_to_target") {
    for (const auto& variant : plan.study.variants) {
      const auto every = static_cast<double>(variant.config.train.eval_every);
      alike = alike && (interval == 0 || interval == every);
      interval = std::max(interval, every);
    }
  }
  const double tenth = std::isfinite(least) ? rounded(least / 10, std::round) : 0;
  if (alike && tenth >= 1 && interval > tenth) {
    interval = rounded(tenth, std::floor);
    out.eval_every = static_cast<std::int64_t>(interval);
  }
  const double size = std::max(tenth, interval);
  if (!(size > 0)) return out;
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", size);
  out.min_effect = text;
  return out;
}

// The first of so many seeds in a row that the study has not: behind its own, or among them where nothing is left behind. `looked_at`: the
// largest that was looked at in any study of these variants.
std::int64_t first_of_fresh_seeds(const Study& study, std::size_t count, std::int64_t looked_at) {
  const std::int64_t end = study.tune || study.tuned ? kFirstTuningSeed : SequentialSeeds::kLargestFirst;
  std::set<std::int64_t> taken(study.seeds.begin(), study.seeds.end());
  if (looked_at >= 0) taken.insert(looked_at);
  const auto wanted = static_cast<std::int64_t>(count);
  if (const auto last = *taken.rbegin(); last < end - wanted) return last + 1;
  std::int64_t first = 0;
  for (const auto seed : taken) {
    if (seed >= first + wanted) break;
    if (seed < end) first = seed + 1;
  }
  return first;
}

// "x-settled", or what is not taken.
std::string free_name(const Plan& plan, const std::string& ending) {
  const std::string name = plan.study.name.substr(0, kLongestName - ending.size() - 3) + ending;
  std::string out = name;
  for (int n = 2; path_exists(plan.directory.parent_path() / out); ++n) out = name + "-" + std::to_string(n);
  return out;
}

std::string short_number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", x);
  return text;
}

// A tuned key's grid, one step further at the ends at which variants did best; empty where none did, or it is no grid of numbers.
std::string wider_grid(const TuningResult& tuned, std::size_t axis) {
  std::set<double> grid;
  bool whole = true, lower = false, higher = false;
  for (const auto& point : tuned.variants.at(0).curve) {
    const auto& value = *point.values.at(axis);
    if (!value.is_number() || !(value.get<double>() > 0)) return "";
    whole = whole && value.is_number_integer();
    grid.insert(value.get<double>());
  }
  if (grid.size() < 2) return "";
  for (const auto& variant : tuned.variants) {
    if (std::find(variant.edge.begin(), variant.edge.end(), tuned.keys[axis]) == variant.edge.end()) continue;
    for (const auto& point : variant.curve) {
      if (point.chosen == 0) continue;
      lower = lower || point.values[axis]->get<double>() == *grid.begin();
      higher = higher || point.values[axis]->get<double>() == *grid.rbegin();
    }
  }
  if (!lower && !higher) return "";
  const auto step = [&](double end, double next) { return whole ? std::max(1.0, std::round(end * end / next)) : end * end / next; };
  const double below = step(*grid.begin(), *std::next(grid.begin())), above = step(*grid.rbegin(), *std::next(grid.rbegin()));
  if (lower) grid.insert(below);
  if (higher) grid.insert(above);
  std::vector<std::string> values;
  for (const double x : grid) values.push_back(whole ? std::to_string(std::llround(x)) : short_number(x));
  return join(values, ",");
}

// By tuned key; without those that need no wider one.
std::map<std::string, std::string> wider_grids(const Comparison& c) {
  std::map<std::string, std::string> out;
  for (std::size_t axis = 0; c.tuned && axis < c.tuned->keys.size(); ++axis) {
    if (auto grid = wider_grid(*c.tuned, axis); !grid.empty()) out[c.tuned->keys[axis]] = std::move(grid);
  }
  return out;
}

std::string settling_command(const Plan& plan, const Comparison& c, const CommonOptions& common, const Finer& finer,
                             const std::map<std::string, std::string>& grids) {
  const auto& study = plan.study;
  auto words = words_again(plan, common);
  const auto first = first_of_fresh_seeds(study, SequentialSeeds().max, c.history.last_seed);
  if (finer.eval_every > 0) set_key(words, "train.eval_every", std::to_string(finer.eval_every), common.description);
  if (!finer.min_effect.empty()) set_key(words, "compare.min_effect", finer.min_effect, common.description);
  for (const auto& [key, grid] : grids) set_key(words, "tune." + key, grid, common.description);
  // A growing study takes neither.
  if (study.config.compare.interaction) set_key(words, "compare.interaction", "false", common.description);
  if (study.config.compare.pairs == "best") set_key(words, "compare.pairs", "all", common.description);
  set_key(words, "name", free_name(plan, c.splits_rows ? "-fresh" : "-settled"), common.description);
  set_key(words, "seeds", fresh_seeds(c, first), common.description);
  return shell_command(words);
}

// The same variants, each at the learning rate that suits it; nothing where no verdict rests on the rate, or that study is there already.
std::string tuning_command(const Plan& plan, const Comparison& c, const CommonOptions& common) {
  const std::string name = plan.study.name + "-tuned";
  char* end = nullptr;
  const double rate = std::strtod(c.rate.c_str(), &end);
  const bool is_one_rate = *end == 0;
  const bool any_verdict = std::any_of(c.facets.begin(), c.facets.end(), [](const Facet& f) {
    return std::any_of(f.pairs.begin(), f.pairs.end(),
                       [](const PairResult& p) { return is_settled(p) && p.judgement.verdict != stats::Verdict::same; });
  });
  if (!any_verdict || plan.study.tune || !is_one_rate || !(rate > 0) || std::filesystem::exists(plan.directory.parent_path() / name))
    return "";
  auto words = words_again(plan, common);
  std::vector<std::string> rates;
  for (const double times : {0.1, 0.3, 1.0, 3.0, 10.0}) rates.push_back(short_number(times * rate));
  set_key(words, "name", name, common.description);
  set_key(words, "train.optimizer.lr", "", common.description);
  words.pop_back();  // a rate that was given has no effect beside those that are tuned over
  set_key(words, "tune.train.optimizer.lr", join(rates, ","), common.description);
  if (!plan.study.config.expect->empty()) set_key(words, "expect", "[]", common.description);  // claims are about the study's own settings
  set_key(words, "tune.retune", "per_seed", common.description);  // one choice for all seeds is drawn by chance, too
  return shell_command(words);
}

// The same study at a tenth of its rate, where it has one.
std::string slower_command(const Plan& plan, const CommonOptions& common) {
  std::set<double> rates;
  for (const auto& variant : plan.study.variants) rates.insert(rate_of(variant.config));
  if (rates.size() != 1 || plan.study.tune) return "";
  auto words = words_again(plan, common);
  set_key(words, "train.optimizer.lr", short_number(*rates.begin() / 10), common.description);
  set_key(words, "name", free_name(plan, "-slower"), common.description);
  return shell_command(words);
}

// The next command, its reason, and another one beside it.
struct Next {
  std::string why, command, beside_why, beside, note;
};

Next next_of(const Plan& plan, const Comparison& c, const StudyEnd& end, const CommonOptions& common) {
  const std::string directory = shell_word(plan.directory.string()), pictures = "ffn-train report " + directory;
  const std::string numbers = "ffn-train compare " + directory + " --details";
  if (end.num_failed > 0)
    return {"next, once what made runs fail is put right (see above), the same command trains those:",
            shell_command(words_again(plan, common)), "", "", ""};
  if (end.all_diverged) {
    const auto command = slower_command(plan, common);
    return {command.empty() ? "" : "next, at a tenth of the learning rate:", command, "numbers:", numbers, ""};
  }
  const auto grids = wider_grids(c);
  if (is_to_be_settled(plan, c) || (!grids.empty() && !plan.study.growing && !plan.study.seeds.empty())) {
    const auto finer = finer_question(plan, c);
    const std::string note = "Set compare.min_effect (here " + finer.min_effect +
                             (c.as_ratios ? ", a factor of 1.1" : ", " + metric_header(c.metric)) +
                             ") to the smallest difference that matters.";
    const char* why = !grids.empty()                    ? "next, with a wider grid:"
                      : c.history.qualification.empty() ? "next, for what is not sure:"
                                                        : "next, for a sure answer:";
    return {why, settling_command(plan, c, common, finer, grids), "pictures:", pictures, finer.min_effect.empty() ? "" : note};
  }
  if (const auto command = tuning_command(plan, c, common); !command.empty())
    return {"next, each at the learning rate that suits it:", command, "pictures:", pictures, ""};
  return {"next:", pictures, "numbers:", numbers, ""};
}

}  // namespace

std::string against_divergence(const RunConfig& config) {
  return "a lower train.optimizer.lr such as " + short_number(rate_of(config) / 10) +
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
  const auto next = next_of(plan, c, end, common);
  const std::string results = "results: " + plan.directory.string();
  const int width = is_terminal(2) ? terminal_width_of(2) : 0;
  const auto fits = [width](const std::string& line) { return width <= 0 || display_width(line) <= static_cast<std::size_t>(width); };
  std::string out = results;
  if (!next.beside.empty()) {
    const std::string above = results + "    " + next.beside_why + " " + next.beside;
    out = (fits(above) ? above : results + "\n" + sentence_and_command(next.beside_why, next.beside, STDERR_FILENO));
  }
  if (!next.note.empty()) {
    const std::string note = wrapped(next.note, width);
    out += "\n" + note.substr(0, note.find_last_not_of('\n') + 1);
  }
  if (!next.command.empty()) out += "\n" + sentence_and_command(next.why, next.command, STDERR_FILENO);
  return out;
}

}  // namespace ffn::app
