#include "ffn/study/standing_choices.hpp"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "ffn/data/run_identity.hpp"
#include "ffn/store/run_directory.hpp"
#include "ffn/store/run_standing.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

// Every grid that tuning may come to is a part of it.
Study with_widest_grid(Study study) {
  study.tune->per_seed = true;  // each run has its own choice
  for (auto& axis : study.tune->axes) {
    for (const auto end : {GridEnd::low, GridEnd::high}) {
      for (int growth = 0; growth < kMostGridGrowth; ++growth) extend(axis, end);
    }
  }
  return study;
}

std::size_t index_of(const TuningConfig& tune, const std::vector<JsonValue>& point) {
  std::size_t index = 0;
  for (std::size_t i = 0; i < point.size(); ++i) {
    const auto& values = tune.axes[i].values;
    const auto at = std::find_if(values.begin(), values.end(), [&](const JsonValue& value) { return *value == *point[i]; });
    index = index * values.size() + static_cast<std::size_t>(at - values.begin());
  }
  return index;
}

// What the runs of a variant say they are, seed by seed; nothing where there is none.
std::vector<std::vector<std::string>> identities_there(const Study& study, const Variant& variant, const fs::path& out) {
  std::vector<std::vector<std::string>> identities;
  for (const auto seed : study.seeds)
    identities.push_back(stated_identities(RunDirectory(study_run_path(out, study.name, variant.name, seed))));
  return identities;
}

std::vector<std::size_t> choices_there(const Study& study, const Variant& variant, const std::vector<std::vector<std::string>>& there,
                                       std::size_t otherwise) {
  std::vector<std::size_t> choices(there.size(), otherwise);
  if (std::all_of(there.begin(), there.end(), [](const auto& stated) { return stated.empty(); })) return choices;
  std::vector<std::size_t> rank(there.size(), SIZE_MAX);  // of the statement that a choice rests on: the first that fits counts
  for (std::size_t point = 0; point < study.tune->num_points(); ++point) {
    std::vector<std::string> identities;
    try {
      const auto config = config_at(study, variant, point);
      identities = run_identities(config, text_now(config), study.seeds);
    } catch (const ConfigError&) {  // a grid does not grow beyond what a config allows
      continue;
    }
    for (std::size_t s = 0; s < there.size(); ++s) {
      const auto stated = static_cast<std::size_t>(std::find(there[s].begin(), there[s].end(), identities[s]) - there[s].begin());
      if (stated == there[s].size() || stated >= rank[s]) continue;
      rank[s] = stated;
      choices[s] = point;
    }
  }
  return choices;
}

}  // namespace

Plan plan_as_it_stands(const Study& study, const fs::path& out) {
  const Study widest = with_widest_grid(study);
  const std::size_t first = index_of(*widest.tune, study.tune->point(0));
  std::vector<std::vector<std::size_t>> choices;
  for (const auto& variant : widest.variants)
    choices.push_back(choices_there(widest, variant, identities_there(widest, variant, out), first));
  return make_plan(with_choices(widest, choices), out);
}

}  // namespace ffn
