// The tuning study of a study, and the study with its choices in place.
#include <map>
#include <nlohmann/json.hpp>

#include "ffn/config/study_config.hpp"

namespace ffn {

namespace {

// Rates that were chosen at the smallest size follow the ladder's rule to the others.
std::vector<Assignment> at_point(const Study& study, const Variant& variant, std::size_t point) {
  auto out = variant.assignments;
  const auto& tune = study.tune.value();
  const auto values = tune.point(point);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string& key = tune.axes[i].key;
    const bool scales = tuning_stride(study) > 1 && variant.rung > 0 && is_rate(key) && values[i]->is_number();
    out.push_back({key, scales ? JsonValue(Json(rounded_number(values[i]->get<double>() * variant.rate_factor, 3))) : values[i],
                   "/tune/" + escape_pointer(key)});
  }
  return out;
}

}  // namespace

std::size_t tuning_stride(const Study& study) {
  return study.config.ladder && study.config.ladder->tuned_at == "smallest" ? study.config.ladder->num_sizes() : 1;
}

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
  for (std::size_t v = 0; v < study.variants.size(); v += tuning_stride(study)) {
    for (std::size_t point = 0; point < tune.num_points(); ++point) {
      Json assignments = Json::object();
      for (const auto& [key, value, pointer] : at_point(study, study.variants[v], point)) {
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
  return config_with(study, at_point(study, variant, point));
}

Study with_choices(const Study& study, const std::vector<std::vector<std::size_t>>& choices) {
  const auto& tune = study.tune.value();
  Study out = study;
  for (std::size_t v = 0; v < out.variants.size(); ++v) {
    auto& variant = out.variants[v];
    const auto& chosen = choices.at(v / tuning_stride(study));
    variant.config = config_at(study, variant, chosen.at(0));
    if (!tune.per_seed) {
      variant.assignments = at_point(study, variant, chosen[0]);
      continue;
    }
    std::map<std::size_t, RunConfig> known;  // by choice
    variant.of_seed.clear();
    for (const auto choice : chosen) {
      auto found = known.find(choice);
      if (found == known.end()) found = known.emplace(choice, config_at(study, study.variants[v], choice)).first;
      variant.of_seed.push_back(found->second);
    }
  }
  return out;
}

}  // namespace ffn
