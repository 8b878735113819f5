#include "ffn/store/study_file.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ffn/base/files.hpp"
#include "ffn/base/hash.hpp"
#include "ffn/config/json_reader.hpp"
#include "ffn/config/json_writer.hpp"
#include "ffn/store/cleanup.hpp"
#include "ffn/store/json_text.hpp"
#include "ffn/store/run_directory.hpp"
#include "ffn/store/seen_runs.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

constexpr std::uintmax_t kMaxStudyBytes = 64 << 20;
constexpr std::int64_t kMostRuns = 100'000;  // as of a study's config

CompareConfig compare_from(const Json& json, const std::string& source) {
  Document document;
  document.tree() = json;
  JsonReader reader(document);
  CompareConfig compare;
  reader.read([&](FieldVisitor& v) { compare.describe(v); });
  if (!reader.problems.empty()) throw DataError(source + ": compare: " + reader.problems[0].message);
  return compare;
}

// The first key that varies, is no label, and is not pooled.
std::string first_compared(const std::vector<Assignment>& assignments, const CompareConfig& compare) {
  for (const auto& assignment : assignments) {
    if (assignment.key != compare.over && assignment.key != "label") return assignment.key;
  }
  return "";
}

Json sequential_json(const SequentialRecord& record) {
  return {{"maxima", record.maxima}, {"comparisons", record.comparisons}, {"looks", record.sample_sizes}};
}

SequentialRecord sequential_from(const Json& json, const std::string& source, std::int64_t most_comparisons) {
  SequentialRecord record;
  const auto counts = [&](const char* key, std::vector<std::size_t>& out) {
    for (const auto& value : json.at(key)) out.push_back(static_cast<std::size_t>(store::count_from(value, kMostRuns)));
  };
  counts("maxima", record.maxima);
  counts("looks", record.sample_sizes);
  record.comparisons = static_cast<std::size_t>(store::count_from(json.at("comparisons"), most_comparisons));
  bool good = !record.maxima.empty() && record.maxima[0] >= SequentialSeeds::kFewest;
  for (std::size_t i = 1; i < record.maxima.size(); ++i) good = good && record.maxima[i] > record.maxima[i - 1];
  if (!good) throw DataError(source + ": sequential: maxima have to ascend from at least " + std::to_string(SequentialSeeds::kFewest));
  return record;
}

// Tables and pictures show one grid for all variants.
TuningResult tuned_from(const Json& json, const std::string& source) {
  const auto check = [](const Json& of, const char* key) {
    if (of.contains(key)) store::count_from(of[key], kMostRuns);
  };
  check(json, "seeds");
  for (const auto& variant : json.at("variants")) {
    for (const auto& point : variant.at("curve")) {
      for (const char* key : {"measured_runs", "bad_runs", "chosen"}) check(point, key);
    }
  }
  TuningResult out = tuning_result(json);
  const auto same = [](const auto& a, const auto& b) {
    return std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(),
                      [](const auto& x, const auto& y) { return *x == *y; });
  };
  for (const auto& variant : out.variants) {
    const auto& first = out.variants[0].curve;
    if (variant.curve.empty() || !std::equal(variant.curve.begin(), variant.curve.end(), first.begin(), first.end(), same))
      throw DataError(source + ": tuning: " + store::shown(variant.name) + " has other points than the first variant");
  }
  if (out.variants.empty() || out.keys.empty()) throw DataError(source + ": tuning: names no variant or no key");
  return out;
}

StudyFile study_from(const Json& json, const std::string& source) {
  StudyFile study;
  json.at("name").get_to(study.name);
  json.at("seeds").get_to(study.seeds);
  for (const auto& item : json.at("variants")) {
    StudyFile::Variant variant{item.at("name").get<std::string>(), item.value("label", std::string()), {}, item.at("width"), {}};
    item.at("identities").get_to(variant.identities);
    if (variant.name.find('/') != std::string::npos || variant.name == "..")
      throw DataError(source + ": names a variant " + store::shown(variant.name));
    for (const auto& assignment : item.at("assignments").items()) variant.assignments.push_back({assignment.key(), assignment.value()});
    if (variant.identities.size() != study.seeds.size())
      throw DataError(source + ": " + store::shown(variant.name) + " has another number of runs than of seeds");
    study.variants.push_back(std::move(variant));
  }
  study.document = json.at("document");
  const auto variants = static_cast<std::int64_t>(study.variants.size());
  if (variants > 0 && static_cast<std::int64_t>(study.seeds.size()) > kMostRuns / variants)
    throw DataError(source + ": more than " + std::to_string(kMostRuns) + " runs");
  if (json.contains("tuning")) study.tuned = tuned_from(json["tuning"], source);
  if (json.contains("sequential"))
    study.sequential = sequential_from(json["sequential"], source, variants * variants);  // more than all pairs
  json.at("variant_keys").get_to(study.keys);
  study.question = json.at("question");
  json.at("declaration").get_to(study.declaration);
  if (json.contains("claims")) {
    for (const auto& claim : json["claims"]) {
      for (const char* key : {"claim", "check", "date"}) (void)claim.at(key);
      (void)claim.at("date").get<std::string>();
    }
    study.claims = json["claims"];
  }
  study.compare = compare_from(json.at("compare"), source);
  return study;
}

// The design fixed before the first run. Seeds and variants may be in any order; the question names its reference. A sequential design is
// fixed by its first seeds and its first maximum.
std::string declaration_of(const Study& study, const Json& question, const Json& variants) {
  std::vector<Json> runs;
  for (const auto& variant : variants) {
    auto own = variant["identities"].get<std::vector<std::string>>();
    if (study.sequential) own.resize(std::min(own.size(), SequentialSeeds::kFewest));
    std::sort(own.begin(), own.end());
    runs.emplace_back(own);
  }
  std::sort(runs.begin(), runs.end());
  return sha256_hex(dump_json({question, runs, study.sequential ? study.sequential->maxima[0] : 0})).substr(0, 16);
}

}  // namespace

std::vector<fs::path> StudyFile::run_directories(const fs::path& study) const {
  std::vector<RunPlace> runs;
  for (std::size_t s = 0; s < seeds.size(); ++s) {
    for (const auto& variant : variants) runs.push_back({variant.name, seeds[s], variant.identities[s]});
  }
  return run_places(study, runs);
}

CompareConfig comparison_of(const Study& study) {
  CompareConfig compare = study.config.compare;
  if (compare.by.empty()) compare.by = first_compared(study.variants[0].assignments, compare);
  return compare;
}

fs::path study_file_path(const fs::path& study) { return study / "study.json"; }

Json study_json(const Study& study, const std::vector<std::string>& identities) {
  Json variants = Json::array();
  for (std::size_t v = 0; v < study.variants.size(); ++v) {
    const auto& variant = study.variants[v];
    Json assignments = Json::object(), width = Json::object(), own = Json::array();
    for (const auto& assignment : variant.assignments) assignments[assignment.key] = *assignment.value;
    const Json config = variant.config.command ? Json::object() : resolved_json(variant.config)["model"]["ffn"];
    for (const char* key : kWidthKeys) {
      if (config.contains(key)) width[key] = config[key];
    }
    for (std::size_t i = v; i < identities.size(); i += study.variants.size()) own.push_back(identities[i]);
    variants.push_back(
        {{"name", variant.name}, {"label", variant.config.label}, {"assignments", assignments}, {"width", width}, {"identities", own}});
  }
  Json out = {{"schema_version", kSchemaVersion},
              {"name", study.name},
              {"seeds", study.seeds},
              {"variants", variants},
              {"compare", write_json(comparison_of(study))}};
  const Json question = declared_question(study);
  out["question"] = question;
  out["declaration"] = declaration_of(study, question, variants);
  out["variant_keys"] = variant_keys(study);
  if (study.sequential) out["sequential"] = sequential_json(*study.sequential);
  out["document"] = *study.document;
  if (study.tuned) out["tuning"] = to_json(*study.tuned);
  return out;
}

fs::path comparison_path(const fs::path& study) { return study / "compare.json"; }

bool has_study_file(const fs::path& study) { return link_type_of(study_file_path(study)) != fs::file_type::not_found; }

Descriptor wait_for_directory(const fs::path& directory) {
  Descriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.is_open()) (void)::flock(opened.get(), LOCK_EX);
  return opened;
}

void write_study_file(const fs::path& study, const Json& content) {
  write_file_atomically(study_file_path(study), store::sealed_text(content));
}

Json read_study_json(const fs::path& study) {
  const fs::path file = study_file_path(study);
  try {
    if (!has_study_file(study)) throw DataError(file.string() + ": missing");
    if (!path_exists(file)) throw DataError(file.string() + ": a link that leads nowhere");
    Json out;
    store::read_json_text(read_file(file, "study file", ExitCode::data, kMaxStudyBytes), file.string(), [&](const Json& json) {
      study_from(json, file.string());
      out = json;
    });
    return out;
  } catch (const VersionError&) {
    throw;
  } catch (const DataError& error) {
    throw DataError(error.what(), kLostStudyRemedy);
  }
}

std::optional<StudyFile> read_study_file(const fs::path& study) {
  if (!has_study_file(study)) return std::nullopt;
  return study_from(read_study_json(study), study_file_path(study).string());
}

}  // namespace ffn
