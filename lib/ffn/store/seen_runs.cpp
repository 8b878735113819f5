#include "ffn/store/seen_runs.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "ffn/base/files.hpp"
#include "ffn/base/hash.hpp"
#include "ffn/config/json_writer.hpp"
#include "ffn/data/run_identity.hpp"
#include "ffn/store/json_text.hpp"
#include "ffn/store/log.hpp"
#include "ffn/store/run_directory.hpp"
#include "ffn/store/study_file.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

struct SeenStudy {
  std::string name, date, declaration;
  std::set<std::string> variants, values;
  std::set<std::int64_t> seeds;
};

// A link from elsewhere does not hide what lies beside the study.
fs::path results_of(const fs::path& study) { return fs::weakly_canonical(fs::absolute(study) / ".."); }

std::vector<SeenStudy> read_seen(const fs::path& results) {
  constexpr std::uintmax_t kMostBytes = 256 << 20;
  const fs::path file = results / kSeenFile;
  std::vector<SeenStudy> out;
  const auto text = read_file_if_there(file, "record of seeds", ExitCode::data, kMostBytes);
  if (!text) return out;
  try {
    store::read_json_text(*text, file.string(), [&](const Json& json) {
      for (const auto& item : json.at("studies")) {
        SeenStudy& seen = out.emplace_back();
        item.at("name").get_to(seen.name);
        item.at("date").get_to(seen.date);
        item.at("declaration").get_to(seen.declaration);
        item.at("variants").get_to(seen.variants);
        item.at("seeds").get_to(seen.seeds);
        item.at("values").get_to(seen.values);
      }
    });
  } catch (const VersionError&) {
    throw;
  } catch (const DataError& error) {
    throw DataError(error.what(), "put it back from a copy of yours; moved away, it forgets which seeds were seen");
  }
  return out;
}

void write_seen(const fs::path& results, const std::vector<SeenStudy>& studies) {
  Json list = Json::array();
  for (const auto& seen : studies)
    list.push_back({{"name", seen.name},
                    {"date", seen.date},
                    {"declaration", seen.declaration},
                    {"variants", seen.variants},
                    {"seeds", seen.seeds},
                    {"values", seen.values}});
  write_file_atomically(results / kSeenFile, store::sealed_text({{"schema_version", kSchemaVersion}, {"studies", list}}));
}

}  // namespace

std::map<std::string, std::string> variant_keys(const Study& study) {
  std::map<std::string, std::string> out;
  // Without what was chosen, the grid and its keys: another one, tried on the same seeds, is another question about the same layers.
  Json tuned = Json::array();
  for (const auto& axis : study.tune.value_or(TuningConfig()).axes) tuned.push_back(axis.key);
  for (const auto& variant : study.variants) {
    auto declared = variant.assignments;
    const auto is_tuned = [&](const Assignment& given) { return std::find(tuned.begin(), tuned.end(), given.key) != tuned.end(); };
    declared.erase(std::remove_if(declared.begin(), declared.end(), is_tuned), declared.end());
    const RunConfig config = tuned.empty() ? variant.config : config_with(study, declared);
    Json json = Json::object();
    const Json all = identity_json(config, data_hash_now(config));
    for (const auto& item : all.items()) {
      const std::string& path = item.key();
      const bool measures = path == "train.eval_every" || path == "train.eval_examples" || path == "train.layer_metrics";
      if (path != "seed" && !measures && path.rfind("train.target", 0) != 0) json[path] = item.value();
    }
    if (!tuned.empty()) json["tune"] = true;
    out[variant.name] = sha256_hex(dump_json(json)).substr(0, 16);
  }
  return out;
}

Json question_json(const CompareConfig& asked) {
  const Json defaults = write_json(CompareConfig());
  Json out = Json::object();
  const Json written = write_json(asked);
  for (const auto& item : written.items()) {
    if (defaults[item.key()] != item.value()) out[item.key()] = item.value();
  }
  return out;
}

Json declared_question(const Study& study) {
  CompareConfig asked = comparison_of(study);
  asked.metric = judged_metric(study);
  const Variant& first = study.variants[0];
  if (asked.reference.empty() && asked.by == "variant") asked.reference = first.name;
  for (const auto& [key, value, pointer] : first.assignments) {
    if (asked.reference.empty() && key == asked.by) asked.reference = value->is_string() ? value->get<std::string>() : dump_json(*value);
  }
  return question_json(asked);
}

std::string seen_values(std::int64_t seed, const RunSummary& summary) {
  for (const auto& metric : summary.metrics) {
    if (metric.name != "val/loss") continue;                                   // train/loss is a mean since the last evaluation
    if (!std::isfinite(metric.final_value) || metric.final_value == 0) break;  // runs have these by themselves
    return sha256_hex(dump_json({seed, summary.steps, metric.final_value})).substr(0, 16);
  }
  return "";
}

void record_seen(const fs::path& study, const std::vector<std::string>& values) {
  try {
    const auto file = read_study_file(study);
    const fs::path results = results_of(study);
    if (!file || (file->name == kTuningDirectory && file->seeds[0] >= kFirstTuningSeed)) return;
    const auto turn = wait_for_directory(results);
    remove_temporaries(results, kSeenFile);
    auto studies = read_seen(results);
    auto at = std::find_if(studies.begin(), studies.end(), [&](const SeenStudy& known) { return known.declaration == file->declaration; });
    const bool is_new = at == studies.end();
    if (is_new) at = studies.insert(at, {file->name, utc_now(), file->declaration, {}, {}, {}});
    const auto size = [&] { return at->variants.size() + at->seeds.size() + at->values.size(); };
    const auto before = size();
    for (const auto& [name, key] : file->keys) at->variants.insert(key);
    at->seeds.insert(file->seeds.begin(), file->seeds.end());
    for (const auto& value : values) {
      if (!value.empty()) at->values.insert(value);
    }
    if (is_new || size() > before) write_seen(results, studies);
  } catch (const DataError&) {  // whoever judges says so
  } catch (const Error& error) {
    log_warning("later answers will not know that these seeds were seen: " + std::string(error.what()));
  }
}

SeenBefore seen_before(const fs::path& study, const std::string& declaration, const std::vector<SeenRun>& runs) {
  SeenBefore out;
  std::map<std::int64_t, std::set<std::string>> seen;  // seed → variants
  bool is_before = true, may_be_picked = false;
  std::set<std::int64_t> judged;
  for (const auto& run : runs) judged.insert(run.seed);
  for (const auto& there : read_seen(results_of(study))) {
    is_before = is_before && there.declaration != declaration;
    std::set<std::string> shared;
    bool any = false;
    for (const auto& run : runs) {
      const bool has_variant = there.variants.count(run.variant) > 0;
      if (has_variant) shared.insert(run.variant);
      if (!is_before || !((has_variant && there.seeds.count(run.seed)) || there.values.count(run.values))) continue;
      seen[run.seed].insert(run.variant);
      any = true;
    }
    if (shared.size() > 1) out.last_seed = std::max(out.last_seed, *there.seeds.rbegin());
    may_be_picked = may_be_picked || (any && *judged.begin() > *there.seeds.begin());
    if (any && std::find(out.studies.begin(), out.studies.end(), there.name) == out.studies.end()) out.studies.push_back(there.name);
  }
  // Differences are judged: a variant that several studies have as their reference is no difference that was seen. One variant is enough
  // to pick seeds by: some that do not follow each other, or a stretch within those that were seen.
  const bool in_a_row = judged.empty() || *judged.rbegin() - *judged.begin() == static_cast<std::int64_t>(judged.size()) - 1;
  const std::size_t enough = in_a_row && !may_be_picked ? 2 : 1;
  const bool is_spent = std::any_of(seen.begin(), seen.end(), [&](const auto& of_seed) { return of_seed.second.size() >= enough; });
  if (!is_spent) out.studies.clear();
  return out;
}

}  // namespace ffn
