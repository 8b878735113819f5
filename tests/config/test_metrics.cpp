// The catalogue of metrics, and which of them a run may aim at.
#include <map>
#include <set>

#include "config/helpers.hpp"
#include "ffn/config/metrics.hpp"
#include "support/catch_plain.hpp"
#include "support/choices.hpp"

using namespace ffn;
using namespace ffn::test;

TEST_CASE("every metric has a name of its own and a meaning") {
  std::set<std::string> names;
  for (const auto& row : metric_catalogue()) {
    CHECK(names.insert(row.name).second);
    CHECK(std::string(row.doc).size() > 10);
    for (const char* word : {"loss", "perplexity", "bits", "norm", "accuracy"}) {
      if (std::string(row.name).find("bits_per_param") != std::string::npos) continue;  // of what is known, not of what is not
      CAPTURE(row.name);
      if (std::string(row.name).find(word) != std::string::npos) CHECK(row.higher_is_better == (std::string(word) == "accuracy"));
    }
  }
  CHECK(names.size() == metric_catalogue().size());
  CHECK(names.size() >= 7);
  CHECK(names.count(TargetConfig{}.metric) == 1);
}

TEST_CASE("what layers log has to be asked for, and a block's own value is named after the mean") {
  const auto aims = [](const std::string& train) {
    return R"({"task": {"kind": "xor"}, "model": {"ffn": {"kind": "moe"}}, "train": {)" + train +
           R"("target": {"metric": "moe/max_violation", "at_most": 1}}})";
  };
  CHECK(thrown<ConfigError>([&] { run_from(aims("")); }));
  CHECK_FALSE(thrown<ConfigError>([&] { run_from(aims(R"("layer_metrics": true, )")); }));
  REQUIRE(find_metric_row("ffn/dead_units.3"));
  CHECK(std::string(find_metric_row("ffn/dead_units.3")->name) == "ffn/dead_units");
  for (const char* none : {"val/loss.0", "ffn/dead_units.", "ffn/dead_units.x", "ffn/dead_units.0.1", ".0", "0"})
    CHECK_FALSE(find_metric_row(none));
}

TEST_CASE("a metric may be a target exactly where it is logged") {
  const ScratchDirectory scratch;
  const std::string text = "{\"kind\": \"text\", \"file\": \"" + scratch.write("text.txt", "abc") + "\"}";
  std::map<std::string, int> accepted;
  std::vector<std::string> ffns{R"("kind": "moe", "router": {"kind": "noisy_top_k"}, "z_loss_weight": 1, "importance_weight": 1,
                                   "sequence_balance_weight": 1, "capacity_factor": 1)"};
  for (const auto& kind : choices("model.ffn"))
    ffns.push_back("\"kind\": \"" + kind + "\"" + (kind == "formula" ? ", \"name\": \"swiglu\"" : ""));
  for (const std::string& task : {std::string("{\"kind\": \"xor\"}"), text, std::string("{\"kind\": \"facts\"}"),
                                  std::string(R"({"kind": "function", "inputs": {"x": "bit"}, "target": "x", "group": "x"})"),
                                  std::string(R"({"kind": "table", "file": "a.csv", "label": "x"})"),
                                  std::string(R"({"kind": "table", "file": "a.csv", "target": "x"})")}) {
    for (const auto& ffn : ffns) {
      for (const auto& row : metric_catalogue()) {
        const std::string config = "{\"task\": " + task + ", \"model\": {\"ffn\": {" + ffn +
                                   "}}, \"train\": {\"layer_metrics\": true, \"target\": {\"metric\": \"" + row.name +
                                   "\", \"at_most\": 1}}}";
        accepted[row.name] += !thrown<ConfigError>([&] { run_from(config); });
      }
    }
  }
  const int of_any_ffn = static_cast<int>(ffns.size());
  const std::map<std::string, int> expected{{"train/loss", 6 * of_any_ffn},
                                            {"train/balance_loss", 12},  // of a mixture, on any task
                                            {"train/grad_norm", 6 * of_any_ffn},
                                            {"val/loss", 6 * of_any_ffn},
                                            {"val/accuracy", 4 * of_any_ffn},  // not of a target of numbers
                                            {"val/r2", 2 * of_any_ffn},
                                            {"val/majority_accuracy", of_any_ffn},  // of a label
                                            {"val/frequency_loss", of_any_ffn},     // likewise
                                            {"val/mean_rmse", of_any_ffn},          // of a target
                                            {"val/bits_per_char", of_any_ffn},      // on the text
                                            {"val/bits_per_byte", of_any_ffn},
                                            {"val/gzip_bits_per_byte", of_any_ffn},
                                            {"val/perplexity", of_any_ffn},
                                            {"val/bits_per_param", of_any_ffn - 1},  // of facts, with a feed-forward layer
                                            {"ffn/dead_units", 6 * 4},               // plain, gated, mixture, formula
                                            {"moe/load_entropy", 6},
                                            {"moe/purity", 1}};  // of groups
  for (const auto& [name, count] : accepted) {
    CAPTURE(name);
    CHECK(count > 0);
    if (expected.count(name) == 1) CHECK(count == expected.at(name));
  }
  CHECK(accepted.size() == metric_catalogue().size());
}
