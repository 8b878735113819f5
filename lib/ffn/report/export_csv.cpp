// A row of numbers in full for each group, and for each further pair and contrast, from the document of answered_json().
#include <nlohmann/json.hpp>
#include <sstream>

#include "ffn/report/export.hpp"
#include "ffn/report/table.hpp"

namespace ffn {

namespace {

// Columns behind the keys of the facet and what is compared: the name, and where the document has it. Differences and their limits are in
// the metric's units; where ratios are judged, the mean difference alone.
constexpr const char* kColumns =
    "metric answer/metric runs group/runs done group/done diverged group/diverged failed group/failed mean group/mean "
    "half_width group/half_width iqm group/iqm hits group/hits median_steps group/median_steps_to_target parameters group/parameters "
    "flops_per_token group/flops_per_token train_seconds group/train_seconds reference pair/reference difference pair/csv/value "
    "low pair/csv/interval/low high pair/csv/interval/high p_better pair/probability_of_improvement/paired p pair/p "
    "p_holm pair/p_holm verdict pair/verdict median group/median scale pair/scale test pair/test ratio pair/ratio/value "
    "ratio_low pair/ratio/interval/low ratio_high pair/ratio/interval/high bad_runs pair/bad_runs/value "
    "bad_runs_reference pair/bad_runs/reference p_mcnemar pair/bad_runs/p_mcnemar label group/label "
    "qualification answer/qualification scope answer/scope answer answer/answer";

template <class Visit>
void for_each_column(Visit visit) {
  std::istringstream words(kColumns);
  for (std::string name, place; words >> name >> place;) visit(name, place);
}

std::string cell_of(const Json& from, const std::string& pointer) {
  const Json::json_pointer place(pointer);
  if (!from.contains(place) || from[place].is_null()) return "";
  const Json& value = from[place];
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_number_float()) return dump_json(value);
  std::ostringstream out;
  out.precision(10);
  out << value.get<double>();
  return out.str();
}

// No number stands for an empty interval.
Json in_units(Json pair) {
  pair["csv"] =
      pair["scale"] == "log_ratio" ? Json{{"value", pair["difference"].is_null() ? Json() : pair["difference"]["mean"]}} : pair["effect"];
  for (const char* key : {"csv", "ratio"}) {
    if (pair[key].contains("interval") && pair[key]["interval"]["empty"].get<bool>()) pair[key].erase("interval");
  }
  return pair;
}

}  // namespace

std::string export_csv(const Comparison& c) {
  const Json answer = answered_json(c);
  const bool has_contrasts = !c.contrasts.empty();
  std::vector<Column> columns;
  for (const auto& [key, value] : c.facets.at(0).keys) columns.push_back({key});
  columns.push_back({c.by});
  for_each_column([&](const std::string& name, const std::string&) { columns.push_back({name}); });
  if (has_contrasts) columns.push_back({"contrast"});
  Table table(columns);
  const auto add_row = [&](std::vector<std::string> row, const Json& group, const Json& pair, const std::string& contrast) {
    for_each_column([&](const std::string&, const std::string& place) {
      row.push_back(cell_of(place[0] == 'a' ? answer : place[0] == 'g' ? group : pair, place.substr(place.find('/'))));
    });
    if (has_contrasts) row.push_back(contrast);
    table.add_row(std::move(row));
  };
  for (const auto& facet : answer["facets"]) {
    for (const auto& group : facet["groups"]) {
      std::vector<std::string> keys;
      for (const auto& key : facet["keys"]) keys.push_back(key.get<std::string>());
      keys.push_back(group["value"].get<std::string>());
      bool is_first = true;  // a group without a pair has a row, too
      for (const auto& pair : facet["pairs"]) {
        if (pair["value"] != group["value"]) continue;
        if (is_first && pair["reference"] != c.reference) add_row(keys, group, nullptr, "");
        add_row(keys, group, in_units(pair), "");
        is_first = false;
      }
      if (is_first) add_row(keys, group, nullptr, "");
    }
  }
  for (const auto& contrast : c.contrasts) {
    const Json& pair = answer["interaction"]["contrasts"][static_cast<std::size_t>(&contrast - c.contrasts.data())];
    add_row({contrast.at, contrast.pair.value}, nullptr, in_units(pair),
            contrast.is_main_effect() ? "main effect" : "against " + contrast.against);
  }
  return table.csv();
}

}  // namespace ffn
