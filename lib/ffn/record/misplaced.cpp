#include "ffn/record/misplaced.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "ffn/core/files.hpp"
#include "ffn/core/suggest.hpp"
#include "ffn/record/differing_keys.hpp"
#include "ffn/record/run_directory.hpp"
#include "ffn/tasks/run_identity.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

bool covers_key(const std::string& section, const std::string& key) { return key == section || key.rfind(section + ".", 0) == 0; }

// Of two keys for the same width a config has one.
bool is_width(const std::string& key) {
  const std::string last = key.substr(key.rfind('.') + 1);
  return last == "d_ff" || last == "expansion";
}

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
  // What a variant's runs are; nothing where the study's document does not tell.
  struct Wanted {
    std::optional<RunConfig> config = {};
    Json json = nullptr;
  };

  StudyFile file;
  Study study;  // its name and what its variants are laid over
  std::mutex mutex;
  std::map<std::string, Wanted> wanted = {};  // by variant

  const Wanted& wanted_of(const StudyFile::Variant& variant) {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto [at, is_new] = wanted.insert({variant.name, {}});
    if (!is_new) return at->second;
    try {
      RunConfig config = config_with(study, variant.assignments);
      at->second.json = resolved_json(config);
      at->second.config = std::move(config);
    } catch (const Error&) {  // a document that this version reads in another way
    }
    return at->second;
  }

  const StudyFile::Variant* find(const std::string& name) const {
    const auto at = std::find_if(file.variants.begin(), file.variants.end(), [&](const auto& variant) { return variant.name == name; });
    return at == file.variants.end() ? nullptr : &*at;
  }

  // A tuned key has a value of its own for each variant, or each seed; so has a width, which follows from others of its layer and from d_model.
  bool is_tuned(const std::string& key) const {
    if (!file.tuned) return false;
    const std::string layer = key.substr(0, key.rfind('.'));
    return std::any_of(file.tuned->keys.begin(), file.tuned->keys.end(), [&](const std::string& tuned) {
      return covers_key(tuned, key) || covers_key(key, tuned) || (is_width(key) && (covers_key(layer, tuned) || tuned == "model.d_model"));
    });
  }

  std::vector<std::string> differing(const Json& found, const Json& wanted_json) const {
    return differing_keys(found, wanted_json, [&](const std::string& key) { return key == "seed" || key == "task.file" || is_tuned(key); });
  }

  // Whether the run learned the text of this variant's runs.
  bool has_text_of(const StudyFile::Variant& variant, Found& found, const Wanted& its) const {
    if (!std::holds_alternative<TextConfig>(its.config->task) || is_tuned("task.file")) return true;
    const RunConfig* config = found.config();
    if (!config || !std::holds_alternative<TextConfig>(config->task)) return true;  // task.kind says that
    const auto known = file.texts.find(variant.name);
    if (known == file.texts.end() || found.identity().empty()) return true;  // an older study: nobody knows
    return run_identity(*config, known->second) == found.identity();
  }

  // What a run that lies among those of `variant` has otherwise. Most are as they should be to the letter; of the others counts what is meant:
  // a width can be written in two ways, and a key be left out.
  std::vector<std::string> differences(Found& found, const StudyFile::Variant& variant) {
    const Wanted& its = wanted_of(variant);
    if (!its.config) return {};
    auto lines = differing(found.json(), its.json);
    if (!lines.empty()) {
      if (const RunConfig* config = found.config()) {
        lines = differing(identity_json(*config, ""), identity_json(*its.config, ""));
      } else {  // another version's: keys that one of them lacks may be, too
        const auto one_sided = [](const std::string& line) { return line.find(": not there → ") != std::string::npos || line.find(" → not there") != std::string::npos; };
        lines.erase(std::remove_if(lines.begin(), lines.end(), one_sided), lines.end());
      }
    }
    if (!has_text_of(variant, found, its)) lines.push_back("task.file: another text");
    return lines;
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

std::string StudyOrder::stranger(const std::string& name, const Json& config, const std::string& identity) const {
  const auto& variants = expected_->file.variants;
  const auto* named = expected_->find(name);
  if (!named) return "";
  Found found(config, identity);
  const auto differences = expected_->differences(found, *named);
  if (differences.empty()) return "";
  const auto other = std::find_if(variants.begin(), variants.end(), [&](const auto& variant) {
    return expected_->wanted_of(variant).config && expected_->differences(found, variant).empty();
  });
  if (other != variants.end()) return "is a run of " + other->name;
  constexpr std::size_t kShown = 3;
  const std::vector<std::string> shown(differences.begin(), differences.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, differences.size())));
  return "is a run of another config (" + join(shown) + (differences.size() > kShown ? ", …" : "") + ")";
}

Json StudyOrder::in_its_words(const std::string& name, Json config) const {
  const Json::json_pointer ffn("/model/ffn");
  const auto* variant = expected_->find(name);
  const Json* wanted = variant ? &expected_->wanted_of(*variant).json : nullptr;
  if (!wanted || !wanted->contains(ffn) || !config.contains(ffn) || expected_->is_tuned("model.ffn.d_ff")) return config;
  const Json& its = (*wanted)[ffn];
  for (const char* key : {"d_ff", "expansion", "match", "match_tolerance"}) {
    if (its.contains(key)) config[ffn][key] = its[key];
    else config[ffn].erase(key);
  }
  return config;
}

std::string misplaced(const fs::path& run, const Json& config, const std::string& identity, const StudyOrder* order) {
  const Json seed = config.value("seed", Json());
  const std::string name = run.filename().string(), expected = "seed-" + dump_json(seed);
  const bool is_numbered = name.rfind("seed-", 0) == 0 && name.size() > 5 && name.find_first_not_of("0123456789", 5) == std::string::npos;
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

}  // namespace

std::string misplaced(const fs::path& given, const StudyOrder* of_study) {
  const fs::path run = absolute_path(given).lexically_normal();
  try {
    const Json config = parse_json(read_file(RunDirectory(run).config_path(), "config", ExitCode::data, 1 << 22));
    if (!config.is_object()) return "";
    const auto* order = of_study ? of_study : order_of(run.parent_path().parent_path());
    const auto status = order && order->has_texts() ? read_status(run) : std::nullopt;
    return misplaced(run, config, status ? status->identity : "", order);
  } catch (const Error&) {  // damaged: that is said elsewhere
    return "";
  }
}

}  // namespace ffn
