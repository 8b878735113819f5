// The case list that the tests of training run over has everything that a config can choose.
#include <nlohmann/json.hpp>
#include <set>

#include "cases.hpp"
#include "ffn/kernels/activations.hpp"
#include "observer.hpp"
#include "support/catch_plain.hpp"

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

// Not for the cases: they do not reach the code that trains.
bool is_elsewhere(const std::string& path) {
  return path.rfind("compute.", 0) == 0 ||                                      // what trains is what the tests name
         path.rfind("train.target", 0) == 0 ||                                  // test_resume.cpp, test_metrics.cpp
         (path.size() > 6 && path.compare(path.size() - 6, 6, ".match") == 0);  // decides a width, config/test_matching.cpp
}

// A small run in which everything that can be chosen acts.
RunConfig rich() {
  auto moe = test::some_ffn<MoeConfig>("gelu");
  moe.num_experts = 3;
  auto config = test::base(moe, true);
  config.train.steps = 40;  // the last tenth of a schedule is some steps
  std::get<AdamWConfig>(config.train.optimizer).weight_decay = 0.5;
  return config;
}

// `config` with the value at a path of choices.hpp; the kinds on the way are chosen too.
RunConfig chosen(const RunConfig& config, const std::string& path, const std::string& value) {
  Json json = resolved_json(config);
  Json* at = &json;
  std::istringstream segments(path);
  for (std::string segment; std::getline(segments, segment, '.');) {
    const auto bracket = segment.find('[');
    at = &(*at)[segment.substr(0, bracket)];
    if (bracket == std::string::npos) continue;
    const std::string kind = segment.substr(bracket + 1, segment.size() - bracket - 2);
    if ((*at)["kind"] == kind) continue;
    *at = {{"kind", kind}};
    if (segment.rfind("optimizer", 0) == 0) (*at)["weight_decay"] = 0.5;
  }
  if (value == "true" || value == "false") *at = value == "true";
  else if (at->is_object()) *at = {{"kind", value}};
  else *at = value;
  return read_run_config(parse_document(json.dump(), "choice", "/"), path + " = " + value);
}

}  // namespace

TEST_CASE("no two values of a choice train alike: none is listed and then forgotten", "[train]") {
  std::size_t trained = 0;
  for (const auto& [path, values] : test::all_choices()) {
    if (is_elsewhere(path) || path == "task") continue;
    std::map<std::string, std::string> seen;
    for (const auto& value : values) {
      const auto bits = test::bits_of(test::train({chosen(rich(), path, value)}), 0);
      const auto [first, fresh] = seen.emplace(bits, value);
      INFO(path << " = " << value << " trains as " << first->second << " does");
      CHECK(fresh);
      ++trained;
    }
  }
  CHECK(trained > 80);
}

TEST_CASE("the cases have every kind, choice and flag that a run config offers", "[train]") {
  std::set<std::string> names, covered;
  for (const auto& [name, config] : test::cases()) {
    CHECK(names.insert(name).second);
    flatten(resolved_json(config), "", covered);
  }
  std::size_t asked = 0;
  for (const auto& [path, values] : test::all_choices()) {
    if (is_elsewhere(path)) continue;
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
