#include "ffn/study/same_study.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "ffn/base/files.hpp"
#include "ffn/base/hash.hpp"
#include "ffn/data/run_identity.hpp"
#include "ffn/store/run_files.hpp"
#include "ffn/store/study_file.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

// What follows from the document and the files that it names. Older versions do not say it.
constexpr const char* kKnowledge[] = {"configs", "texts"};

// Its past, of which each part may know another piece.
constexpr const char* kHistory[] = {"variant_keys", "looks", "declared", "follow_up", "claims"};

// What the study is about: not what trains it, nor where a file lies. Runs carry their own identities beside this.
Json essence_of(Json study) {
  for (const char* key : {"schema_version", "compare"}) study.erase(key);  // another version's; what follows from the document
  for (const char* key : kKnowledge) study.erase(key);
  for (const char* key : kHistory) study.erase(key);
  if (study["document"].is_object()) {
    for (const char* key : {"compute", "log", "$schema", "extends"}) study["document"].erase(key);
    if (study["document"].contains("task") && study["document"]["task"].is_object()) study["document"]["task"].erase("file");
  }
  return study;
}

// The order in which keys were given makes no other study; that of a list's items does.
Json with_sorted_keys(const Json& json) {
  if (json.is_array()) {
    Json out = Json::array();
    for (const auto& item : json) out.push_back(with_sorted_keys(item));
    return out;
  }
  if (!json.is_object()) return json;
  std::map<std::string, Json> items;
  for (const auto& item : json.items()) items[item.key()] = with_sorted_keys(item.value());
  Json out = Json::object();
  for (auto& [key, value] : items) out[key] = std::move(value);
  return out;
}

bool says_the_same(const Json& a, const Json& b) { return with_sorted_keys(a) == with_sorted_keys(b); }

// Empty if nowhere.
std::string first_difference(const Json& a, const Json& b, const std::string& place = "") {
  if (says_the_same(a, b)) return "";
  if (!a.is_object() || !b.is_object()) return place;
  const auto inner = [&](const std::string& key) { return place.empty() ? key : place + "." + key; };
  for (const auto& item : a.items()) {
    if (!b.contains(item.key())) return inner(item.key());
    const std::string what = first_difference(item.value(), b[item.key()], inner(item.key()));
    if (!what.empty()) return what;
  }
  for (const auto& item : b.items()) {
    if (!a.contains(item.key())) return inner(item.key());
  }
  return place;
}

// What the runs of each variant are, but for their seeds and texts. Throws Error for a document that this version reads in another way.
Json trained_by(const StudyPart& part) {
  const StudyFile file = read_study_file(part.directory).value();
  Document document;
  document.tree() = *file.document;
  Study study;
  study.name = file.name;
  study.common = common_of(std::move(document));
  Json out = Json::array();
  for (const auto& variant : file.variants) out.push_back(identity_json(config_with(study, variant.assignments), ""));
  return out;
}

// Whether documents that differ make the same runs: a default was written out, or another question is asked. Not where looks or choices
// rest on what the document says.
bool train_the_same(const StudyPart& a, const StudyPart& b) {
  Json one = essence_of(*a.study), other = essence_of(*b.study);
  for (Json* study : {&one, &other}) study->erase("document");
  if (!says_the_same(one, other) || one.contains("sequential") || one.contains("tuning")) return false;
  try {
    return says_the_same(trained_by(a), trained_by(b));
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

StudyPart read_study_part(const fs::path& directory, std::vector<std::string>& notes) {
  if (!directory_exists(directory)) throw DataError("no directory " + directory.string());
  if (!has_study_file(directory)) {
    throw DataError(directory.string() + " is no study: it has no study.json",
                    "name the study's own directory, for example runs/<study>, not the one that it stands in");
  }
  std::string lost;
  Json study = read_study_json(directory, &lost);
  if (!lost.empty()) notes.push_back(lost + "; its copy, " + study_copy_path(directory).filename().string() + ", was read");
  return {directory, std::move(study)};
}

std::string difference_of(const StudyPart& a, const StudyPart& b, std::vector<std::string>& notes) {
  const std::string place = first_difference(essence_of(*a.study), essence_of(*b.study));
  if (!place.empty() && !train_the_same(a, b)) return place;
  for (const char* key : kKnowledge) {
    if (!a.study->contains(key) || !b.study->contains(key)) continue;
    const std::string what = first_difference((*a.study)[key], (*b.study)[key], key);
    if (!what.empty()) return what;
  }
  if (!place.empty())
    notes.push_back(a.directory.string() + " and " + b.directory.string() + " train the same runs, but " + place +
                    " differs in their study.json; the first one's counts");
  return "";
}

namespace {

bool add_items(Json& list, const Json& more) {
  const auto before = list.size();
  for (const auto& item : more) {
    if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
  }
  return list.size() > before;
}

}  // namespace

bool take_knowledge(StudyPart& part, const StudyPart& other) {
  bool is_more = false;
  for (const char* key : kKnowledge) {
    if (part.study->contains(key) || !other.study->contains(key)) continue;
    (*part.study)[key] = (*other.study)[key];
    is_more = true;
  }
  for (const char* key : kHistory) {
    if (!other.study->contains(key)) continue;
    if (!part.study->contains(key)) (*part.study)[key] = (*other.study)[key];
    else if (std::string(key) != "looks" || !add_items((*part.study)[key], (*other.study)[key])) continue;
    is_more = true;
  }
  if (is_more) (*part.study)["schema_version"] = kSchemaVersion;
  return is_more;
}

std::string study_fingerprint(const StudyPart& part) { return sha256_hex(dump_json(with_sorted_keys(essence_of(*part.study)))); }

}  // namespace ffn
