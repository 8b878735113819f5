#include "ffn/compare/looks.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "ffn/base/files.hpp"
#include "ffn/base/hash.hpp"
#include "ffn/base/text.hpp"
#include "ffn/store/run_record.hpp"
#include "ffn/store/study_file.hpp"

namespace ffn {

namespace {

constexpr std::uintmax_t kMostLookBytes = std::uintmax_t{1} << 28;
constexpr const char* kKind = "looks at a table of runs (ffn-train judge)";

template <class Holds>
bool is_list_of(const Json& json, Holds holds) {
  return json.is_array() && std::all_of(json.begin(), json.end(), holds);
}

bool is_text(const Json& json) { return json.is_string(); }

bool is_look(const Json& look) {
  return look.is_object() && look.value("question", Json()).is_object() && is_text(look["question"].value("reference", Json())) &&
         is_text(look.value("when", Json())) && is_text(look.value("suggestive", Json())) &&
         is_list_of(look.value("rows", Json()), is_text);
}

bool is_design(const Json& design) {
  return design.is_object() && design.value("max", Json()).is_number_unsigned() &&
         design.value("comparisons", Json()).is_number_unsigned() && design.value("after_looks", Json()).is_number_unsigned() &&
         design["max"] >= 8 && is_list_of(design.value("seeds", Json()), [](const Json& seed) { return seed.is_number_integer(); });
}

bool is_claim(const Json& claim) { return claim.is_object() && is_text(claim.value("claim", Json())) && claim.contains("check"); }

bool is_looks(const Json& json) {
  return json.is_object() && json.value("kind", Json()) == kKind && is_list_of(json.value("looks", Json()), is_look) &&
         is_list_of(json.value("claims", Json::array()), is_claim) && (!json.contains("design") || is_design(json["design"]));
}

std::string day_of(const Json& look) { return look["when"].get<std::string>().substr(0, 10); }

}  // namespace

Looks::Looks(std::filesystem::path path)
    : path_(std::move(path)),
      directory_(wait_for_directory(path_.has_parent_path() ? path_.parent_path() : ".")),
      record_(Json{{"kind", kKind}, {"looks", Json::array()}}) {
  const auto text = read_file_if_there(path_, "record of looks", ExitCode::data, kMostLookBytes);
  if (!text) return;
  const Json json = parse_json(*text);
  if (!is_looks(json))
    throw DataError(path_.string() + ": no record of looks",
                    "it says which answers are sure; judge fresh runs in a file of their own, or use -o DIR");
  record_ = json;
}

std::optional<DeclaredDesign> Looks::design() const {
  if (!record_->contains("design")) return std::nullopt;
  const Json& design = (*record_)["design"];
  return DeclaredDesign{design["max"].get<std::size_t>(), design["comparisons"].get<std::size_t>(),
                        design["seeds"].get<std::vector<std::int64_t>>()};
}

void Looks::declare(const DeclaredDesign& design) {
  if (const auto before = this->design()) {
    if (before->maximum == design.maximum) return;
    throw UsageError(
        "the design that was declared here has at most " + std::to_string(before->maximum) + " runs, not " + std::to_string(design.maximum),
        "go on with it, or judge fresh runs in a file of their own");
  }
  (*record_)["design"] = {{"max", design.maximum},
                          {"comparisons", design.comparisons},
                          {"seeds", design.seeds},
                          {"when", utc_now()},
                          {"after_looks", (*record_)["looks"].size()}};
}

JsonValue Looks::claim(const JsonValue& claims) {
  Json all = record_->value("claims", Json::array());
  for (Json claim : *claims) {
    if (std::any_of(all.begin(), all.end(), [&](const Json& before) { return before["claim"] == claim["claim"]; })) continue;
    claim["date"] = utc_now();
    if (!(*record_)["looks"].empty()) claim["after_results"] = true;
    all.push_back(std::move(claim));
  }
  if (!all.empty()) (*record_)["claims"] = all;
  return all;
}

std::string Looks::reference() const {
  const Json& looks = (*record_)["looks"];
  return looks.empty() ? "" : looks[0]["question"]["reference"].get<std::string>();
}

std::vector<std::int64_t> Looks::order(const std::set<std::int64_t>& seeds) {
  auto all = (*record_)["design"]["seeds"].get<std::vector<std::int64_t>>();
  const std::set<std::int64_t> known(all.begin(), all.end());
  std::set_difference(seeds.begin(), seeds.end(), known.begin(), known.end(), std::back_inserter(all));
  (*record_)["design"]["seeds"] = all;
  return all;
}

std::string Looks::look(const JsonValue& question, const std::vector<std::string>& rows, std::size_t comparisons) {
  std::vector<std::string> now;
  for (const auto& row : rows) now.push_back(sha256_hex(row).substr(0, 16));
  std::sort(now.begin(), now.end());
  const bool has_design = record_->contains("design");
  if (has_design) {
    Json& design = (*record_)["design"];
    design["comparisons"] = std::max(design["comparisons"].get<std::size_t>(), comparisons);
  }
  std::string reason;
  Json& looks = (*record_)["looks"];
  for (std::size_t i = looks.size(); i-- > 0;) {  // the last one counts most
    const Json& before = looks[i];
    const bool same_question = before["question"] == *question, same_rows = before["rows"] == Json(now);
    if (same_question && same_rows) return before["suggestive"].get<std::string>();
    if (!reason.empty()) continue;
    const auto then = before["rows"].get<std::vector<std::string>>();
    const bool has_grown = std::includes(now.begin(), now.end(), then.begin(), then.end());
    if (!same_question) reason = "Another question was asked of this table on " + day_of(before);
    else if (!has_grown) reason = "Rows have changed or gone since the look of " + day_of(before);
    else if (!has_design)
      reason =
          counted(now.size() - then.size(), "row") + " came after the look of " + day_of(before) + " at " + counted(then.size(), "row");
    else if (i < (*record_)["design"]["after_looks"].get<std::size_t>())
      reason = "The design was declared after a look at " + counted(then.size(), "row");
  }
  looks.push_back({{"when", utc_now()}, {"question", *question}, {"rows", now}, {"suggestive", reason}});
  return reason;
}

void Looks::write() const { write_file_atomically(path_, dump_json_lossy(*record_) + "\n"); }

}  // namespace ffn
