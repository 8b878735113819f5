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

namespace ffn {
namespace fs = std::filesystem;

namespace {

const Json* value_at(const Json& config, const char* pointer) {
  const Json::json_pointer at(pointer);
  return config.contains(at) ? &config[at] : nullptr;
}

bool covers_key(const std::string& section, const std::string& key) { return key == section || key.rfind(section + ".", 0) == 0; }

// Of two keys for the same width a config has one.
bool is_width(const std::string& key) {
  const std::string last = key.substr(key.rfind('.') + 1);
  return last == "d_ff" || last == "expansion";
}

}  // namespace

struct StudyOrder::Expected {
  StudyFile file;
  Study study;  // its name and what its variants are laid over
  std::mutex mutex;
  std::map<std::string, Json> configs = {};  // by variant; null where its config cannot be told

  const Json& config_of(const StudyFile::Variant& variant) {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto [at, is_new] = configs.insert({variant.name, nullptr});
    if (!is_new) return at->second;
    try {
      at->second = resolved_json(config_with(study, variant.assignments));
    } catch (const Error&) {  // a document that this version reads in another way
    }
    return at->second;
  }

  // A tuned key has a value of its own for each variant, or each seed.
  bool is_tuned(const std::string& key) const {
    if (!file.tuned) return false;
    return std::any_of(file.tuned->keys.begin(), file.tuned->keys.end(), [&](const std::string& tuned) {
      return covers_key(tuned, key) || covers_key(key, tuned) || (is_width(key) && is_width(tuned) && key.substr(0, key.rfind('.')) == tuned.substr(0, tuned.rfind('.')));
    });
  }

  // What both configs have and differs; keys that one of them lacks may be another version's. Of a text's path the name of the file counts:
  // study.json has it as it was typed.
  std::vector<std::string> differences(const Json& config, const Json& wanted) const {
    auto lines = differing_keys(config, wanted, [&](const std::string& key) { return key == "seed" || key == "task.file" || is_tuned(key); });
    const auto one_sided = [](const std::string& line) { return line.find("not there") != std::string::npos && !is_width(line.substr(0, line.find(':'))); };
    lines.erase(std::remove_if(lines.begin(), lines.end(), one_sided), lines.end());
    const Json *file_of_it = value_at(config, "/task/file"), *file_of_study = value_at(wanted, "/task/file");
    if (file_of_it && file_of_study && file_of_it->is_string() && file_of_study->is_string() && !is_tuned("task.file")) {
      const fs::path found = file_of_it->get<std::string>(), asked = file_of_study->get<std::string>();
      if (found.filename() != asked.filename()) lines.push_back("task.file: " + shortened(*file_of_it) + " → " + shortened(*file_of_study));
    }
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

std::string StudyOrder::stranger(const std::string& name, const Json& config) const {
  const auto& variants = expected_->file.variants;
  const auto named = std::find_if(variants.begin(), variants.end(), [&](const auto& variant) { return variant.name == name; });
  if (named == variants.end()) return "";
  const Json& wanted = expected_->config_of(*named);
  const auto differences = wanted.is_object() ? expected_->differences(config, wanted) : std::vector<std::string>();
  if (differences.empty()) return "";
  const auto other = std::find_if(variants.begin(), variants.end(), [&](const auto& variant) {
    const Json& its = expected_->config_of(variant);
    return its.is_object() && expected_->differences(config, its).empty();
  });
  if (other != variants.end()) return "is a run of " + other->name;
  constexpr std::size_t kShown = 3;
  const std::vector<std::string> shown(differences.begin(), differences.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, differences.size())));
  return "is a run of another config (" + join(shown) + (differences.size() > kShown ? ", …" : "") + ")";
}

std::string misplaced(const fs::path& run, const Json& config, const StudyOrder* order) {
  const Json seed = config.value("seed", Json());
  const std::string name = run.filename().string(), expected = "seed-" + dump_json(seed);
  const bool is_numbered = name.rfind("seed-", 0) == 0 && name.size() > 5 && name.find_first_not_of("0123456789", 5) == std::string::npos;
  const std::string stranger = order ? order->stranger(run.parent_path().filename().string(), config) : "";
  if (stranger.empty() && seed.is_number_integer() && is_numbered && name != expected) return "is the run of seed " + dump_json(seed);
  return stranger;
}

namespace {

// Of many runs one after the other, most are of the same study.
const StudyOrder* order_of(const fs::path& directory) {
  thread_local fs::path last;
  thread_local std::optional<StudyOrder> order;
  if (directory != last) {
    order.reset(), last = directory;
    if (auto study = read_study_file(directory)) order.emplace(std::move(*study));
  }
  return order ? &*order : nullptr;
}

}  // namespace

std::string misplaced(const fs::path& given) {
  const fs::path run = absolute_path(given).lexically_normal();
  try {
    const Json config = parse_json(read_file(RunDirectory(run).config_path(), "config", ExitCode::data, 1 << 22));
    return config.is_object() ? misplaced(run, config, order_of(run.parent_path().parent_path())) : "";
  } catch (const Error&) {  // damaged: that is said elsewhere
    return "";
  }
}

}  // namespace ffn
