// The catalogue of metrics, and which of them a run may aim at.
#include "ffn/config/metrics.hpp"

#include <map>
#include <set>

#include "config/helpers.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;
using namespace ffn::test;

TEST_CASE("every metric has a name of its own and a meaning") {
  std::set<std::string> names;
  for (const auto& row : metric_catalogue()) {
    CHECK(names.insert(row.name).second);
    CHECK(std::string(row.doc).size() > 10);
    CHECK(row.higher_is_better == (std::string(row.name).find("accuracy") != std::string::npos));
  }
  CHECK(names.size() == 7);
  CHECK(names.count(TargetConfig{}.metric) == 1);
}

TEST_CASE("a metric may be a target exactly where it is logged") {
  const ScratchDirectory scratch;
  const std::string text = "{\"kind\": \"text\", \"file\": \"" + scratch.write("text.txt", "abc") + "\"}";
  std::map<std::string, int> accepted;
  for (const std::string& task : {std::string("{\"kind\": \"xor\"}"), text}) {
    for (const char* ffn : {"positionwise", "gated", "moe", "none"}) {
      for (const auto& row : metric_catalogue()) {
        const std::string config = "{\"task\": " + task + ", \"model\": {\"ffn\": {\"kind\": \"" + ffn +
                                   "\"}}, \"train\": {\"target\": {\"metric\": \"" + row.name + "\", \"at_most\": 1}}}";
        accepted[row.name] += !thrown<ConfigError>([&] { run_from(config); });
      }
    }
  }
  CHECK(accepted == std::map<std::string, int>{{"train/loss", 8},
                                               {"train/balance_loss", 2},  // of a mixture, on either task
                                               {"train/grad_norm", 8},
                                               {"val/loss", 8},
                                               {"val/accuracy", 8},
                                               {"val/bits_per_char", 4},  // of any FFN on the text
                                               {"val/perplexity", 4}});
}
