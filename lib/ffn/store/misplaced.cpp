#include "ffn/store/misplaced.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "ffn/base/files.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/data/run_identity.hpp"
#include "ffn/store/differing_keys.hpp"
#include "ffn/store/run_directory.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

// A run's config, as it stands there and as it was meant; the latter is worked out when it is asked for, and null where this version
// cannot read it.
class Found {
 public:
  Found(const Json& json, const std::string& identity) : json_(json), identity_(identity) {}

  const Json& json() const { return json_; }
  const std::string& identity() const { return identity_; }
  const RunConfig* config() {
    if (!tried_) {
      tried_ = true;
      try {
        Document document;
        document.tree() = json_;
        config_ = read_run_config(document, "config.json");
      } catch (const Error&) {
      }
    }
    return config_ ? &*config_ : nullptr;
  }

 private:
  const Json& json_;
  const std::string& identity_;
  bool tried_ = false;
  std::optional<RunConfig> config_;
};

}  // namespace

struct StudyOrder::Expected {
  // A config that a variant's runs may have, as this program reads the study today: each seed's own where each was tuned for itself.
  struct Candidate {
    RunConfig config;
    Json json;
    std::string identity;
  };
  // A config beside a variant's candidates: the one that it is, or what is otherwise in the nearest.
  struct Look {
    std::vector<std::string> differences;
    const Candidate* meant = nullptr;
    std::string identity;  // empty where this version cannot read it
  };

  StudyFile file;
  Study study;  // its name and what its variants are laid over
  std::mutex mutex;
  std::map<std::string, std::vector<Candidate>> candidates = {};   // by variant
  std::map<std::pair<std::string, std::string>, Look> looks = {};  // by variant and config, of which a variant's runs have one

  const StudyFile::Variant* find(const std::string& name) const {
    const auto at = std::find_if(file.variants.begin(), file.variants.end(), [&](const auto& variant) { return variant.name == name; });
    return at == file.variants.end() ? nullptr : &*at;
  }

  std::vector<std::vector<Assignment>> assignments_of(const StudyFile::Variant& variant) const {
    if (!file.tuned || !file.tuned->per_seed) return {variant.assignments};
    std::vector<std::vector<Assignment>> all;
    for (const auto& tuned : file.tuned->variants) {
      if (tuned.name != variant.name) continue;
      for (const auto& point : tuned.curve) {
        auto assignments = variant.assignments;
        for (std::size_t i = 0; i < std::min(point.values.size(), file.tuned->keys.size()); ++i)
          assignments.push_back({file.tuned->keys[i], point.values[i]});
        all.push_back(std::move(assignments));
      }
    }
    return all;
  }

  // None where the study's document does not tell.
  const std::vector<Candidate>& candidates_of(const StudyFile::Variant& variant) {
    const auto [at, is_new] = candidates.insert({variant.name, {}});
    if (!is_new) return at->second;
    for (const auto& assignments : assignments_of(variant)) {
      try {
        RunConfig config = config_with(study, assignments);
        Json json = resolved_json(config);
        std::string identity = config_identity(config);
        at->second.push_back({std::move(config), std::move(json), std::move(identity)});
      } catch (const Error&) {  // a document that this version reads in another way, or whose formulas are not here
      }
    }
    return at->second;
  }

  static std::vector<std::string> differing(const Json& found, const Json& wanted) {
    return differing_keys(found, wanted, [&](const std::string& key) { return key == "seed" || key == "task.file"; });
  }

  // Most are as they should be to the letter; of the others counts what is meant: a width can be written in two ways, a key be left out.
  static std::vector<std::string> differing(Found& found, const Candidate& wanted) {
    auto lines = differing(found.json(), wanted.json);
    if (lines.empty()) return lines;
    if (const RunConfig* config = found.config()) return differing(identity_json(*config, ""), identity_json(wanted.config, ""));
    const auto one_sided = [](const std::string& line) {
      return line.find(": not there → ") != std::string::npos || line.find(" → not there") != std::string::npos;
    };
    lines.erase(std::remove_if(lines.begin(), lines.end(), one_sided), lines.end());  // another version's
    return lines;
  }

  Look look(Found& found, const StudyFile::Variant& variant) {
    Look out;
    bool any = false;
    for (const auto& candidate : candidates_of(variant)) {
      auto lines = differing(found, candidate);
      if (lines.empty()) out.meant = &candidate;
      if (any && lines.size() >= out.differences.size()) continue;
      out.differences = std::move(lines);
      any = true;
    }
    if (const RunConfig* config = file.configs.empty() ? nullptr : found.config()) out.identity = config_identity(*config);
    return out;
  }

  Look known_look(Found& found, const StudyFile::Variant& variant) {
    Json common = found.json();
    common.erase("seed");
    std::pair<std::string, std::string> key{variant.name, dump_json(common)};
    const std::lock_guard<std::mutex> lock(mutex);
    const auto at = looks.find(key);
    return at != looks.end() ? at->second : looks.emplace(std::move(key), look(found, variant)).first->second;
  }

  // What the study wrote down of its configs decides. Older ones wrote nothing, and nobody knows what a seed that it does not list is to
  // have.
  std::vector<std::string> differences_by(const Look& look, Found& found, const StudyFile::Variant& variant) {
    const auto written = file.configs.find(variant.name);
    if (written == file.configs.end() || look.identity.empty()) return look.differences;
    std::string expected = written->second.all;
    if (expected.empty()) {
      const auto own = written->second.of_seed.find(found.json().value("seed", std::int64_t{-1}));
      if (own == written->second.of_seed.end()) return {};
      expected = own->second;
    }
    if (look.identity == expected) return {};
    const std::lock_guard<std::mutex> lock(mutex);
    for (const auto& candidate : candidates_of(variant)) {
      if (candidate.identity != expected) continue;
      if (auto lines = differing(found, candidate); !lines.empty()) return lines;
    }
    return look.differences.empty() ? std::vector<std::string>{"a formula, or a default, was another"} : look.differences;
  }

  // Whether the run learned the text of this variant's runs.
  bool has_text_of(const StudyFile::Variant& variant, Found& found) const {
    const auto known = file.texts.find(variant.name);
    if (known == file.texts.end() || found.identity().empty()) return true;  // an older study, or no text: nobody knows
    const RunConfig* config = found.config();
    if (!config || !std::holds_alternative<TextConfig>(config->task)) return true;  // task.kind says that
    return run_identity(*config, known->second) == found.identity();
  }

  std::vector<std::string> differences(Found& found, const StudyFile::Variant& variant) {
    auto lines = differences_by(known_look(found, variant), found, variant);
    if (!has_text_of(variant, found)) lines.push_back("task.file: another text");
    return lines;
  }

  // Whether there is anything to tell by.
  bool tells(const StudyFile::Variant& variant) {
    const std::lock_guard<std::mutex> lock(mutex);
    return file.configs.count(variant.name) > 0 || !candidates_of(variant).empty();
  }
};

StudyOrder::StudyOrder(StudyFile study) : expected_(new Expected{std::move(study), {}, {}}) {
  Document document;
  document.tree() = *expected_->file.document;
  if (!document.tree().is_object()) document.tree() = Json::object();
  expected_->study.name = expected_->file.name;
  expected_->study.common = common_of(std::move(document));
}

StudyOrder::~StudyOrder() = default;
StudyOrder::StudyOrder(StudyOrder&&) noexcept = default;

bool StudyOrder::has_texts() const { return !expected_->file.texts.empty(); }

std::string StudyOrder::text_of(const std::string& variant) const {
  const auto known = expected_->file.texts.find(variant);
  return known == expected_->file.texts.end() ? "" : known->second;
}

std::string StudyOrder::stranger(const std::string& name, const Json& config, const std::string& identity) const {
  const auto& variants = expected_->file.variants;
  const auto* named = expected_->find(name);
  if (!named) return "";
  Found found(config, identity);
  const auto differences = expected_->differences(found, *named);
  if (differences.empty()) return "";
  const auto other = std::find_if(variants.begin(), variants.end(), [&](const auto& variant) {
    return expected_->tells(variant) && expected_->differences(found, variant).empty();
  });
  if (other != variants.end()) return "is a run of " + other->name;
  constexpr std::size_t kShown = 3;
  const std::vector<std::string> shown(differences.begin(),
                                       differences.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, differences.size())));
  return "is a run of another config (" + join(shown) + (differences.size() > kShown ? ", …" : "") + ")";
}

Json StudyOrder::in_its_words(const std::string& name, Json config) const {
  const Json::json_pointer ffn("/model/ffn");
  const auto* variant = expected_->find(name);
  if (!variant) return config;
  config["label"] = expected_->study.common->tree().value("label", Json(""));  // the run's may be that of an earlier start
  for (const auto& [key, value] : variant->assignments) {
    if (key == "label") config[key] = *value;
  }
  if (!config.contains(ffn)) return config;
  const std::string nobody;
  Found found(config, nobody);
  const auto* meant = expected_->known_look(found, *variant).meant;
  if (!meant || !meant->json.contains(ffn)) return config;
  const Json its = meant->json[ffn];
  for (const char* key : {"d_ff", "expansion", "match", "match_tolerance"}) {
    if (its.contains(key)) config[ffn][key] = its[key];
    else config[ffn].erase(key);
  }
  return config;
}

std::string misplaced(const fs::path& run, const Json& config, const std::string& identity, const StudyOrder* order) {
  const Json seed = config.value("seed", Json());
  const std::string name = run.filename().string(), expected = "seed-" + dump_json(seed);
  const std::string number = seed_of_directory(name) ? name.substr(name.find('-') + 1) : "";
  const bool is_numbered = !number.empty() && number.find_first_not_of("0123456789") == std::string::npos;
  const std::string stranger = order ? order->stranger(run.parent_path().filename().string(), config, identity) : "";
  if (stranger.empty() && seed.is_number_integer() && is_numbered && name != expected) return "is the run of seed " + dump_json(seed);
  return stranger;
}

namespace {

// Of many runs one after the other, most are of the same study.
const StudyOrder* order_of(const fs::path& directory) {
  thread_local fs::path last;
  thread_local std::optional<StudyOrder> order;
  if (directory != last) {
    order.reset();
    last = directory;
    if (auto study = read_study_file(directory)) order.emplace(std::move(*study));
  }
  return order ? &*order : nullptr;
}

// Its directory within a study: as it was named, which links may lead to; where that has none around it, where it lies.
fs::path place_of(const fs::path& given) {
  fs::path named = absolute_path(given).lexically_normal();
  if (!named.has_filename()) named = named.parent_path();
  std::error_code error;
  const fs::path lies = fs::weakly_canonical(named, error);
  if (error) throw ReadError("cannot read " + named.string() + ": " + error.message());
  return has_study_file(named.parent_path().parent_path()) || !has_study_file(lies.parent_path().parent_path()) ? named : lies;
}

}  // namespace

std::string misplaced(const fs::path& given, const StudyOrder* of_study) {
  const fs::path run = place_of(given);
  try {
    const Json config = parse_json(RunDirectory(run).read_config_text());
    if (!config.is_object()) return "";
    const auto* order = of_study ? of_study : order_of(run.parent_path().parent_path());
    const auto status = order && order->has_texts() ? read_status(run) : std::nullopt;
    return misplaced(run, config, status ? status->identity : "", order);
  } catch (const Error&) {  // damaged: that is said elsewhere
    return "";
  }
}

}  // namespace ffn
