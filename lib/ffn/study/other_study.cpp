#include "ffn/study/other_study.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "ffn/base/checksum.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/data/corpus.hpp"
#include "ffn/data/run_identity.hpp"
#include "ffn/store/differing_keys.hpp"
#include "ffn/store/run_standing.hpp"
#include "ffn/store/study_file.hpp"
#include "ffn/study/other_tuning.hpp"
#include "ffn/study/standing_choices.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

// A kind, or a formula's name, brings the defaults of what stands beside it.
bool follows_from(const std::string& key, const std::string& other) {
  const auto dot = other.rfind('.');
  const std::string last = other.substr(dot + 1);
  return dot != std::string::npos && (last == "kind" || last == "name") && key.rfind(other.substr(0, dot + 1), 0) == 0;
}

bool is_below(const std::string& key, const std::string& section) { return key.rfind(section + ".", 0) == 0; }

// What the study that is there was trained with: the config of one of its runs, and the keys that it swept. No config where nothing
// of it can be read.
struct EarlierStudy {
  Json config;
  std::set<std::string> swept;
  std::set<std::string> texts;  // SHA-256 of those that it says it learned
};

// A damaged config would differ in what it was never trained with. Version 0.1 has no checksums.
std::optional<std::string> intact_config(const RunDirectory& run) {
  try {
    if (!path_exists(run.config_path())) return std::nullopt;
    auto text = run.read_config_text();
    const auto status = read_status(run.path());
    const bool damaged = status && !status->config_checksum.empty() && checksum_of(text) != status->config_checksum;
    return damaged ? std::nullopt : std::optional<std::string>(std::move(text));
  } catch (const Error&) {
    return std::nullopt;
  }
}

EarlierStudy earlier_study(const fs::path& directory) {
  EarlierStudy out;
  try {
    const auto study = read_study_file(directory);
    if (!study) return out;
    for (const auto& variant : study->variants) {
      for (const auto& assignment : variant.assignments) out.swept.insert(assignment.key);
    }
    for (const auto& [variant, text] : study->texts) out.texts.insert(text);
    for (const auto& path : study->run_directories(directory)) {
      const RunDirectory run(path);
      if (const auto text = intact_config(run)) out.config = parse_json(*text);
      if (out.config.is_object()) return out;
    }
  } catch (const Error&) {  // what cannot be read is nothing to be careful of
  }
  return out;
}

// What runs of a tuned study may be, whatever is chosen.
void add_any_choice(const Study& study, std::set<std::string>& identities) {
  for (const auto& variant : study.variants) {
    for (std::size_t point = 0; point < study.tune->num_points(); ++point) {
      try {
        const auto config = config_at(study, variant, point);
        for (auto& identity : run_identities(config, text_now(config), study.seeds)) identities.insert(std::move(identity));
      } catch (const Error&) {  // no config takes this point
      }
    }
  }
}

// Whether a run of this plan was trained there, under whatever name of its variant: then one study has become the other.
bool has_run_of(const Plan& plan) {
  std::set<std::string> planned;
  for (const auto& run : plan.runs) planned.insert(run.identity);
  if (plan.study.tune) add_any_choice(plan.study, planned);
  try {
    const auto study = read_study_file(plan.directory);
    if (!study) return false;
    const auto places = study->run_directories(plan.directory);
    return std::any_of(places.begin(), places.end(), [&](const fs::path& place) {
      const auto stated = stated_identities(RunDirectory(place));
      return std::any_of(stated.begin(), stated.end(), [&](const std::string& identity) { return planned.count(identity) > 0; });
    });
  } catch (const Error&) {
    return false;
  }
}

// Where both say which texts they learn and share none, "task.file: another text".
std::string another_text(const EarlierStudy& earlier, const Plan& plan) {
  if (earlier.texts.empty()) return "";
  bool learns_texts = false;
  for (const auto& variant : plan.study.variants) {
    const auto* text = std::get_if<TextConfig>(&variant.config.task);
    if (text && earlier.texts.count(file_identity(text->file)) > 0) return "";
    learns_texts = learns_texts || text;
  }
  return learns_texts ? "task.file: another text" : "";
}

// The configs of the runs that are there of a study that was not tuned; none if it was, or where nothing can be read.
std::vector<Json> runs_of_untuned_study(const fs::path& directory) {
  std::vector<Json> configs;
  try {
    const auto study = read_study_file(directory);
    if (!study || study->tuned) return configs;
    for (const auto& path : study->run_directories(directory)) {
      if (const auto text = intact_config(RunDirectory(path))) configs.push_back(parse_json(*text));
    }
  } catch (const Error&) {  // what cannot be read is nothing to be careful of
  }
  return configs;
}

// "train.optimizer.lr: 0.01, 0.03", a line for each key that is tuned.
std::vector<std::string> values_in(const std::vector<Json>& configs, const TuningConfig& tune) {
  std::vector<std::string> lines;
  for (const auto& axis : tune.axes) {
    const Json::json_pointer at(pointer_of(axis.key));
    std::vector<std::string> values;
    for (const auto& config : configs) {
      const std::string value = config.contains(at) ? shortened(config[at]) : "not set";
      if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
    }
    lines.push_back(axis.key + ": " + join(values));
  }
  return lines;
}

// A study under the name that another is tuned under would overwrite what that one's choices rest on.
void refuse_study_over_tuning(const Plan& plan) {
  const bool tunes =
      std::all_of(plan.study.seeds.begin(), plan.study.seeds.end(), [](std::int64_t seed) { return seed >= kFirstTuningSeed; });
  const std::string& name = plan.study.name;
  const std::string suffix = kTuningSuffix;
  if (tunes || name.size() <= suffix.size() || name.compare(name.size() - suffix.size(), suffix.size(), suffix) != 0) return;
  try {
    const auto there = read_study_file(plan.directory);
    if (!there || !is_tuning_study(*there)) return;
  } catch (const Error&) {  // what cannot be read is nothing to be careful of
    return;
  }
  throw UsageError(plan.directory.string() + " holds the runs that " + name.substr(0, name.size() - suffix.size()) + " was tuned by",
                   kOtherResultsHint);
}

}  // namespace

void refuse_other_study(const Plan& plan, const std::vector<Progress>& found) {
  refuse_study_over_tuning(plan);
  const auto is_another = [](Progress progress) { return progress == Progress::another; };
  if (const auto first = std::find_if(found.begin(), found.end(), is_another); first != found.end()) {
    const auto& run = plan.runs[static_cast<std::size_t>(first - found.begin())];
    const RunDirectory directory(run.directory);
    const auto more = std::count_if(first + 1, found.end(), is_another);
    throw refusal_of_another(directory, look_at(directory, run.config, run.identity), static_cast<std::size_t>(more));
  }
  if (std::find(found.begin(), found.end(), Progress::finished) != found.end()) return;  // a run of both: they differ in what is swept
  auto earlier = earlier_study(plan.directory);
  if (!earlier.config.is_object()) return;
  auto& swept = earlier.swept;
  if (plan.study.tune) {
    for (const auto& axis : plan.study.tune->axes) swept.insert(axis.key);
  }
  for (const auto& variant : plan.study.variants) {
    for (const auto& assignment : variant.assignments) swept.insert(assignment.key);
  }
  const auto any_swept = [&](const auto& holds) { return std::any_of(swept.begin(), swept.end(), holds); };
  const auto left_out = [&](const std::string& key) {
    // A section is there or not as its keys are swept; d_ff and expansion are one width.
    const bool width = key == "model.ffn.d_ff" || key == "model.ffn.expansion";
    return key == "seed" || any_swept([&](const std::string& other) {
             return key == other || is_below(key, other) || follows_from(key, other) ||
                    (width && (other == "model.ffn.d_ff" || other == "model.ffn.expansion"));
           });
  };
  const Json now = resolved_json(plan.runs.at(0).config);
  // Where one side has a section and the other none, and a key of it is swept, the sweep is what brought it.
  const std::set<std::string> keys = swept;
  for (const auto& key : keys) {
    for (auto dot = key.find('.'); dot != std::string::npos; dot = key.find('.', dot + 1)) {
      const std::string section = key.substr(0, dot);
      const Json::json_pointer at(pointer_of(section));
      if (!earlier.config.contains(at) || !now.contains(at)) continue;
      if (earlier.config[at].is_object() != now[at].is_object()) swept.insert(section);
    }
  }
  auto differ = differing_keys(earlier.config, now, left_out);
  if (const auto text = another_text(earlier, plan); !text.empty() && differ.empty() && swept.count("task.file") == 0)
    differ.push_back(text);
  if (differ.empty() || has_run_of(plan)) return;
  throw UsageError(plan.directory.string() + " holds another study of this name:" + indented(differ), kOtherResultsHint);
}

void refuse_untuned_study(const Study& study, const fs::path& out) {
  const fs::path directory = out / study.name;
  const auto untuned = runs_of_untuned_study(directory);
  if (!untuned.empty()) {
    throw UsageError(directory.string() + " holds another study of this name, which was not tuned; " +
                         (untuned.size() == 1 ? "a run of it has" : std::to_string(untuned.size()) + " runs of it have") + ":" +
                         indented(values_in(untuned, *study.tune)),
                     kOtherResultsHint);
  }
  // Another process may begin a run between the two looks, which then is not what the first one took it for. A real refusal comes again.
  for (int looks = 5;; --looks) {
    const Plan plan = plan_as_it_stands(study, out);
    try {
      return refuse_other_study(plan, progress_of(plan.runs));
    } catch (const UsageError&) {
      if (looks == 1) throw;
    }
  }
}

}  // namespace ffn
