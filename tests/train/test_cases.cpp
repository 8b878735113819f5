// The case list that the tests of training run over has everything that a config can choose.
#include <set>

#include "alike.hpp"
#include "ffn/kernels/activations.hpp"

using namespace ffn;

namespace {

// "path = value" of everything in a config, paths as choices.hpp has them.
void flatten(const Json& json, const std::string& path, std::set<std::string>& out) {
  if (!json.is_object()) {
    out.insert(path + " = " + (json.is_string() ? json.get<std::string>() : json.dump()));
    return;
  }
  const bool is_union = test::all_choices().count(path) > 0;
  if (is_union) out.insert(path + " = " + json.at("kind").get<std::string>());
  const std::string inside = is_union ? path + "[" + json.at("kind").get<std::string>() + "]" : path;
  for (const auto& [key, value] : json.items()) flatten(value, inside.empty() ? key : inside + "." + key, out);
}

}  // namespace

TEST_CASE("no two values of a choice train alike: none is listed and then forgotten", "[train]") {
  const auto trained = test::check_no_two_alike(test::is_cpu, [](const RunConfig& config) { return test::train({config}); });
  CHECK(trained > 80);
}

TEST_CASE("no number of the model or of training is read and then forgotten", "[train]") {
  const auto trained = test::check_every_number_acts(test::is_cpu, [](const RunConfig& config) { return test::train({config}); });
  CHECK(trained >= 50);  // as many as there were when this was written
}

TEST_CASE("the cases have every kind, choice and flag that a run config offers", "[train]") {
  std::set<std::string> names, covered;
  for (const auto& [name, config] : test::cases()) {
    CHECK(names.insert(name).second);
    flatten(resolved_json(config), "", covered);
  }
  std::size_t asked = 0;
  for (const auto& [path, values] : test::all_choices()) {
    if (test::is_elsewhere(path)) continue;
    for (const auto& value : values) {
      INFO("no case has " << path << " = " << value << ": add one to tests/train/cases.hpp");
      CHECK(covered.count(path + " = " + value) == 1);
      ++asked;
    }
  }
  CHECK(asked > 80);  // 3 × 13 activations, and what else there was when this was written
}

TEST_CASE("the list of choices is read right", "[train]") {
  CHECK(test::choices("model.norm.placement").front() == "pre");
  CHECK(test::choices("model.ffn").size() == std::variant_size_v<FfnConfig>);
  CHECK(test::choices("task").size() == std::variant_size_v<TaskConfig>);
  CHECK(test::choices("train.optimizer").size() == std::variant_size_v<OptimizerConfig>);
  CHECK(test::choices("train.schedule").size() == std::variant_size_v<ScheduleConfig>);
  CHECK(test::choices("model.ffn[moe].router").size() == std::variant_size_v<RouterConfig>);
  CHECK(test::choices("model.ffn[moe].activation").size() == activations().size());
  CHECK(test::choices("model.ffn[moe].gated") == std::vector<std::string>{"true", "false"});
}
