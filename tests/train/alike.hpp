// Every value of every choice in a small run where it acts: what is listed but forgotten trains like another value.
#pragma once

#include <nlohmann/json.hpp>

#include "cases.hpp"
#include "observer.hpp"
#include "support/catch_plain.hpp"

namespace ffn::test {

// Not for the cases: they do not reach the code that trains.
inline bool is_elsewhere(const std::string& path) {
  return path.rfind("compute.", 0) == 0 ||                                      // what trains is what the tests name
         path.rfind("log.", 0) == 0 ||                                          // what is written beside; tests/cli/test_export.py, test_cohort.cpp
         path.rfind("train.target", 0) == 0 ||                                  // test_resume.cpp, test_metrics.cpp
         (path.size() > 6 && path.compare(path.size() - 6, 6, ".match") == 0);  // decides a width, config/test_matching.cpp
}

// A small run in which everything that can be chosen acts.
inline RunConfig rich() {
  auto moe = some_ffn<MoeConfig>("gelu");
  moe.num_experts = 3;
  auto config = base(moe, true);
  config.train.steps = 40;  // the last tenth of a schedule is some steps
  std::get<AdamWConfig>(config.train.optimizer).weight_decay = 0.5;
  return config;
}

inline Json of_kind(const std::string& kind) {
  Json json = {{"kind", kind}};
  if (kind == FormulaConfig::kKind) json["name"] = "sub_layer_norm";
  return json;
}

// `config` with the value at a path of choices.hpp; the kinds on the way are chosen too.
inline RunConfig chosen(const RunConfig& config, const std::string& path, const std::string& value) {
  Json json = resolved_json(config);
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
  if (value == "true" || value == "false") *at = value == "true";
  else if (at->is_object()) *at = of_kind(value);
  else *at = value;
  return read_run_config(parse_document(json.dump(), "choice", "/"), path + " = " + value);
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

}  // namespace ffn::test
