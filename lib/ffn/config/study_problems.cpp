#include "ffn/config/study_problems.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "ffn/base/suggest.hpp"
#include "ffn/formula/named_formulas.hpp"

namespace ffn::config_detail {

void SharedProblems::add(Problem problem, const std::string& variant) {
  auto& where = variants_[problem.text()];
  if (where.empty()) problems_.push_back(std::move(problem));
  where.push_back(variant);
}

void SharedProblems::move_to(std::vector<Problem>& all, std::size_t num_variants) {
  for (auto& problem : problems_) {
    const auto& where = variants_[problem.text()];
    const std::string more = where.size() > 1 ? " and " + std::to_string(where.size() - 1) + " more" : "";
    if (where.size() == 1 || where.size() < num_variants) problem.message += " (in variant " + where[0] + more + ")";
    all.push_back(std::move(problem));
  }
}

Problem where_written(Problem problem, const Combination& combination, const Document& study) {
  const auto begins = [](const std::string& text, const std::string& start) { return text.rfind(start, 0) == 0; };
  for (const auto& entry : combination) {
    const Origin& origin = study.origin(entry.pointer);
    if (entry.pointer.empty() || origin.is_override() || problem.place != origin.text()) continue;
    const std::string set = pointer_of(entry.key);
    if (problem.pointer == set || begins(problem.pointer, set + "/")) {
      problem.pointer = entry.pointer + problem.pointer.substr(set.size());
    } else if (begins(set, problem.pointer + "/") && !study.tree().contains(Json::json_pointer(problem.pointer))) {
      problem.pointer = entry.pointer;  // a section that this entry alone has made
    } else {
      continue;
    }
    if (begins(problem.message, "unknown key") && problem.pointer == entry.pointer && begins(entry.pointer, "/sweep")) {
      const auto key_end = entry.pointer.find(escape_pointer(entry.key)) + escape_pointer(entry.key).size();
      problem.pointer = entry.pointer.substr(0, key_end);  // not this value of it
      problem.place = study.origin(problem.pointer).text();
    }
    return problem;
  }
  return problem;
}

void refuse_name_of_another(const RunConfig& config, const Combination& combination, const Expansion& expansion,
                            SharedProblems& of_variants, const std::string& variant) {
  const FormulaText* text = formula_of(config.model.ffn);
  const std::string clash = text ? name_of_another(text->name, text->formula) : "";
  if (clash.empty()) return;
  for (const auto& entry : combination) {
    const bool layer = entry.key == "model.ffn" || entry.key == "model.ffn.expert";
    const std::string part = layer ? "" : last_segment(entry.key);
    if (!layer && (entry.key.rfind("model.ffn.", 0) != 0 || (part != "name" && part != "formula"))) continue;
    const bool in_expert = layer && entry.value.is_object() && entry.value.contains("expert");
    const std::string pointer = entry.pointer + (!layer ? "" : in_expert ? "/expert/name" : "/name");
    return of_variants.add({expansion.document.origin(pointer).text(), pointer, clash}, variant);
  }
}

void refuse_shared_labels(const SweepConfig& sweep, const std::string& base_label, std::size_t num_variants, Expansion& expansion) {
  constexpr const char* kWhere = "; give each variant its own in sweep.include, or in sweep.zip as a list beside the keys";
  if (!base_label.empty() && num_variants > 1)
    expansion.problem("/label", "\"" + base_label + "\" would name every variant of the sweep" + kWhere);
  if (sweep.grid->contains("label")) expansion.problem("/sweep/grid/label", std::string("a label cannot be swept") + kWhere);
  std::set<std::string> labels;
  const auto take = [&](const Json& label, const std::string& pointer) {
    if (label.is_string() && label != "" && !labels.insert(label.get<std::string>()).second)
      expansion.problem(pointer, "the label " + shortened(label) + " names two variants");
  };
  for (std::size_t i = 0; i < sweep.zip->size(); ++i) {
    const auto list = (*sweep.zip)[i].find("label");
    if (list == (*sweep.zip)[i].end() || !list->is_array()) continue;
    for (std::size_t k = 0; k < list->size(); ++k) take((*list)[k], "/sweep/zip/" + std::to_string(i) + "/label/" + std::to_string(k));
  }
  for (std::size_t i = 0; i < sweep.include->size(); ++i) {
    const auto label = (*sweep.include)[i].find("label");
    if (label != (*sweep.include)[i].end()) take(*label, "/sweep/include/" + std::to_string(i) + "/label");
  }
}

}  // namespace ffn::config_detail
