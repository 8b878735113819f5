// Configs are read back as they were written, for every kind and every key.
#include <set>

#include "config/helpers.hpp"
#include "support/catch_plain.hpp"
#include "support/choices.hpp"

using namespace ffn;
using namespace ffn::test;

namespace {

/// Reads a run's own JSON, as `config.json` of a run directory is read.
RunConfig reread(const RunConfig& config) { return run_from(resolved_json(config).dump(2)); }

constexpr std::size_t kCombinations =
    std::variant_size_v<TaskConfig> * kNumFfns * std::variant_size_v<OptimizerConfig> * std::variant_size_v<ScheduleConfig>;

/// Calls `visit` with every combination of task, FFN, router, optimizer and schedule, each with its defaults.
template <class Visit>
std::size_t each_kind(const Visit& visit) {
  std::size_t count = 0;
  RunConfig config;
  const auto visit_one = [&](auto schedule) {
    config.train.schedule = schedule;
    visit(config);
    ++count;
  };
  const auto with_optimizer = [&](auto optimizer) {
    config.train.optimizer = optimizer;
    each_alternative(ScheduleConfig{}, visit_one);
  };
  const auto with_ffn = [&](auto ffn) {
    config.model.ffn = ffn;
    config.model.attention.reset();
    if (std::is_same_v<decltype(ffn), NoFfnConfig>) config.model.attention.emplace();
    each_alternative(OptimizerConfig{}, with_optimizer);
  };
  each_alternative(TaskConfig{}, [&](auto task) {
    if constexpr (std::is_same_v<decltype(task), TextConfig>) task.file = "/texts/a.txt";
    config.task = task;
    each_ffn(with_ffn);
  });
  return count;
}

/// Keys that depend on the formula beside them; test_formula.cpp writes and reads them.
bool is_of_formula(const std::string& name) {
  static const std::set<std::string> names{"let", "parameters", "init", "formulas", "expert", "activation_parameters", "written_from"};
  return names.count(name) > 0;
}

/// Moves every field away from its default, within its bounds. Of each pair that excludes one another, `use_first`
/// tells which is set; `match`, which solves the width, is left alone.
class Changer final : public FieldVisitor {
 public:
  explicit Changer(bool use_first)
      : skipped_(use_first ? std::set<std::string>{"expansion", "at_most", "init_scale", "base_d_ff", "block_expansion", "block_activation",
                                                   "match_expansion"}  // which goes with another init
                           : std::set<std::string>{"d_ff", "at_least", "init_from", "init_hash", "base_d_ff", "block_expansion",
                                                   "block_activation", "match_expansion"}) {}
  std::size_t changed = 0;

  void integer(const Field& f, std::int64_t& x, Bounds<std::int64_t> b) override {
    if (std::string(f.name) != "match_multiple_of") set(x, x == 0 ? 1 : 2 * x, b);
  }
  void real(const Field&, double& x, Bounds<double> b) override { set(x, x == 0 ? 0.25 : x / 2, b); }
  void flag(const Field&, bool& x) override {
    x = !x;
    ++changed;
  }
  void text(const Field& f, std::string& x) override {
    if (skipped_.count(f.name)) return;
    x = std::string(f.name) == "device" ? "cuda:1" : x + "-2";
    ++changed;
  }
  void path(const Field& f, std::string& x) override {
    if (!is_of_formula(f.name) && !skipped_.count(f.name)) {
      x = x.empty() ? "/other" : x + ".other";
      ++changed;
    }
  }
  void json(const Field& f, Json& x, Shape) override {
    if (!is_of_formula(f.name) && !skipped_.count(f.name)) {
      if (std::string(f.name) == "lr_scale" || std::string(f.name) == "decay_scale" || std::string(f.name) == "init_scale")
        x = {{"head", 0.5}};  // a role that every model has
      else x.push_back({"changed", 1});
      ++changed;
    }
  }
  void choice(const Field& f, std::string& x, const std::vector<Choice>& choices) override {
    if (std::string(f.name) == "match") return;
    x = choices[0].name == x ? choices[1].name : choices[0].name;
    if (std::string(f.name) == "engine") x = "torch";  // the cpu one has no part in the device above
    ++changed;
  }
  void optional_integer(const Field& f, std::optional<std::int64_t>& x, Bounds<std::int64_t>) override {
    if (!skipped_.count(f.name)) {
      x = 48;
      ++changed;
    }
  }
  void optional_real(const Field& f, std::optional<double>& x, Bounds<double>) override {
    if (!skipped_.count(f.name)) {
      x = 0.1 + 0.2;  // 17 digits
      ++changed;
    }
  }
  void section(const Field&, const Describe& describe) override { describe(*this); }
  void optional_section(const Field& f, const OptionalSection& s) override {
    if (is_of_formula(f.name)) return;
    s.set_present(true);
    s.describe(*this);
  }
  void union_section(const Field&, const Union& u) override { u.describe(*this); }

 private:
  template <class T>
  void set(T& member, T value, const Bounds<T>& bounds) {
    REQUIRE(bounds.contains(value));
    member = value;
    ++changed;
  }
  std::set<std::string> skipped_;
};

/// Leaves of a tree: "/a/b" → value.
void leaves(const Json& node, const std::string& pointer, std::map<std::string, std::string>& out) {
  if (!node.is_object()) {
    out[pointer] = node.dump();
    return;
  }
  for (const auto& item : node.items()) leaves(item.value(), pointer + "/" + item.key(), out);
}

bool has_expert_choice(const RunConfig& config) { return has_expert_choice(config.model); }

bool is_text(const RunConfig& config) { return std::holds_alternative<TextConfig>(config.task); }

// Experts that choose see later tokens, which a text's positions have to predict.
bool is_impossible(const RunConfig& config) { return is_text(config) && has_expert_choice(config); }

}  // namespace

TEST_CASE("the default of every kind is written and read back unchanged") {
  const auto count = each_kind([](const RunConfig& config) {
    if (is_impossible(config)) return;
    const auto written = resolved_json(config);
    CAPTURE(written.dump());
    CHECK(resolved_json(reread(config)) == written);
  });
  CHECK(count == kCombinations);
}

TEST_CASE("a config with every field changed is written and read back unchanged") {
  std::size_t fields = 0;
  const auto count = each_kind([&](RunConfig config) {
    if (is_impossible(config)) return;
    if (std::holds_alternative<FunctionConfig>(config.task) || std::holds_alternative<TableConfig>(config.task) ||
        std::holds_alternative<SequenceConfig>(config.task))
      return;  // their fields have to fit each other: below
    std::map<std::string, std::string> defaults, changed;
    leaves(resolved_json(config), "", defaults);
    for (const bool use_first : {true, false}) {
      RunConfig other = config;
      Changer changer(use_first);
      other.describe(changer);
      const bool loss_is_free = target_of(other.task) == Target::classes;  // the one that it was changed to is theirs
      if (!loss_is_free) other.train.loss = config.train.loss;
      other.train.label_smoothing = 0;  // goes with the loss that was changed
      other.model.tie = why_not_tied(other.task).empty();
      if (has_expert_choice(other)) {
        auto& moe = std::get<MoeConfig>(other.model.ffn);
        moe.capacity_factor.reset();  // its experts have one
        moe.balance_weight = MoeConfig().balance_weight;
        --changer.changed;
      }
      if (is_text(other)) other.model.attention->causal = true;
      other.model.parallel = false;  // goes with the placement that was changed to
      other.model.parallel_from = 0;
      other.model.attention->scores = "content";  // what rotary positions and qk_norm act on
      const auto written = resolved_json(other);
      CAPTURE(written.dump());
      CHECK(resolved_json(reread(other)) == written);
      changed.clear();
      leaves(written, "", changed);
      std::size_t unchanged = 0, of_formula = 0;
      for (const auto& [pointer, value] : changed) {
        static const std::set<std::string> kept = {"/task/kind",
                                                   "/model/ffn/kind",
                                                   "/model/ffn/router/kind",
                                                   "/train/optimizer/kind",
                                                   "/train/schedule/kind",
                                                   "/model/ffn/match",
                                                   "/model/ffn/match_multiple_of",
                                                   "/model/block_expansion",
                                                   "/model/block_activation"};
        const bool skipped = !use_first && (pointer == "/model/init_from" || pointer == "/model/init_hash");
        const std::string in_ffn = pointer.rfind("/model/ffn/", 0) == 0 ? pointer.substr(11) : "";
        if (is_of_formula(in_ffn.substr(0, in_ffn.find('/')))) {
          ++of_formula;
          continue;
        }
        unchanged += kept.count(pointer) + skipped;
        if (kept.count(pointer) || skipped || (pointer == "/model/attention/causal" && is_text(other)) ||
            (pointer == "/model/ffn/balance_weight" && has_expert_choice(other)) || (pointer == "/train/loss" && !loss_is_free) ||
            pointer == "/train/label_smoothing" || pointer == "/model/parallel" || pointer == "/model/parallel_from" ||
            pointer == "/model/attention/scores" || (pointer == "/model/tie" && !other.model.tie))
          continue;
        CAPTURE(pointer);
        CHECK((!defaults.count(pointer) || defaults.at(pointer) != value));
      }
      const auto& ffn = config.model.ffn;
      CHECK(unchanged == (!size_of(ffn) ? 6u : std::holds_alternative<MoeConfig>(ffn) ? 9u : 8u) + (use_first ? 0u : 2u));
      CHECK(changed.size() == changer.changed + unchanged + of_formula);
      fields += changer.changed;
    }
  });
  CHECK(count == kCombinations);
  CHECK(fields > count * 2 * 25);
}

TEST_CASE("a function task is written and read back unchanged") {
  for (const bool of_classes : {false, true}) {
    FunctionConfig task;
    *task.inputs = {{"a", {{"integer", 5}}}, {"b", "bit"}, {"c", {{"bit", 3}}}};
    (of_classes ? task.label : task.target) = "a - b * c[0]";
    if (of_classes) task.classes = 7;
    (of_classes ? task.label_noise : task.noise) = 0.1;
    task.jitter = 0.2;
    task.held_out = 0.25;
    RunConfig config;
    config.task = task;
    const auto written = resolved_json(config);
    CAPTURE(written.dump());
    CHECK(resolved_json(reread(config)) == written);
    CHECK(written["task"].size() == (of_classes ? 12 : 11));
  }
}

TEST_CASE("a sequence task is written and read back unchanged") {
  SequenceConfig task;
  task.alphabet = 5;
  task.length = 9;
  task.label = "(s[t] + t) % 7";
  task.scored = "t > 3";
  RunConfig config;
  config.task = task;
  const auto written = resolved_json(config);
  CHECK(resolved_json(reread(config)) == written);
  CHECK(written["task"].size() == 7);
}

TEST_CASE("a table task is written and read back unchanged") {
  for (const bool of_classes : {false, true}) {
    TableConfig task;
    task.file = "/tables/a.csv";
    (of_classes ? task.label : task.target) = "c";
    *task.columns = {"a", "b", "c", "d"};
    *task.types = {{"a", "category"}};
    *task.ignore = {"b"};
    task.split = of_classes ? "fixed" : "d";
    if (of_classes) task.validation_fraction = 0.3;
    RunConfig config;
    config.task = task;
    const auto written = resolved_json(config);
    CAPTURE(written.dump());
    CHECK(resolved_json(reread(config)) == written);
    CHECK(written["task"].size() == (of_classes ? 10 : 9));
  }
}

TEST_CASE("numbers come back to the last bit") {
  RunConfig config;
  auto& adamw = std::get<AdamWConfig>(config.train.optimizer);
  for (const double lr : {0.1 + 0.2, 1.0 / 3, 3e-4, 5e-324, 1.7976931348623157e308, 1e22}) {
    adamw.lr = lr;
    CHECK(std::get<AdamWConfig>(reread(config).train.optimizer).lr == lr);
  }
  for (const std::int64_t seed : {std::int64_t{0}, (std::int64_t{1} << 53) + 1, std::numeric_limits<std::int64_t>::max()}) {
    config.seed = seed;
    CHECK(reread(config).seed == seed);
  }
}

TEST_CASE("a text's path survives, also with spaces and beyond ASCII") {
  RunConfig config;
  for (const std::string file : {"/texts/a b.txt", "/texts/Straße \"1\".txt", "/texts/φ\\x.txt"}) {
    config.task = TextConfig{file, 64, 0.1};
    CHECK(std::get<TextConfig>(reread(config).task).file == file);
  }
}
