#include "ffn/record/misplaced.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "ffn/core/files.hpp"
#include "ffn/record/run_directory.hpp"
#include "ffn/record/study_file.hpp"

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

// Of many runs one after the other, most are of the same study.
const std::optional<StudyFile>& study_of(const fs::path& directory) {
  thread_local fs::path last;
  thread_local std::optional<StudyFile> study;
  if (directory != last) {
    study = read_study_file(directory);
    last = directory;
  }
  return study;
}

std::string other_variant(const fs::path& run, const Json& config) {
  const auto& study = study_of(run.parent_path().parent_path());
  if (!study) return "";
  const auto& variants = study->variants;
  const auto named = std::find_if(variants.begin(), variants.end(), [&](const auto& v) { return v.name == run.parent_path().filename(); });
  if (named == variants.end() || !contradicts(*named, config)) return "";
  const auto other = std::find_if(variants.begin(), variants.end(), [&](const auto& v) { return !contradicts(v, config); });
  return other == variants.end() ? "" : "is a run of " + other->name;
}

}  // namespace

std::string misplaced(const fs::path& given) {
  const fs::path run = absolute_path(given).lexically_normal();
  try {
    const Json config = parse_json(read_file(RunDirectory(run).config_path(), "config", ExitCode::data, 1 << 22));
    if (!config.is_object()) return "";
    const Json seed = config.value("seed", Json());
    const std::string name = run.filename().string(), expected = "seed-" + dump_json(seed);
    const bool is_numbered = name.rfind("seed-", 0) == 0 && name.size() > 5 && name.find_first_not_of("0123456789", 5) == std::string::npos;
    if (seed.is_number_integer() && is_numbered && name != expected) return "is the run of seed " + dump_json(seed);
    return other_variant(run, config);
  } catch (const Error&) {  // damaged: that is said elsewhere
    return "";
  }
}

}  // namespace ffn
