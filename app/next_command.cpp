#include "next_command.hpp"

#include <algorithm>

#include "ffn/core/shell.hpp"
#include "ffn/core/utf8.hpp"
#include "ffn/record/study_file.hpp"

namespace ffn::app {

namespace {

// Not because every seed gave the same.
bool fresh_seeds_may_tell(const PairResult& pair) {
  const auto verdict = pair.judgement.verdict;
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

}  // namespace

std::string settling_command(const Plan& plan, const Comparison& c, const CommonOptions& common) {
  const auto& study = plan.study;
  const bool open = std::any_of(c.facets.begin(), c.facets.end(), [](const Facet& f) { return std::any_of(f.pairs.begin(), f.pairs.end(), fresh_seeds_may_tell); });
  if (!open || study.growing || study.seeds.empty()) return "";
  auto words = common.argv;
  words.erase(std::remove(words.begin(), words.end(), "--fresh"), words.end());
  const auto first = *std::max_element(study.seeds.begin(), study.seeds.end()) + 1;
  set_key(words, "name", study.name + "-settled", common.description);
  set_key(words, "seeds", "{\"until\":\"settled\",\"first\":" + std::to_string(first) + "}", common.description);
  return shell_command(words);
}

namespace {

// A shell takes it as one line: what does not fit goes on behind a backslash.
std::string folded_command(const std::string& command, int width) {
  std::string out, line = "  ";
  bool quoted = false;
  std::string word;
  const auto take = [&] {
    const bool first = line.find_first_not_of(' ') == std::string::npos;
    if (!first && static_cast<int>(display_width(line) + display_width(word)) + 3 > width) out += line + " \\\n", line = "    " + word;
    else line += (first ? "" : " ") + word;
    word.clear();
  };
  for (const char c : command) {
    if (c == '\'') quoted = !quoted;
    if (c == ' ' && !quoted) take();
    else word += c;
  }
  take();
  return out + line;
}

}  // namespace

std::string last_lines(const Plan& plan, const Comparison& c, const CommonOptions& common) {
  const std::string directory = shell_word(plan.directory.string()), results = "results: " + plan.directory.string();
  const std::string pictures = "ffn-train report " + directory, settling = settling_command(plan, c, common);
  const std::string beside = settling.empty() ? "numbers: ffn-train compare " + directory + " --details" : "pictures: " + pictures;
  const std::string what = settling.empty() ? "next:" : "next, for what is not sure:", next = settling.empty() ? pictures : settling;
  const int width = is_terminal(2) ? terminal_width_of(2) : 0;
  const auto fits = [width](const std::string& line) { return width <= 0 || display_width(line) <= static_cast<std::size_t>(width); };
  const std::string above = results + "    " + beside, below = what + " " + next;
  return (fits(above) ? above : results + "\n" + beside) + "\n" + (fits(below) ? below : what + "\n" + folded_command(next, width));
}

}  // namespace ffn::app
