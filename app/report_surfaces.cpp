// Pictures of a study's networks over all of their input, where that is one number or two.
#include <nlohmann/json.hpp>

#include "ffn/base/safetensors.hpp"
#include "ffn/compare/shown_names.hpp"
#include "ffn/inspect/inspection_json.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/series.hpp"
#include "load_config.hpp"
#include "report_facts.hpp"

namespace ffn::app {

namespace {

constexpr std::size_t kMostSeeds = 3;

// The first seeds of a group that left weights; `notes` says why others are not drawn.
inspect::SurfacePanel panel_of(const std::string& title, const GroupResult& group, std::vector<std::string>& notes) {
  inspect::SurfacePanel panel{title, {}, {}};
  for (const auto& run : group.runs) {
    if (panel.surfaces.size() == kMostSeeds) break;
    if (run.files.count("model.safetensors") == 0) continue;
    const RunDirectory directory(run.path);
    try {
      const auto config = trained_config(directory, directory.weights_path());
      if (writes_text(config.task)) break;  // its weights can be large
      const auto weights = read_safetensors(directory.weights_path());
      inspect::TrainedNetwork network(config, weights);
      auto surface = inspect::surface_of(config, weights, network, panel.surfaces.empty() ? nullptr : &panel.surfaces[0]);
      if (!surface) break;
      panel.names.push_back("seed " + std::to_string(run.seed));
      panel.surfaces.push_back(std::move(*surface));
    } catch (const Error& error) {
      notes.push_back("not drawn: " + run.path.string() + ": " + error.what());
      break;
    }
  }
  return panel;
}

}  // namespace

Json surfaces_of(const Comparison& c) {
  Json out = {{"panels", Json::array()}, {"notes", Json::array()}};
  if (!c.over.empty()) return out;
  const report::SeriesList series(c);
  std::vector<std::string> notes;
  std::size_t left_out = 0;
  for (const auto& facet : c.facets) {
    const std::string of_facet = facet_title(c, facet);
    for (const auto& group : facet.groups) {
      if (out["panels"].size() == report::kMostPanels) {
        ++left_out;
        continue;
      }
      const std::string& name = series.name(series.index(group.value));
      const auto panel = panel_of((of_facet.empty() ? "" : of_facet + ", ") + name, group, notes);
      if (!panel.surfaces.empty()) out["panels"].push_back(inspect::drawn_json(panel));
    }
  }
  if (left_out > 0)
    notes.push_back("the first " + format_counted(out["panels"].size(), "variant") + " are drawn, " + std::to_string(left_out) +
                    " are not");
  out["notes"] = notes;
  return out;
}

}  // namespace ffn::app
