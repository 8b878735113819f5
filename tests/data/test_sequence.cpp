// Formulas of a sequence's positions, against labels by hand and by loops.
#include <functional>
#include <map>
#include <set>

#include "config/helpers.hpp"
#include "ffn/config/named_tasks.hpp"
#include "ffn/config/sequence_task.hpp"
#include "ffn/data/task.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

using Labels = std::vector<std::int64_t>;

Labels labels(const std::string& label, const Labels& tokens, const std::string& scored = "") {
  SequenceConfig config;
  config.alphabet = 4;
  config.length = static_cast<std::int64_t>(tokens.size());
  config.label = label;
  config.scored = scored;
  Labels out(tokens.size());
  sequence_task(config).write_labels(tokens.data(), {5, 6, 7, 9}, 1, out.data());
  return out;
}

std::string problem(const std::string& label, const std::string& scored = "", const std::string& tokens = "") {
  SequenceConfig config;
  config.tokens = tokens;
  config.label = label;
  config.scored = scored;
  const FunctionProblem found = check_sequence(config);
  return found.message.empty() ? "" : found.key + (": " + found.message);
}

SequenceConfig named(const std::string& name, std::int64_t alphabet, std::int64_t length) {
  SequenceConfig config;
  config.name = name;
  config.alphabet = alphabet;
  config.length = length;
  REQUIRE(resolve_task_name(config) == "");
  return config;
}

// 300 sequences: (tokens of one, position) → its label.
void check_labels(const SequenceConfig& config, const std::function<std::int64_t(const std::int64_t* s, std::int64_t t)>& expected) {
  const ExampleSet set = make_task(config, {{5, 6}})->batch(0, 3, 300);
  REQUIRE(set.labels.size() == static_cast<std::size_t>(300 * config.length));
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < set.labels.size(); ++i) {
    const auto t = static_cast<std::int64_t>(i) % config.length;
    wrong += set.labels[i] != expected(set.tokens.data() + static_cast<std::int64_t>(i) - t, t);
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("labels read tokens at other positions; what reads outside is not scored, unless `where` chooses otherwise") {
  const Labels s{3, 1, 0, 2, 2, 1};
  CHECK(labels("s[t]", s) == s);
  CHECK(labels("s[t-1]", s) == Labels{-1, 3, 1, 0, 2, 2});
  CHECK(labels("s[t+2]", s) == Labels{0, 2, 2, 1, -1, -1});
  CHECK(labels("s[length-1-t]", s) == Labels{1, 2, 2, 0, 1, 3});
  CHECK(labels("s[2]", s) == Labels{0, 0, 0, 0, 0, 0});
  CHECK(labels("(s[t] + s[0]) % 5", s) == Labels{1, 4, 3, 0, 0, 4});
  CHECK(labels("s[s[t]]", s) == Labels{2, 1, 3, 0, 0, 1});
  CHECK(labels("s[t / 2]", s) == Labels{3, -1, 1, -1, 0, -1});  // between two positions there is none
  CHECK(labels("s[t-1] == 3", s) == Labels{-1, 1, 0, 0, 0, 0});
  CHECK(labels("!(s[t-1] == 3)", s) == Labels{-1, 0, 1, 1, 1, 1});
  CHECK(labels("where(t < 1, 2, s[t-1])", s) == Labels{2, 3, 1, 0, 2, 2});
  CHECK(labels("where(s[t-1] > 1, 1, 0)", s) == Labels{-1, 1, 0, 0, 1, 1});
  CHECK(labels("max(s[t-1], s[t])", s) == Labels{-1, 3, 1, 2, 2, 2});
  CHECK(labels("s[t]", s, "t % 2 == 0") == Labels{3, -1, 0, -1, 2, -1});
  CHECK(labels("s[t]", s, "s[t+1]") == Labels{3, -1, 0, 2, 2, -1});
  CHECK(labels("max(s)", s) == Labels{3, 3, 3, 3, 3, 3});
  CHECK(labels("sum(s[0:3]) % 3", s) == Labels{1, 1, 1, 1, 1, 1});
  CHECK(labels("max(s[length / 2:length - 1])", s) == Labels{2, 2, 2, 2, 2, 2});
  CHECK(labels("nth_smallest(s, t)", s) == Labels{0, 1, 1, 2, 2, 3});
  CHECK(labels("nth_smallest(s, t - 1)", s) == Labels{-1, 0, 1, 1, 2, 2});
  CHECK(labels("after_last(s, t)", s) == Labels{-1, -1, -1, -1, 2, 0});
  CHECK(labels("f[s[t]] % 4", s) == Labels{1, 2, 1, 3, 3, 2});
  CHECK(labels("f[s[t] + 1] % 4", s) == Labels{-1, 3, 2, 1, 1, 3});
  CHECK(labels("t % length == t", s) == Labels{1, 1, 1, 1, 1, 1});
}

TEST_CASE("named sequences have the labels that loops give them") {
  check_labels(named("copy", 5, 12), [](const std::int64_t* s, std::int64_t t) { return t < 6 ? -1 : s[t - 6]; });
  check_labels(named("reverse", 5, 12), [](const std::int64_t* s, std::int64_t t) { return t < 6 ? -1 : s[11 - t]; });
  check_labels(named("sequence_xor", 8, 300),  // longer than the block of positions that is computed at once
               [](const std::int64_t* s, std::int64_t t) { return t < 2 ? -1 : s[t - 1] ^ s[t - 2]; });
  check_labels(named("sort", 5, 12), [](const std::int64_t* s, std::int64_t t) {
    Labels first(s, s + 6);
    std::sort(first.begin(), first.end());
    return t < 6 ? -1 : first[static_cast<std::size_t>(t - 6)];
  });
  const auto followed = [](const std::int64_t* s, std::int64_t t, std::int64_t every) {
    std::map<std::int64_t, std::int64_t> next;  // what followed when it was last seen
    for (std::int64_t i = 0; i < t; i += every) next[s[i]] = s[i + 1];
    return next.count(s[t]) > 0 ? next[s[t]] : -1;
  };
  check_labels(named("induction", 5, 20), [&](const std::int64_t* s, std::int64_t t) { return followed(s, t, 1); });
  check_labels(named("recall", 9, 20), [&](const std::int64_t* s, std::int64_t t) { return t % 2 == 1 ? -1 : followed(s, t, 2); });
  std::size_t seen = 0;
  for (const auto& row : named_tasks()) seen += row.kind == std::string(SequenceConfig::kKind);
  CHECK(seen == 7);
}

TEST_CASE("recall's keys and values alternate, are drawn evenly and keep together in a sequence, not between them") {
  constexpr std::int64_t kLength = 20, kExamples = 2000;
  const ExampleSet set = make_task(named("recall", 8, kLength), {{5, 6}})->batch(0, 0, kExamples);
  std::map<std::pair<std::int64_t, std::int64_t>, int> pairs;
  for (std::int64_t i = 0; i < kExamples; ++i) {
    std::map<std::int64_t, std::int64_t> value;
    const std::int64_t* s = set.tokens.data() + i * kLength;
    for (std::int64_t t = 0; t < kLength; t += 2) {
      REQUIRE((s[t] >= 0 && s[t] < 4 && s[t + 1] >= 4 && s[t + 1] < 8));
      REQUIRE(value.emplace(s[t], s[t + 1]).first->second == s[t + 1]);
      ++pairs[{s[t], s[t + 1]}];
    }
  }
  CHECK(pairs.size() == 16);
  for (const auto& [pair, count] : pairs) CHECK(std::abs(count - 1250) < 250);  // of 20,000 draws, those of one sequence in common
}

TEST_CASE("recall takes more keys than there are positions") {
  const auto config = named("recall", 64, 12);
  const auto set = make_task(config, {{5, 6}})->batch(0, 0, 500);
  CHECK(*std::max_element(set.tokens.begin(), set.tokens.end()) == 63);
  CHECK(std::count_if(set.labels.begin(), set.labels.end(), [](auto label) { return label >= 32; }) > 100);
}

TEST_CASE("memorization asks for the values of keys, which one run has in training and validation") {
  constexpr std::int64_t kAlphabet = 64, kKeys = 31, kLength = 32;  // MAD's layout: 31 keys, 32 values, one token that asks
  const auto task = make_task(named("memorization", kAlphabet, kLength), {{5, 6}, {7, 8}});
  std::vector<std::map<std::int64_t, std::int64_t>> value(2);
  for (std::size_t run = 0; run < 2; ++run) {
    for (const auto& set : {task->batch(run, 0, 64), task->batch(run, 9, 64)}) {
      for (std::size_t i = 0; i < set.labels.size(); i += 2) {
        REQUIRE((set.labels[i] == -1 && set.tokens[i] < kKeys && set.tokens[i + 1] == kAlphabet - 1));
        REQUIRE(value[run].emplace(set.tokens[i], set.labels[i + 1]).first->second == set.labels[i + 1]);
      }
    }
  }
  CHECK((value[0].size() == kKeys && value[1].size() == kKeys));
  std::size_t same = 0;
  for (const auto& [key, label] : value[0]) {
    CHECK((label >= kKeys && label < kAlphabet - 1));
    same += value[1][key] == label;
  }
  CHECK(same < 8);  // 1 in 32 by chance
  const ExampleSet validation = task->validation(16);
  for (std::size_t i = 1; i < validation.labels.size(); i += 2)
    REQUIRE(validation.labels[i] == value[i / static_cast<std::size_t>(16 * kLength)][validation.tokens[i - 1]]);
}

TEST_CASE("256 sequences of memorization have as many of its keys as MAD's") {
  // 4,096 draws of K keys see 1 - (1 - 1/K)^4096 of them.
  for (const auto& [alphabet, share] : std::map<std::int64_t, double>{{2048, 0.982}, {4096, 0.865}, {8192, 0.632}}) {
    const ExampleSet set = make_task(named("memorization", alphabet, 32), {{5, 6}})->batch(0, 0, 256);
    const std::set<std::int64_t> seen(set.tokens.begin(), set.tokens.end());
    CHECK(static_cast<double>(seen.size() - 1) / static_cast<double>((alphabet - 1) / 2) == Approx(share).margin(0.012));
  }
}

TEST_CASE("sequence_xor as a formula is the same function as the kind") {
  constexpr std::int64_t kLength = 8;
  const auto table = [](const TaskConfig& config) {
    const ExampleSet set = make_task(config, {{5, 6}})->batch(0, 0, 5000);
    std::map<Labels, Labels> out;
    for (std::ptrdiff_t i = 0; i < 5000 * kLength; i += kLength)
      out[{set.tokens.begin() + i, set.tokens.begin() + i + kLength}] = {set.labels.begin() + i, set.labels.begin() + i + kLength};
    return out;
  };
  const auto kind = table(SequenceXorConfig{kLength, 1, 2}), formula = table(named("sequence_xor", 2, kLength));
  CHECK(kind.size() == 256);
  CHECK(kind == formula);
}

TEST_CASE("a fault of a sequence is named with its place") {
  CHECK(problem("s[t-1]") == "");
  CHECK_THAT(problem(""), ContainsSubstring("label: no formula of the label given"));
  CHECK_THAT(problem("s[t-1"), ContainsSubstring("label: column "));
  CHECK_THAT(problem("s[u-1]"), ContainsSubstring("label: column 3: nothing is called 'u'; known: s, t, f, length, alphabet, pi\n") &&
                                    ContainsSubstring("\n    s[u-1]\n      ^"));
  CHECK_THAT(problem("s[s]"), ContainsSubstring("label: column 3: an index is one number, and this has 8 columns"));
  CHECK(problem("s") == "label: this is one number, and has 8 columns");
  CHECK_THAT(problem("s[t] - s[0]"), ContainsSubstring("label: the formula does not show how many classes there are"));
  CHECK_THAT(problem("0 * s[t]"), ContainsSubstring("label: a label of 1 classes"));
  CHECK(problem("s[t-8]") == "label: no position is scored in a sequence of length 8: the label reads outside the sequence everywhere");
  CHECK_THAT(problem("s[t-7]", "t < 7"), ContainsSubstring("scored: no position is scored"));
  CHECK_THAT(problem("s[t]", "t <"), ContainsSubstring("scored: column "));
  CHECK_THAT(problem("s[t]", "", "r[t] - 1"), ContainsSubstring("tokens: the formula does not show how many tokens there are"));
  CHECK_THAT(problem("s[t]", "", "r[t] % 3"), ContainsSubstring("tokens: the formula gives 3 tokens, and the alphabet has 2"));
  CHECK_THAT(problem("s[t]", "", "r[t-1] % 2"), ContainsSubstring("tokens: task.tokens is undefined for some draws"));
  CHECK_THAT(problem("s[t]", "", "s[t] % 2"),
             ContainsSubstring("tokens: column 1: nothing is called 's'; known: r, t, f, length, alphabet, pi"));
  CHECK_THAT(problem("after_last(s)"), ContainsSubstring("label: column 1: after_last takes 2 values, got 1"));
  CHECK_THAT(problem("nth_smallest(s, s)"), ContainsSubstring("n is one number, and this has 8 columns"));
  CHECK_THAT(problem("sum(s[0:t])"), ContainsSubstring("this bound is no whole number of columns"));
}

TEST_CASE("the name of a sequence stands for its formulas, and for no others") {
  SequenceConfig config = named("reverse", 2, 8);
  CHECK(resolve_task_name(config) == "");  // of what it was resolved to
  config.scored = "t > 1";
  CHECK_THAT(resolve_task_name(config),
             ContainsSubstring("is what another task is called; leave out the name, or tokens, label and scored"));
  config = SequenceConfig{};
  config.name = "revers";
  CHECK(resolve_task_name(config) ==
        "no task has this name; did you mean \"reverse\"?; known: sequence_xor, copy, reverse, sort, induction, recall, memorization");
  FunctionConfig function;
  function.name = "reverse";
  CHECK_THAT(resolve_task_name(function), ContainsSubstring("no task has this name"));
}
