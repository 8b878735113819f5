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
      CAPTURE(row.name);
      if (std::string(row.name).find(word) != std::string::npos) CHECK(row.higher_is_better == (std::string(word) == "accuracy"));
    }
  }
  CHECK(names.size() == metric_catalogue().size());
  CHECK(names.size() >= 7);
  CHECK(names.count(TargetConfig{}.metric) == 1);
}

TEST_CASE("a metric may be a target exactly where it is logged") {
  const ScratchDirectory scratch;
  const std::string text = "{\"kind\": \"text\", \"file\": \"" + scratch.write("text.txt", "abc") + "\"}";
  std::map<std::string, int> accepted;
  const auto kinds = choices("model.ffn");
  for (const std::string& task : {std::string("{\"kind\": \"xor\"}"), text}) {
    for (const auto& ffn : kinds) {
      for (const auto& row : metric_catalogue()) {
        const std::string config = "{\"task\": " + task + ", \"model\": {\"ffn\": {\"kind\": \"" + ffn + "\"" +
                                   (ffn == "formula" ? ", \"name\": \"swiglu\"" : "") + "}}, \"train\": {\"target\": {\"metric\": \"" + row.name + "\", \"at_most\": 1}}}";
        accepted[row.name] += !thrown<ConfigError>([&] { run_from(config); });
      }
    }
  }
  const int of_any_ffn = static_cast<int>(kinds.size());
  const std::map<std::string, int> expected{{"train/loss", 2 * of_any_ffn},      {"train/balance_loss", 2},  // of a mixture, on either task
                                            {"train/grad_norm", 2 * of_any_ffn}, {"val/loss", 2 * of_any_ffn},
                                            {"val/accuracy", 2 * of_any_ffn},    {"val/bits_per_char", of_any_ffn},  // on the text
                                            {"val/perplexity", of_any_ffn}};
  for (const auto& [name, count] : accepted) {
    CAPTURE(name);
    CHECK(count > 0);
    if (expected.count(name) == 1) CHECK(count == expected.at(name));
  }
  CHECK(accepted.size() == metric_catalogue().size());
}
