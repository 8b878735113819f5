#include "ffn/config/study_problems.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "ffn/base/suggest.hpp"
#include "ffn/config/json_reader.hpp"
#include "ffn/config/trained_activation.hpp"
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

namespace {

// A study compares results, and threads change none: a run's config does not even keep them.
constexpr const char* kThreads = "compute.threads";
constexpr const char* kThreadsVary = "threads change no result, so there is nothing to compare; --threads N sets them for all runs";

}  // namespace

void refuse_both_widths(const std::vector<Combination>& combinations, const std::vector<TuningAxis>& tuned, Expansion& expansion) {
  for (auto combination : combinations) {
    for (const auto& axis : tuned) {
      if (!axis.values.empty()) combination.push_back({axis.key, *axis.values[0], "/tune/" + escape_pointer(axis.key)});
    }
    for (const auto& entry : combination) {
      const char* other = entry.value.is_null() ? nullptr : other_width(entry.key);
      const auto is_other = [&](const Entry& e) { return e.key == other && !e.value.is_null(); };
      if (other && std::any_of(combination.begin(), combination.end(), is_other))
        return expansion.problem(entry.pointer,
                                 "\"" + entry.key + "\" and \"" + other + "\" are one width and exclude each other; vary one of them");
    }
  }
}

void refuse_unknown_parameters(const Study& study, const std::vector<Combination>& combinations, Expansion& expansion) {
  const Json::json_pointer ffn("/model/ffn");
  const Json& tree = study.common->tree();
  if (!tree.contains(ffn)) return;
  std::vector<std::string> known;
  const auto take = [&](const Json& activation) {
    if (!activation.is_string()) return;
    for (auto& name : names_in_activation(activation.get<std::string>())) known.push_back(std::move(name));
  };
  const auto take_entry = [&](const std::string& key, const Json& value) {
    if (key == "model.ffn.activation") take(value);
    if (key == "model.ffn" && value.is_object()) take(value.value("activation", Json()));
  };
  take_entry("model.ffn", tree[ffn]);
  for (const auto& combination : combinations) {
    for (const auto& entry : combination) take_entry(entry.key, entry.value);
  }
  for (const auto& axis : study.tune ? study.tune->axes : std::vector<TuningAxis>()) {
    for (const auto& value : axis.values) take_entry(axis.key, *value);
  }
  const Json parameters = tree[ffn].value("activation_parameters", Json::object());
  for (const auto& item : parameters.items()) {
    if (std::find(known.begin(), known.end(), item.key()) != known.end()) continue;
    const std::string meant = did_you_mean(item.key(), known);
    expansion.problem("/model/ffn/activation_parameters/" + escape_pointer(item.key()),
                      "no activation of the study has a parameter '" + item.key() + "'" + (meant.empty() ? "; leave it out" : meant));
  }
}

void refuse_keys_of_no_variant(const Study& study, const Document& base, const std::set<std::string>& swept, Expansion& expansion) {
  const Json::json_pointer ffn("/model/ffn");
  if (swept.count("model.ffn.kind") + swept.count("model.ffn") == 0 || !base.tree().contains(ffn)) return;
  for (const auto& item : base.tree()[ffn].items()) {
    const std::string pointer = "/model/ffn/" + escape_pointer(item.key());
    const auto has_it = [&](const Variant& variant) {
      const Json layer = resolved_json(variant.config)[ffn];
      const auto written_from = [&](const char* at) { return layer.value(Json::json_pointer(at), Json()).contains(item.key()); };
      return layer.contains(item.key()) || written_from("/written_from") || written_from("/expert/written_from");
    };
    if (base.origin(pointer).is_override() && std::none_of(study.variants.begin(), study.variants.end(), has_it))
      expansion.problem(pointer, "no variant's kind has \"" + item.key() + "\"; leave it out");
  }
}

void refuse_what_changes_no_result(const Study& study, const std::set<std::string>& swept, Expansion& expansion) {
  const auto refuse = [&](const std::string& key, bool is_swept, const std::string& why) {
    if (is_swept) expansion.problem("/sweep", why);
    if (study.config.compare.by == key) expansion.problem("/compare/by", why);
    for (const auto& axis : study.tune ? study.tune->axes : std::vector<TuningAxis>()) {
      if (axis.key == key) expansion.problem("/tune/" + escape_pointer(axis.key), why);
    }
  };
  refuse(kThreads, swept.count(kThreads) > 0, kThreadsVary);
  // A variant of zip or include may have its own beside what it varies.
  for (const std::string key : {"keep", "train.checkpoint_every", "log.layers"})
    refuse(key, study.config.sweep.grid->contains(key), key + " changes no result, so there is nothing to compare; give it one value");
}

}  // namespace ffn::config_detail
