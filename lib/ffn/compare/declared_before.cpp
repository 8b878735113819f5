#include "ffn/compare/declared_before.hpp"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "ffn/base/error.hpp"
#include "ffn/base/text.hpp"
#include "ffn/compare/each.hpp"
#include "ffn/compare/expect.hpp"
#include "ffn/config/json_writer.hpp"
#include "ffn/store/log.hpp"
#include "ffn/store/seen_runs.hpp"
#include "ffn/store/study_file.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

fs::path study_of(const ComparedRun& run) { return fs::absolute(run.path).lexically_normal().parent_path().parent_path(); }

std::optional<StudyFile> file_of(const fs::path& study) {
  try {
    return read_study_file(study);
  } catch (const Error&) {  // find_runs says so
    return std::nullopt;
  }
}

// "metric, reference": where the question is another than the study's; what was not asked for is the study's.
std::string differing(const Comparison& c, const CompareConfig& asked, const StudyFile& file) {
  const Json own = file.question->is_object() ? *file.question : question_json(file.compare);
  const Json now = question_json(asked), all = write_json(asked);
  std::vector<std::string> keys;
  for (const auto& item : all.items()) {
    const std::string& key = item.key();
    const bool is_left_open = (key == "by" || key == "metric" || key == "reference") && !now.contains(key);
    if (!is_left_open && now.value(key, Json()) != own.value(key, Json())) keys.push_back(key);
  }
  if (c.is_later_target) keys.emplace_back("target");
  return join(keys);
}

// An older file has no keys: its variants go by their names.
const std::string& key_of(const StudyFile& file, const std::string& variant) {
  const auto key = file.keys.find(variant);
  return key == file.keys.end() ? variant : key->second;
}

// The runs as the study lists them; those that it does not list have no variant.
std::vector<SeenRun> listed_runs(const Comparison& c, const StudyFile& file, const fs::path& study) {
  std::map<fs::path, std::string> variants;
  const auto directories = file.run_directories(study);
  for (std::size_t i = 0; i < directories.size(); ++i) {
    variants[directories[i].lexically_normal()] = key_of(file, file.variants[i % file.variants.size()].name);
  }
  std::vector<SeenRun> out;
  for (const auto& run : c.runs)  // some seeds of a tuned variant choose what others were given: a question of its own
    out.push_back({variants[fs::absolute(run.path).lexically_normal()], run.seed, file.tuned ? "" : run.values});
  return out;
}

// Whether each of the study's variants, and each of its seeds, is among them.
bool is_whole(const std::vector<SeenRun>& runs, const StudyFile& file) {
  std::set<std::string> variants, keys;
  std::set<std::int64_t> seeds;
  for (const auto& run : runs) {
    variants.insert(run.variant);
    seeds.insert(run.seed);
  }
  for (const auto& variant : file.variants) keys.insert(key_of(file, variant.name));
  return variants == keys && seeds == std::set<std::int64_t>(file.seeds.begin(), file.seeds.end());
}

void qualify_study(Comparison& c, const CompareConfig& asked, const fs::path& study, const StudyFile& file,
                   std::vector<std::string>& reasons) {
  const auto runs = listed_runs(c, file, study);
  for (const auto seed : file.seeds) c.history.last_seed = std::max(c.history.last_seed, seed);
  if (std::any_of(runs.begin(), runs.end(), [](const SeenRun& run) { return run.variant.empty(); }))
    return reasons.push_back("runs that belong to no study's plan");
  const std::string other = differing(c, asked, file);
  c.history.is_repeatable = other.empty();
  if (file.sequential && !c.sequential) reasons.push_back("this study adds seeds until its own question is decided");
  if (!other.empty()) reasons.push_back("other question than declared: " + other);
  if (!is_whole(runs, file)) reasons.push_back("a part of the study");
  if (const auto pending = num_pending(c); pending > 0 && !c.sequential)
    reasons.push_back(std::to_string(pending) + " of " + std::to_string(c.runs.size()) +
                      (pending == 1 ? " runs is not finished" : " runs are not finished"));
  try {
    const auto before = seen_before(study, file.declaration, runs);
    c.history.last_seed = std::max(c.history.last_seed, before.last_seed);
    constexpr std::size_t kNamed = 3;
    const auto& names = before.studies;
    const auto end = names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kNamed));
    if (!names.empty()) reasons.push_back("seeds seen before, in " + join({names.begin(), end}) + (end == names.end() ? "" : ", …"));
  } catch (const DataError& error) {
    log_warning(std::string(error.what()) + ": no answer is sure; " + error.hint());
    reasons.emplace_back("it is not known which seeds were seen");
  }
  const Json& document = *file.document;
  try {
    if (other.empty() && document.contains("expect"))
      c.history.claims = check_claims(document["expect"], file.claims, c, study_file_path(study).string());
  } catch (const ConfigError&) {  // another version's checks
  }
}

}  // namespace

void qualify(Comparison& c, const CompareConfig& asked) {
  std::vector<std::string> reasons;
  std::set<fs::path> studies;
  for (const auto& run : c.runs) {
    studies.insert(study_of(run));
    c.history.last_seed = std::max(c.history.last_seed, run.seed);
  }
  const auto file = studies.size() == 1 ? file_of(*studies.begin()) : std::nullopt;
  if (file) qualify_study(c, asked, *studies.begin(), *file, reasons);
  else reasons.emplace_back(studies.size() == 1 ? "runs that belong to no study's plan" : "runs of several studies");
  if (reasons.empty() || !any_pair(c, [](const PairResult&) { return true; })) return;
  std::string text = join(reasons, "; ");
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  c.history.qualification = text + ": suggestive.";
}

}  // namespace ffn
