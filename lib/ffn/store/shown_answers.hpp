// The record of answers: which answers of a study were shown, and what that makes of the next one. Stopping or asking again after an answer
// makes more errors than one answer says; the record makes that visible. Kept in study.json. Depends on config and tasks.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ffn/base/descriptor.hpp"
#include "ffn/config/study_config.hpp"

namespace ffn {

/// Key of Asked::question: "until settled", or "fixed" for a number of seeds; the same seeds are judged at another level.
inline constexpr const char* kDesign = "design";

/// What was asked of which runs.
struct Asked {
  JsonValue question;                 ///< CompareConfig with defaults filled in, what was measured and which runs were taken
  std::vector<std::int64_t> seeds;    ///< ascending; those that are planned, finished or not
  std::vector<std::string> variants;  ///< variant_keys(), ascending
};
bool operator==(const Asked& a, const Asked& b);

/// An answer that was shown.
struct ShownAnswer : Asked {
  enum class Outcome { decided, undecided, too_few_seeds } outcome = Outcome::undecided;
  std::string date;
  bool is_complete = true;            ///< false: a study of a fixed number of seeds with runs to do
  std::size_t num_earlier = 0;        ///< answers shown before it of these runs
  std::string qualification;          ///< as it was shown; empty: its verdicts are sure
  std::vector<std::string> verdicts;  ///< "gelu: better"
};

/// What study.json says of the study's past. It survives every rewrite of the file.
struct StudyHistory {
  std::map<std::string, std::string> keys;  ///< variant_keys() by a variant's name; none in older files
  std::vector<ShownAnswer> answers;
  std::optional<Asked> declared;      ///< what the study was to answer when it was first asked
  std::optional<FollowUp> follow_up;  ///< of an earlier study's question
  std::optional<JsonValue> claims;    ///< `expect` as it stood before the first run, dated; nothing in older files

  /// Throws nlohmann's exceptions for what is no history.
  static StudyHistory from(const Json& study);
  void write_to(Json& study) const;
};

/// What makes runs of two studies the same but for their seeds, whatever is measured of them: a hash of each variant's config as declared,
/// before tuning, without name, seed, target and evaluations.
std::map<std::string, std::string> variant_keys(const Study& study);

/// Another study's record, by the name of its directory.
struct Sibling {
  std::string name;
  StudyHistory history;
};
/// Studies with recorded answers beside this directory; unreadable ones are skipped.
std::vector<Sibling> answered_beside(const std::filesystem::path& study);

/// Whether they share at least two variants: then one's comparison is a part of the other's.
bool share_variants(const std::vector<std::string>& a, const std::vector<std::string>& b);
bool share_seeds(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b);

/// Fills in `num_earlier` and `qualification` of an answer that is about to be shown. `declared`: the study's own question as study.json
/// has it now. `reasons`: what keeps it from being sure whatever was looked at. A recorded answer is shown as it was.
/// An answer is sure if it is complete, asks what was declared, and no study beside it was asked something else about the same runs.
void qualify(ShownAnswer& answer, const StudyHistory& own, const Asked& declared, bool is_sequential, const std::vector<Sibling>& beside,
             std::vector<std::string> reasons);

/// "After 2 earlier looks (other seeds than declared): suggestive."; empty without either.
std::string qualification_sentence(std::size_t earlier, const std::vector<std::string>& reasons);

/// Adds it, unless it is recorded already; a sequential design has one answer to its own question, which grows. Says whether it did.
bool add_answer(StudyHistory& history, const ShownAnswer& answer, const Asked& declared, bool is_sequential);

/// Reads study.json, changes it and writes it back, while no other process of this machine does. Throws Error.
void amend_study_file(const std::filesystem::path& study, const std::function<bool(StudyHistory&)>& change);

/// Held while study.json is read and written again; does without where the file system has no locks.
Descriptor wait_for_study_file(const std::filesystem::path& study);

}  // namespace ffn
