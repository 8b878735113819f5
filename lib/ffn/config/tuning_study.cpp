// The tuning study of a study, and the study with its choices in place.
#include <map>
#include <nlohmann/json.hpp>

#include "ffn/config/study_config.hpp"

namespace ffn {

namespace {

std::vector<Assignment> at_point(const Variant& variant, const TuningConfig& tune, std::size_t point) {
  auto out = variant.assignments;
  const auto values = tune.point(point);
  for (std::size_t i = 0; i < values.size(); ++i) out.push_back({tune.axes[i].key, values[i], "/tune/" + escape_pointer(tune.axes[i].key)});
  return out;
}

}  // namespace

Study tuning_study(const Study& study) {
  const auto& tune = study.tune.value();
  Document document = *study.common;
  Json& tree = document.tree();
  tree["name"] = kTuningDirectory;
  tree["keep"] = "summary";
  tree.erase("label");
  tree["question"] = "which values suit each variant of " + study.name + "?";
  tree["compare"] = {{"by", "variant"}, {"metric", tune.metric}};
  Json include = Json::array();
  for (const auto& variant : study.variants) {
    for (std::size_t point = 0; point < tune.num_points(); ++point) {
      Json assignments = Json::object();
      for (const auto& [key, value, pointer] : at_point(variant, tune, point)) {
        if (key == "label") continue;  // it would name every point of the grid
        assignments[key] = *value;
        document.set_origin("/sweep/include/" + std::to_string(include.size()) + "/" + escape_pointer(key), study.common->origin(pointer));
      }
      include.push_back(std::move(assignments));
    }
  }
  tree["sweep"] = {{"include", std::move(include)}};
  std::vector<std::int64_t> seeds;
  for (const auto seed : study.seeds) {
    for (const auto own : tuning_seeds(tune, seed)) seeds.push_back(own);
    if (!tune.per_seed) break;
  }
  tree["seeds"] = seeds;
  return read_study(document, study.name + ", tune");
}

RunConfig config_at(const Study& study, const Variant& variant, std::size_t point) {
  return config_with(study, at_point(variant, study.tune.value(), point));
}

Study with_choices(const Study& study, const std::vector<std::vector<std::size_t>>& choices) {
  const auto& tune = study.tune.value();
  Study out = study;
  for (std::size_t v = 0; v < out.variants.size(); ++v) {
    auto& variant = out.variants[v];
    variant.config = config_at(study, variant, choices.at(v).at(0));
    if (!tune.per_seed) {
      variant.assignments = at_point(variant, tune, choices[v][0]);
      continue;
    }
    std::map<std::size_t, RunConfig> known;  // by choice
    variant.of_seed.clear();
    for (const auto choice : choices[v]) {
      auto found = known.find(choice);
      if (found == known.end()) found = known.emplace(choice, config_at(study, study.variants[v], choice)).first;
      variant.of_seed.push_back(found->second);
    }
  }
  return out;
}

}  // namespace ffn
