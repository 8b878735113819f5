#include "ffn/study/import.hpp"

#include <map>
#include <nlohmann/json.hpp>

#include "ffn/base/checksum.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/marked_names.hpp"
#include "ffn/config/json_writer.hpp"
#include "ffn/data/task.hpp"
#include "ffn/store/json_text.hpp"
#include "ffn/store/run_check.hpp"
#include "ffn/store/study_file.hpp"
#include "ffn/study/merge.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

constexpr std::uintmax_t kMaxJsonBytes = 64 << 20, kMaxFileBytes = std::uintmax_t{1} << 36;
constexpr const char kOldTuning[] = "-tuning";  // the study NAME was tuned in NAME-tuning

Json read_sealed(const fs::path& file) {
  Json out;
  record_detail::read_json_text(read_file(file, "file", ExitCode::data, kMaxJsonBytes), file.string(),
                                [&](const Json& json) { out = json; });
  return out;
}

// study.json, or its copy where it is not whole. Null without either; throws what is wrong with study.json where neither is whole.
Json read_old_study(const fs::path& directory) {
  if (!has_study_file(directory)) return nullptr;
  try {
    return read_sealed(study_file_path(directory));
  } catch (const Error&) {
    try {
      return read_sealed(study_copy_path(directory));
    } catch (const Error&) {
    }
    throw;
  }
}

// Where this version has a study: what tuned NAME was the study NAME-tuning, with a question of the program's own.
fs::path place_of_study(const fs::path& out, const std::string& name, const Json& study) {
  const std::string tuned = name.substr(0, name.size() - std::min(name.size(), sizeof kOldTuning - 1));
  const bool tunes = tuned + kOldTuning == name &&
                     study.value(Json::json_pointer("/document/question"), "") == "which values suit each variant of " + tuned + "?";
  return tunes ? out / tuned / kTuningDirectory : out / name;
}

/// An old study.json, and what its runs turn out to be.
struct OldStudy {
  Json json;
  bool lost = false;                                                      ///< neither study.json nor its copy is whole
  fs::path place;                                                         ///< of the new one
  std::map<std::string, std::map<std::int64_t, std::string>> identities;  ///< by label and seed
  std::map<std::string, Json> configs;                                    ///< of one run of each label
};

class Import {
 public:
  Import(fs::path out, ImportResult& result) : out_(std::move(out)), result_(result) {}

  void look_in(const fs::path& directory) {
    if (path_exists(directory / "summary.json") && path_exists(directory / "config.json")) return take_run(directory);
    for (const auto& [path, type] : entries_of(directory)) {
      if (type == fs::file_type::directory && !is_no_result(path.filename().string())) look_in(path);
    }
    if (path_exists(directory / "status.json") || path_exists(directory / "meta.json"))
      result_.notes.push_back(directory.string() + ": not finished; it is trained again");
  }

  void finish() {
    files_.commit();
    for (auto& [directory, study] : studies_) {
      if (!study.json.is_null() && !has_study_file(study.place)) write_study(study);
    }
  }

 private:
  // The study around a run; one without a study.json is a single run's place.
  OldStudy& study_of(const fs::path& directory) {
    const auto [known, is_new] = studies_.try_emplace(directory);
    OldStudy& study = known->second;
    try {
      if (is_new) study.json = read_old_study(directory);
      if (is_new && !study.json.is_null()) study.place = place_of_study(out_, directory.filename().string(), study.json);
    } catch (const Error& error) {
      lose(study, error.what());
    }
    return study;
  }

  void lose(OldStudy& study, const std::string& problem) {
    study.lost = true;
    ++result_.lost_studies;
    result_.notes.push_back(problem +
                            ", and study.json.bak is not whole either; this study is left out; put study.json back from a copy "
                            "of yours, or start the study's command with the version that trained it, then import again");
  }

  void take_run(const fs::path& given) {
    const fs::path run = fs::absolute(given).lexically_normal();
    try {
      const fs::path around = run.parent_path().parent_path();
      OldStudy& study = study_of(around);
      if (study.lost) return;
      const std::string label = run.parent_path().filename().string();
      const Json summary = read_sealed(run / "summary.json");
      const std::string config_text = read_file(run / "config.json", "config", ExitCode::data, kMaxJsonBytes);
      const std::string source = (run / "config.json").string();
      RunConfig config = read_run_config(parse_document(config_text, source, run.string()), source);
      if (run.filename() != "seed-" + std::to_string(config.seed))
        throw DataError(source + ": of seed " + std::to_string(config.seed) + ", in a directory of another seed");
      // A single run stands in NAME/seed-K, a study's in NAME/LABEL/seed-K.
      if (study.json.is_null() && label != config.name && around.filename() == config.name)
        return lose(study, study_file_path(around).string() + ": missing");
      if (!study.json.is_null() && study.place.filename() == kTuningDirectory) config.keep = "summary";

      RunRecord record;
      record.identity = summary.at("identity").get<std::string>();
      record.summary = record_detail::summary_from(summary, (run / "summary.json").string());
      record.summary->identity = record.identity;
      auto& facts = record.summary->files;
      if (const auto vouched = facts.find("config.json"); vouched != facts.end()) {
        if (checksum_of(config_text) != vouched->second.checksum) throw DataError(source + ": damaged: its checksum differs");
        facts.erase(vouched);
      }
      record.state = record.summary->end == RunEnd::diverged ? RunState::diverged : RunState::done;
      record.step = record.summary->steps;
      const auto* text = std::get_if<TextConfig>(&config.task);  // whose file may be gone
      record.tokens_per_step = config.train.batch_size * (text ? text->context : task_shape(config.task).sequence_length);
      if (text && study.json.is_object()) record.text = study.json.value(Json::json_pointer("/texts") / label, std::string());
      record.sessions = sessions_of(run);
      config.compute.threads.reset();
      record.config = resolved_json(config);
      study.identities[label][config.seed] = record.identity;
      study.configs[label] = *record.config;

      const RunDirectory place((study.json.is_null() ? out_ / label : study.place / label) /
                               run_directory_name(config.seed, record.identity));
      if (check_run(place, record.identity).is_whole()) {
        ++result_.already;
        return;
      }
      copy(run, config, std::move(record), place);
      ++result_.imported;
    } catch (const Error& error) {
      result_.notes.push_back(std::string(error.what()) + "; this run is left out");
    } catch (const Json::exception& error) {
      result_.notes.push_back(run.string() + ": " + error.what() + "; this run is left out");
    }
  }

  void copy(const fs::path& run, const RunConfig& config, RunRecord record, const RunDirectory& place) {
    auto& facts = record.summary->files;
    std::map<fs::path, std::string> bytes;
    for (const char* name : {"metrics.jsonl", "model.safetensors"}) {
      const std::string& content = bytes[name] = read_file(run / name, "file", ExitCode::data, kMaxFileBytes);
      const FileFacts now{content.size(), checksum_of(content)};
      const auto vouched = facts.emplace(name, now).first;  // version 0.1 did not say
      if (vouched->second.checksum != now.checksum) throw DataError((run / name).string() + ": damaged: its checksum differs");
    }
    make_directories(place.path());
    if (config.keep == "summary") facts.clear();
    else {
      for (const auto& [name, content] : bytes) files_.write(place.path() / name, content);
    }
    place.write_record(record, Durability::flushed, &files_);
    constexpr std::size_t kAtOnce = 64;  // runs that are flushed together
    if (++waiting_ % kAtOnce == 0) files_.commit();
  }

  static Json sessions_of(const fs::path& run) {
    Json sessions = Json::array();
    try {
      Json last = read_sealed(run / "meta.json");
      if (last.contains("earlier_sessions")) sessions = last["earlier_sessions"];
      for (const char* key : {"earlier_sessions", "schema_version", "checksum"}) last.erase(key);
      sessions.push_back(std::move(last));
    } catch (const Error&) {  // no result rests on it
    }
    return sessions;
  }

  static void write_study(OldStudy& study) {
    Json& json = study.json;
    json["schema_version"] = kSchemaVersion;
    for (const char* key : {"texts", "configs", "checksum"}) json.erase(key);
    for (auto& variant : json["variants"]) {
      const std::string label = variant["name"].get<std::string>();
      variant["label"] = "";
      variant["width"] = Json::object();
      const Json ffn = study.configs[label].is_object() ? study.configs[label]["model"]["ffn"] : Json::object();
      for (const char* key : kWidthKeys) {
        if (ffn.contains(key)) variant["width"][key] = ffn[key];
      }
      variant["identities"] = Json::array();
      for (const auto& seed : json["seeds"]) variant["identities"].push_back(study.identities[label][seed.get<std::int64_t>()]);
    }
    if (!json.contains("compare")) json["compare"] = write_json(CompareConfig());  // version 0.1
    if (json.contains("tuning")) json["tuning"]["study"] = kTuningDirectory;
    make_directories(study.place);
    write_study_file(study.place, study_text(json));
  }

  fs::path out_;
  ImportResult& result_;
  std::map<fs::path, OldStudy> studies_;
  FileGroup files_;
  std::size_t waiting_ = 0;
};

}  // namespace

ImportResult import_results(const fs::path& old, const fs::path& out) {
  if (!directory_exists(old)) throw DataError("no directory " + old.string());
  if (is_within(out, old) || is_within(old, out))
    throw UsageError(old.string() + " and " + out.string() + " lie in each other", "import into a directory of its own: -o NEW");
  ImportResult result;
  Import import(out, result);
  import.look_in(old);
  import.finish();
  return result;
}

}  // namespace ffn
