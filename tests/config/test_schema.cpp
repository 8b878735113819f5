// The JSON Schema, the list of keys and the page of documentation name everything that the writer writes.
#include <set>

#include "config/helpers.hpp"
#include "ffn/config/schema.hpp"
#include "ffn/kernels/activations.hpp"
#include "support/catch_plain.hpp"
#include "support/choices.hpp"

using namespace ffn;
using namespace ffn::test;

namespace {

FieldVisitor::Describe a_run() {
  static RunConfig config;
  config = {};
  return [](FieldVisitor& v) { config.describe(v); };
}

/// The alternative of a union's or optional section's schema that fits a value, or the schema itself.
const Json& fitting(const Json& schema, const Json& value) {
  if (!schema.contains("oneOf")) return schema;
  for (const auto& option : schema["oneOf"]) {
    if (option["type"] == "null") {
      if (value.is_null()) return option;
      continue;
    }
    const Json& properties = option["properties"];
    const bool of_kind = properties.contains("kind") && properties["kind"].contains("const");
    if (value.is_object() && (!of_kind || properties["kind"]["const"] == value["kind"])) return option;
  }
  FAIL("no alternative for " << value.dump());
  return schema;
}

/// Whose keys are the user's own.
bool is_free_form(const std::string& key) {
  static const std::set<std::string> names{"parameters",   "let",      "init",        "inputs",    "types", "activation_parameters",
                                           "written_from", "lr_scale", "decay_scale", "init_scale"};
  return names.count(key) > 0;
}

/// Checks that the schema knows every key of a written value, and counts them.
std::size_t check_schema(const Json& schema, const Json& value, const std::string& pointer) {
  if (!value.is_object()) return 0;
  const Json& object = fitting(schema, value);
  CHECK(object["type"] == "object");
  CHECK(object["additionalProperties"] == false);
  std::size_t count = 0;
  for (const auto& item : value.items()) {
    CAPTURE(pointer, item.key());
    REQUIRE(object["properties"].contains(item.key()));
    const Json& property = object["properties"][item.key()];
    CHECK((item.key() == "kind" || property["description"].get<std::string>().size() > 0));
    ++count;
    if (!is_free_form(item.key())) count += check_schema(property, item.value(), pointer + "/" + item.key());
  }
  return count;
}

/// Paths, as KeyDoc has them, of everything in a written value.
void paths_of(const Json& value, const std::string& prefix, const std::set<std::string>& sections, std::set<std::string>& out) {
  for (const auto& item : value.items()) {
    const std::string path = prefix + item.key();
    if (item.key() == "kind" && !prefix.empty() && prefix[prefix.size() - 2] == ']') continue;  // documented with its section
    out.insert(path);
    if (!item.value().is_object() || is_free_form(item.key())) continue;
    const std::string of_kind = item.value().contains("kind") ? path + "[" + item.value()["kind"].get<std::string>() + "]" : path;
    paths_of(item.value(), (sections.count(of_kind) ? of_kind : path) + ".", sections, out);
  }
}

/// Configs that between them have every section and alternative.
std::vector<RunConfig> one_of_each() {
  std::vector<RunConfig> configs;
  const auto add = [&]() -> RunConfig& { return configs.emplace_back(); };
  each_alternative(TaskConfig{}, [&](auto task) {
    if constexpr (std::is_same_v<decltype(task), FunctionConfig>) task.classes = 2;              // what is not set is not written
    if constexpr (std::is_same_v<decltype(task), TableConfig>) task.validation_fraction = 0.25;  // likewise
    if constexpr (std::is_same_v<decltype(task), ImagesConfig>) task.examples = 10;
    if constexpr (std::is_same_v<decltype(task), FactsConfig>) task.draws = 10;
    add().task = task;
  });
  each_alternative(OptimizerConfig{}, [&](auto optimizer) { add().train.optimizer = optimizer; });
  each_alternative(ScheduleConfig{}, [&](auto schedule) { add().train.schedule = schedule; });
  each_ffn([&](auto ffn) {
    if constexpr (std::is_base_of_v<FfnSize, decltype(ffn)>) {  // what is not set is not written
      ffn.d_ff = 8;
      ffn.expansion = 1;
    }
    if constexpr (std::is_same_v<decltype(ffn), MoeConfig>) ffn.capacity_factor = ffn.shared_expansion = 1;
    add().model.ffn = ffn;
  });
  MoeConfig of_formulas;
  of_formulas.d_ff = 8;
  of_formulas.expansion = 1;
  of_formulas.expert = formula_called("swiglu");
  add().model.ffn = of_formulas;
  add().model.attention.emplace();
  add().train.target.emplace().at_least = 1;
  add().train.target.emplace().at_most = 1;
  add().model.base_d_ff = 64;
  add().model.match_expansion = 4;
  add().compute.threads = 2;
  return configs;
}

}  // namespace

// For runs that ffn-train trains itself.
Json without_program(const Json& schema) {
  Json fields = schema["else"];
  fields["properties"].update(schema["properties"]);
  return fields;
}

TEST_CASE("the schema is draft-07 and knows every key that is written, of every kind") {
  const Json schema = json_schema(a_run()), fields = without_program(schema);
  CHECK(schema["$schema"] == "http://json-schema.org/draft-07/schema#");
  CHECK(schema["title"] == "ffn-train config");
  std::size_t keys = 0;
  for (const auto& config : one_of_each()) keys += check_schema(fields, resolved_json(config), "");
  CHECK(keys > 16 * 30);
}

TEST_CASE("the schema admits what every config file may say besides its keys") {
  const Json schema = json_schema(a_run());
  CHECK(schema["properties"]["$schema"]["type"] == "string");
  CHECK(schema["if"].dump() == R"({"required":["engine"]})");
  CHECK_FALSE(schema.contains("additionalProperties"));
  CHECK_FALSE(schema["properties"].contains("model"));
  CHECK(schema["else"]["additionalProperties"] == false);
  CHECK(schema["else"]["properties"]["extends"] == true);
  REQUIRE(schema["properties"].contains("extends"));
  CHECK(schema["properties"]["extends"]["oneOf"][0]["type"] == "string");
  CHECK(schema["properties"]["extends"]["oneOf"][1]["items"]["type"] == "string");
}

TEST_CASE("the schema carries types, bounds, choices and defaults") {
  const Json schema = without_program(json_schema(a_run()));
  const Json& model = schema["properties"]["model"]["properties"];
  CHECK(model["d_model"].dump() ==
        R"({"type":"integer","minimum":1,"maximum":65536,"description":"width D of the residual stream","default":32})");
  const Json& plain = model["ffn"]["oneOf"][0];
  CHECK(plain["properties"]["kind"].dump() == R"({"const":"positionwise","default":"positionwise"})");
  CHECK(!plain.contains("required"));
  CHECK(model["ffn"]["oneOf"][1]["required"].dump() == R"(["kind"])");
  CHECK(plain["properties"]["expansion"]["exclusiveMinimum"] == 0.0);
  CHECK(plain["properties"]["expansion"]["maximum"] == 1024.0);
  CHECK(plain["properties"]["d_ff"]["type"].dump() == R"(["integer","null"])");
  CHECK(plain["properties"]["activation"]["anyOf"][0]["enum"].size() == activations().size());
  CHECK(plain["properties"]["activation"]["default"] == "gelu");
  CHECK(plain["properties"]["bias"]["type"] == "boolean");
  CHECK(model["attention"]["oneOf"][0]["type"] == "null");
  CHECK(schema["properties"]["train"]["properties"]["optimizer"]["oneOf"][0]["properties"]["beta1"]["maximum"] == 0.9999999);
}

TEST_CASE("the list of keys has every key that is written, each once and documented") {
  const auto keys = key_docs(a_run());
  std::set<std::string> documented;
  for (const auto& key : keys) {
    CAPTURE(key.path);
    CHECK(documented.insert(key.path).second);
    CHECK(!key.doc.empty());
    CHECK(!key.type.empty());
  }
  std::set<std::string> written;
  for (const auto& config : one_of_each()) paths_of(resolved_json(config), "", documented, written);
  for (const auto& path : written) {
    CAPTURE(path);
    CHECK(documented.count(path) == 1);
  }
  CHECK(written.size() > 60);
  // Documented but not written: the sections of the kinds themselves.
  std::size_t kinds = 0;
  for (const auto& path : documented) {
    if (path.back() == ']') ++kinds;
    else CHECK(written.count(path) == 1);
  }
  CHECK(kinds == std::variant_size_v<TaskConfig> + std::variant_size_v<FfnConfig> + std::variant_size_v<OptimizerConfig> +
                     std::variant_size_v<ScheduleConfig> + std::variant_size_v<RouterConfig>);
}

TEST_CASE("the list of keys shows types, defaults and bounds to the last digit") {
  std::map<std::string, KeyDoc> keys;
  for (const auto& key : key_docs(a_run())) keys[key.path] = key;
  CHECK(keys["model.d_model"].type == "integer");
  CHECK(keys["model.d_model"].fallback == "32");
  CHECK(keys["model.d_model"].allowed == "≥ 1, ≤ 65536");
  CHECK(keys["train.optimizer[adamw].lr"].fallback == "0.001");
  CHECK(keys["train.optimizer[adamw].lr"].allowed == "> 0");
  CHECK(keys["train.optimizer[adamw].beta1"].allowed == "≥ 0, ≤ 0.9999999");
  CHECK(keys["train.optimizer[sgd].lr"].fallback == "0.1");
  CHECK(keys["model.ffn"].allowed.find("kind: positionwise, gated, moe, ") == 0);
  CHECK(keys["model.ffn"].fallback == "kind \"positionwise\"");
  CHECK(keys["model.ffn[moe].top_k"].fallback == "2");
  CHECK(keys["model.ffn[moe].router"].fallback == "kind \"softmax_top_k\"");
  CHECK(keys["model.attention"].fallback == "null");
  CHECK(keys["model.attention.heads"].fallback == "4");
  CHECK(keys["model.ffn[gated].d_ff"].fallback == "not set");
  CHECK(keys["model.norm.kind"].allowed == "none, layer, rms");
  CHECK(keys["train.batch_size"].allowed == "≥ 1, ≤ 1048576");
}

TEST_CASE("asking for the schema or the keys leaves the config as it was") {
  RunConfig config;
  config.model.ffn = PositionwiseConfig{};
  const auto before = resolved_json(config).dump();
  const FieldVisitor::Describe describe = [&config](FieldVisitor& v) { config.describe(v); };
  json_schema(describe);
  key_docs(describe);
  CHECK(resolved_json(config).dump() == before);
}
