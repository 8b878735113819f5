// Every value of every choice, and two of every number, in a small run where they act: what is listed but forgotten trains like
// another value.
#pragma once

#include <nlohmann/json.hpp>
#include <set>

#include "cases.hpp"
#include "observer.hpp"
#include "support/catch_plain.hpp"

namespace ffn::test {

// Not for the cases: they do not reach the code that trains.
inline bool is_elsewhere(const std::string& path) {
  return path == "keep" || path.rfind("compute.", 0) == 0 ||      // what trains is what the tests name
         path.rfind("log.", 0) == 0 ||                            // what is written beside; tests/cli/test_export.py, test_cohort.cpp
         path.rfind("train.target", 0) == 0 ||                    // test_resume.cpp, test_metrics.cpp
         path == "task[table].missing" ||                         // of a table without gaps nothing; data/test_table.cpp
         path.find(".match_multiple_of") != std::string::npos ||  // decides a width, as the next: config/test_matching.cpp
         (path.size() > 6 && path.compare(path.size() - 6, 6, ".match") == 0);
}

// A small run in which everything that can be chosen acts.
inline RunConfig rich() {
  auto moe = some_ffn<MoeConfig>("gelu");
  moe.num_experts = 3;
  auto config = base(moe, true);
  config.model.d_model = 12;  // heads of an even width, for rotary positions
  config.train.steps = 40;    // the last tenth of a schedule is some steps
  std::get<AdamWConfig>(config.train.optimizer).weight_decay = 0.5;
  return config;
}

inline Json of_kind(const std::string& kind) {
  if (kind == TextConfig::kKind) return {{"kind", kind}, {"file", text_file()}};
  if (kind == TableConfig::kKind) return {{"kind", kind}, {"file", usable(TableConfig{}).file}, {"label", "species"}};
  if (kind == ImagesConfig::kKind) return {{"kind", kind}, {"directory", usable(ImagesConfig{}).directory}};
  if (kind != FormulaConfig::kKind) return {{"kind", kind}};
  RunConfig config;
  config.model.ffn = usable(FormulaConfig{});
  return resolved_json(config)["model"]["ffn"];
}

// Follows a path of choices.hpp and chooses the kinds on the way.
inline Json& at_path(Json& json, const std::string& path) {
  Json* at = &json;
  std::istringstream segments(path);
  for (std::string segment; std::getline(segments, segment, '.');) {
    const auto bracket = segment.find('[');
    at = &(*at)[segment.substr(0, bracket)];
    if (bracket == std::string::npos) continue;
    const std::string kind = segment.substr(bracket + 1, segment.size() - bracket - 2);
    if ((*at)["kind"] == kind) continue;
    *at = of_kind(kind);
    if (segment.rfind("optimizer", 0) == 0) (*at)["weight_decay"] = 0.5;
  }
  return *at;
}

inline RunConfig read_back(const Json& json, const std::string& what) {
  return read_run_config(parse_document(json.dump(), "choice", "/"), what);
}

// Keys that a key needs beside it.
inline void let_act(Json& json, const std::string& path) {
  if (path.find(".rotary_") != std::string::npos) json["model"]["positions"] = "rotary";
  if (path == "train.accumulate") json["train"]["batch_size"] = 8;
  if (path == "model.parallel_from")
    json["model"].update({{"parallel", true}, {"blocks", 8}, {"norm", {{"kind", "rms"}, {"placement", "pre"}}}});
  if (path.find(".shared_expansion") != std::string::npos) at_path(json, path.substr(0, path.rfind('.')))["shared_experts"] = 1;
}

// `config` with the value of a choice at its path.
inline RunConfig chosen(const RunConfig& config, const std::string& path, const std::string& value) {
  Json json = resolved_json(config);
  if (path == "train.loss" && target_of_loss(value) == Target::vectors) {
    RunConfig of_vectors;
    of_vectors.task = usable(FunctionConfig{});
    json["task"] = resolved_json(of_vectors)["task"];
  }
  let_act(json, path);
  if (value == ExpertChoiceConfig::kKind) json["model"]["attention"]["causal"] = false;
  if (path == "model.init" && value == "mup") json["model"]["base_d_ff"] = 26;
  Json& at = at_path(json, path);
  if (value == "true" || value == "false") at = value == "true";
  else if (at.is_object()) at = of_kind(value);
  else at = value;
  const std::string of_bias = ".center_bias";
  if (const auto end = path.rfind(of_bias); end != std::string::npos) at_path(json, path.substr(0, end) + ".bias_step") = 0.01;
  return read_back(json, path + " = " + value);
}

/// Trains each config that `trains` takes, by `train`; checks that no two values of a choice end in the same bits. How many.
template <class Trains, class Train>
std::size_t check_no_two_alike(const Trains& trains, const Train& train) {
  std::size_t trained = 0;
  for (const auto& [path, values] : all_choices()) {
    if (is_elsewhere(path) || path == "task") continue;
    std::map<std::string, std::string> seen;
    for (const auto& value : values) {
      const RunConfig config = chosen(rich(), path, value);
      if (!trains(config)) continue;
      const auto bits = bits_of(train(config), 0);
      const auto [first, fresh] = seen.emplace(bits, value);
      INFO(path << " = " << value << " trains as " << first->second << " does");
      CHECK(fresh);
      ++trained;
    }
  }
  return trained;
}

// Numbers that no trained weight goes by.
inline bool trains_nothing(const std::string& path) {
  static const std::set<std::string> beside = {"train.eval_every", "train.eval_examples",
                                               "train.checkpoint_every"};  // how a run is looked at
  const std::string accepted = ".match_tolerance";                         // which widths are refused
  return beside.count(path) > 0 ||
         (path.size() > accepted.size() && path.compare(path.size() - accepted.size(), accepted.size(), accepted) == 0);
}

/// A number of a config, by path, with its default and another value.
struct TwoValues {
  std::string path;
  Json fallback, other;
};

/// Every number of the model and of training.
inline std::vector<TwoValues> all_numbers() {
  std::vector<TwoValues> out;
  RunConfig config;
  for (const auto& key : key_docs([&](FieldVisitor& v) { config.describe(v); })) {
    const bool integer = key.type == "integer";
    if (!integer && key.type != "number") continue;
    if ((key.path.rfind("model.", 0) != 0 && key.path.rfind("train.", 0) != 0) || is_elsewhere(key.path)) continue;
    if (key.fallback == "not set") {
      out.push_back({key.path, nullptr, integer ? Json(11) : Json(1.5)});
      continue;
    }
    const Json fallback = key.path == "train.steps" ? Json(20) : Json::parse(key.fallback);  // a thousand take long
    const auto x = fallback.get<double>();
    // Twice as many: heads still divide the width. What is small gets large enough to be seen in float32 within some steps: an ε, a rate.
    if (integer) out.push_back({key.path, fallback, x == 0 ? Json(7) : Json(2 * fallback.get<std::int64_t>())});
    else out.push_back({key.path, fallback, x == 0 ? 0.3 : x < 0.01 ? x + 0.01 : 0.7 * x});
  }
  return out;
}

// A run in which a number at its default acts, with the value in its place.
inline RunConfig with_number(const std::string& path, const Json& value) {
  RunConfig config = rich();
  config.train.steps = 20;
  config.model.d_model = 16;  // a multiple of 4 and of 8 heads
  auto& moe = std::get<MoeConfig>(config.model.ffn);
  moe.num_experts = 8;  // at least twice the default of top_k
  moe.d_ff.reset();     // else there is no expansion
  if (path.find(".expert.") != std::string::npos) {
    moe.expert = formula_called("sub_layer_norm");
    moe.dropout = 0;  // it has none
  }
  Json json = resolved_json(config);
  let_act(json, path);
  at_path(json, path) = value;
  if (path == "model.match_expansion" && !value.is_null()) json["model"]["ffn"]["match_tolerance"] = 0.5;  // few sizes have whole heads
  if (path == "model.base_d_ff" && !value.is_null()) json["model"]["init"] = "mup";
  return read_back(json, path + " = " + value.dump());
}

/// Trains with two values of every number, where `trains` takes the config, by `train`; checks that they end in other weights, and in the
/// same where nothing goes by the number. How many numbers.
template <class Trains, class Train>
std::size_t check_every_number_acts(const Trains& trains, const Train& train) {
  std::size_t trained = 0;
  const auto weights = [&](const RunConfig& config) {
    const auto collected = train(config);
    std::string out;
    for (const auto& tensor : collected.results.at(0).weights) out += tensor.name + tensor.bytes;
    return out;
  };
  for (const auto& [path, fallback, other] : all_numbers()) {
    INFO(path << ": " << fallback << " and " << other << " are to end in "
              << (trains_nothing(path) ? "the same weights" : "other weights"));
    const RunConfig one = with_number(path, fallback), two = with_number(path, other);
    if (!trains(one) || !trains(two)) continue;
    CHECK((weights(one) == weights(two)) == trains_nothing(path));
    ++trained;
  }
  return trained;
}

}  // namespace ffn::test
