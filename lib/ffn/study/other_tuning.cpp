#include "ffn/study/other_tuning.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ffn/store/differing_keys.hpp"
#include "ffn/store/run_standing.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

// As a person would write it, defaults included.
Json declared_tuning(const TuningConfig& tune) {
  Json out = {{"metric", tune.metric}, {"seeds", tune.seeds}, {"retune", tune.per_seed ? "per_seed" : "once"}};
  for (const auto& axis : tune.axes) {
    for (const auto& value : axis.values) out[axis.key].push_back(*value);
  }
  return {{"tune", out}};
}

// What the finished runs there were chosen from; nothing where there are none.
std::optional<TuningConfig> tuning_there(const fs::path& directory) {
  try {
    const auto study = read_study_file(directory);
    if (!study || !study->tuned || !study->document->contains("tune")) return std::nullopt;
    const auto runs = study->run_directories(directory);
    if (std::none_of(runs.begin(), runs.end(), holds_ended_run)) return std::nullopt;
    auto tune = read_tuning((*study->document)["tune"], [](const std::string&, const std::string&) {});
    if (tune) tune->metric = study->tuned->metric;
    return tune;
  } catch (const Error&) {  // what cannot be read is nothing to be careful of
    return std::nullopt;
  }
}

}  // namespace

bool is_tuning_study(const StudyFile& study) {
  return !study.sequential &&
         std::all_of(study.seeds.begin(), study.seeds.end(), [](std::int64_t seed) { return seed >= kFirstTuningSeed; });
}

void refuse_study_in_place_of_tuning(const Study& study, const fs::path& out) {
  const fs::path directory = out / (study.name + kTuningSuffix);
  try {
    const auto there = read_study_file(directory);
    if (!there || is_tuning_study(*there)) return;
  } catch (const Error&) {  // what cannot be read is nothing to be careful of
    return;
  }
  throw UsageError(directory.string() + " holds a study of its own, and " + study.name + " would be tuned there",
                   "name=... or -o DIR keeps both");
}

void refuse_other_tuning(const Study& study, const fs::path& out) {
  refuse_study_in_place_of_tuning(study, out);
  const fs::path directory = out / study.name;
  const auto there = tuning_there(directory);
  if (!there) return;
  const auto differ = differing_keys(declared_tuning(*there), declared_tuning(*study.tune), [](const std::string&) { return false; });
  if (!differ.empty()) throw UsageError(directory.string() + " was tuned otherwise:" + indented(differ), kOtherResultsHint);
}

}  // namespace ffn
