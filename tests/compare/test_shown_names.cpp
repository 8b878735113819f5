// Names shown for keys and values, over runs that were never trained.
#include "ffn/compare/run_keys.hpp"
#include "ffn/compare/shown_names.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

FoundRun run_with(const std::string& variant, const std::string& label, std::map<std::string, std::string> keys) {
  FoundRun run;
  run.variant = variant;
  run.label = label;
  run.keys = std::move(keys);
  return run;
}

Comparison named(const std::vector<FoundRun>& runs, const std::string& by, const std::vector<std::string>& facet_by = {}) {
  Comparison c;
  c.by = by;
  name_keys_and_values(runs, facet_by, c);
  return c;
}

}  // namespace

TEST_CASE("a kind goes before the keys that it brings along") {
  std::vector<FoundRun> runs;
  for (const char* lr : {"0.01", "0.02"}) {
    runs.push_back(run_with("none", "", {{"model.ffn.kind", "none"}, {"train.optimizer.lr", lr}}));
    runs.push_back(
        run_with("plain", "", {{"model.ffn.kind", "positionwise"}, {"model.ffn.activation", "relu"}, {"train.optimizer.lr", lr}}));
  }
  const auto varying = varying_keys(runs);
  CHECK(varying.front() == "model.ffn.activation");
  CHECK(pick_by("", runs, varying) == "model.ffn.kind");
  CHECK(facet_keys(runs, varying, "train.optimizer.lr") == std::vector<std::string>{"model.ffn.kind"});
}

TEST_CASE("of keys that move together the one that the study writes first makes the groups") {
  std::vector<FoundRun> runs;
  for (const auto& [d, heads] : {std::pair("48", "3"), {"64", "4"}})
    for (const char* activation : {"gelu", "relu"})
      runs.push_back(run_with(std::string("model-d_model=") + d + "+heads=" + heads + "+activation=" + activation, "",
                              {{"model.d_model", d}, {"model.attention.heads", heads}, {"model.ffn.activation", activation}}));
  const auto by = [&] { return facet_keys(runs, varying_keys(runs), "model.ffn.activation"); };
  CHECK(by() == std::vector<std::string>{"model.d_model"});
  runs[0].variant = "heads=3+d_model=48+activation=gelu";
  CHECK(by() == std::vector<std::string>{"model.attention.heads"});
}

TEST_CASE("a key is called by its last part, and by more where another one ends like it") {
  const std::vector<std::string> keys = {"model.norm.kind", "model.ffn.kind", "train.optimizer.lr", "model.ffn.router.kind", "seed"};
  CHECK(short_name(keys[0], keys) == "norm kind");
  CHECK(short_name(keys[1], keys) == "ffn kind");
  CHECK(short_name(keys[2], keys) == "lr");
  CHECK(short_name(keys[3], keys) == "router kind");
  CHECK(short_name("kind", {"kind", "a.kind"}) == "kind");
  CHECK(short_name("a.kind", {"kind", "a.kind"}) == "a kind");
  CHECK(short_name("model.d_ff", {"model.d_ff", "model.ff"}) == "d_ff");  // whole parts alone count
}

TEST_CASE("a label names a value that all its runs share, and one label names no two") {
  const std::string key = "model.ffn.activation";
  const std::vector<FoundRun> runs = {run_with("a", "ReLU", {{key, "relu"}}), run_with("a", "ReLU", {{key, "relu"}}),
                                      run_with("b", "same", {{key, "gelu"}}), run_with("c", "same", {{key, "silu"}}),
                                      run_with("d", "one", {{key, "tanh"}}),  run_with("d", "two", {{key, "tanh"}})};
  const auto c = named(runs, key);
  CHECK(shown_value(c, "relu") == "ReLU");
  for (const char* value : {"gelu", "silu", "tanh"}) CHECK(shown_value(c, value) == value);
}

TEST_CASE("an absent value is named by its section only where that is absent") {
  const std::vector<FoundRun> runs = {
      run_with("a", "", {{"model.attention", "null"}, {"model.ffn.kind", "none"}}),
      run_with("b", "", {{"model.attention.scores", "position"}, {"model.ffn.kind", "gated"}, {"model.ffn.bias", "true"}})};
  const auto c = named(runs, "model.ffn.kind", {"model.attention.scores", "model.ffn.bias", "model.attention"});
  CHECK(shown_value(c, "model.attention.scores", "-") == "no attention");
  CHECK(key_and_value(c, "model.attention.scores", "-") == "no attention");
  CHECK(key_and_value(c, "model.attention.scores", "position") == "scores position");
  CHECK(shown_value(c, "model.ffn.bias", "-") == "-");
  CHECK(shown_value(c, "model.attention", "null") == "no attention");
  CHECK(shown_value(c, "model.attention", "-") == "attention");
}
