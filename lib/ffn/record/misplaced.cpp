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

// A resolved config has more than a sweep assigns, and may write a value in another way: only what stands in both and differs is told.
bool contradicts(const Json& assigned, const Json& resolved) {
  if (assigned.is_object() && resolved.is_object()) {
    return std::any_of(assigned.items().begin(), assigned.items().end(), [&](const auto& item) {
      return resolved.contains(item.key()) && contradicts(item.value(), resolved[item.key()]);
    });
  }
  return assigned != resolved;
}

bool contradicts(const StudyFile::Variant& variant, const Json& config) {
  return std::any_of(variant.assignments.begin(), variant.assignments.end(), [&](const Assignment& assignment) {
    const Json::json_pointer at(pointer_of(assignment.key));
    return config.contains(at) && contradicts(*assignment.value, config[at]);
  });
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

  // What both configs have and differs. Where a text lies makes no other run, and its path may have been written in another way.
  std::vector<std::string> differences(const Json& config, const Json& wanted) const {
    const auto left_out = [&](const std::string& key) {
      const bool is_tuned = file.tuned && std::find(file.tuned->keys.begin(), file.tuned->keys.end(), key) != file.tuned->keys.end();
      return key == "seed" || key == "task.file" || is_tuned;
    };
    auto lines = differing_keys(config, wanted, left_out);
    const auto one_sided = [](const std::string& line) { return line.find("not there") != std::string::npos; };
    lines.erase(std::remove_if(lines.begin(), lines.end(), one_sided), lines.end());
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
  if (contradicts(*named, config)) {
    const auto other = std::find_if(variants.begin(), variants.end(), [&](const auto& variant) { return !contradicts(variant, config); });
    if (other != variants.end()) return "is a run of " + other->name;
  }
  const Json& wanted = expected_->config_of(*named);
  const auto differences = wanted.is_object() ? expected_->differences(config, wanted) : std::vector<std::string>();
  constexpr std::size_t kShown = 3;
  const std::vector<std::string> shown(differences.begin(), differences.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, differences.size())));
  return differences.empty() ? "" : "is a run of another config (" + join(shown) + (differences.size() > kShown ? ", …" : "") + ")";
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
