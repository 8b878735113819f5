#include "ffn/compare/earlier_answers.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "ffn/base/error.hpp"
#include "ffn/base/shell.hpp"
#include "ffn/compare/expect.hpp"
#include "ffn/config/json_writer.hpp"
#include "ffn/config/metrics.hpp"
#include "ffn/store/log.hpp"
#include "ffn/store/study_file.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

/// The runs of a comparison that are one study's.
struct Member {
  std::optional<StudyFile> file;
  std::set<std::int64_t> seeds;
  std::set<std::string> variants;  ///< keys; names where the file is older and has none
  std::size_t runs = 0, unlisted = 0;
};

std::string key_of(const StudyFile& file, const std::string& variant) {
  const auto key = file.history.keys.find(variant);
  return key == file.history.keys.end() ? variant : key->second;
}

Member read_member(const fs::path& study) {
  Member out;
  try {
    out.file = read_study_file(study);
  } catch (const Error&) {  // find_runs says so
  }
  return out;
}

std::map<fs::path, Member> members_of(const Comparison& c) {
  std::map<fs::path, Member> members;
  std::map<fs::path, std::map<fs::path, std::string>> listed;  // study → run → variant
  for (const auto& [place, seed] : c.places) {
    const fs::path path = fs::absolute(place).lexically_normal(), study = path.parent_path().parent_path();
    const auto [at, is_new] = members.try_emplace(study);
    Member& member = at->second;
    if (is_new) {
      member = read_member(study);
      if (member.file) {
        const auto runs = member.file->run_directories(study);
        for (std::size_t i = 0; i < runs.size(); ++i)
          listed[study].emplace(runs[i].lexically_normal(), member.file->variants[i % member.file->variants.size()].name);
      }
    }
    ++member.runs;
    const auto is_listed = listed[study].find(path);
    member.unlisted += is_listed == listed[study].end();
    if (is_listed == listed[study].end()) continue;
    member.seeds.insert(seed);
    member.variants.insert(key_of(*member.file, is_listed->second));
  }
  return members;
}

// Of the runs, as they vary; a list where they do.
Json measured(const Comparison& c, const std::string& key) {
  const auto found = c.measured.find(key);
  if (found == c.measured.end()) return nullptr;
  return found->second.size() == 1 ? Json(*found->second.begin()) : Json(found->second);
}

Json question_of(const Comparison& c, const CompareConfig& asked) {
  Json out = write_json(asked);
  out["by"] = c.by;
  out["metric"] = c.metric;
  out["reference"] = c.reference;
  for (const char* key : {"target", "eval_every", "eval_examples"}) out[key] = measured(c, key);
  out[kDesign] = c.sequential ? "until settled" : "fixed";
  return out;
}

std::string plain_text(const Json& value) { return value.is_string() ? value.get<std::string>() : dump_json(value); }

// The study's own question, its defaults filled in. `asked` is what these runs were compared by.
Json declared_question(const Comparison& c, const CompareConfig& asked, const StudyFile& file) {
  const CompareConfig& own = file.compare;
  Json out = question_of(c, asked);
  out[kDesign] = file.sequential ? "until settled" : "fixed";
  const bool is_later_target = c.measured.count("own target") > 0;
  if (is_later_target) out["target"] = measured(c, "own target") == "" ? Json() : measured(c, "own target");
  if (write_json(own) == write_json(asked) && !is_later_target) return out;
  const Json written = write_json(own);
  for (const auto& item : written.items()) out[item.key()] = item.value();
  if (own.metric.empty()) out["metric"] = out["target"].is_null() ? metric::kValLoss.name : kTimesToTarget[0];
  if (own.by.empty()) out["by"] = c.by;
  if (!own.reference.empty() || file.variants.empty()) return out;
  if (own.by == "variant") out["reference"] = file.variants[0].name;
  for (const auto& assignment : file.variants[0].assignments) {
    if (assignment.key == own.by) out["reference"] = plain_text(*assignment.value);
  }
  return out;
}

Asked declared_by(const StudyFile& file, const Json& question) {
  std::set<std::string> variants;
  for (const auto& variant : file.variants) variants.insert(key_of(file, variant.name));
  Asked out{question, file.seeds, {variants.begin(), variants.end()}};
  std::sort(out.seeds.begin(), out.seeds.end());
  return out;
}

ShownAnswer answer_of(const Comparison& c, const Json& question, const Member& member) {
  ShownAnswer answer;
  answer.question = question;
  answer.seeds.assign(member.seeds.begin(), member.seeds.end());
  answer.variants.assign(member.variants.begin(), member.variants.end());
  answer.date = utc_now();
  std::size_t pairs = 0, too_few = 0, decided = 0;
  constexpr std::size_t kNamed = 50;
  for (const auto& facet : c.facets) {
    for (const auto& pair : facet.pairs) {
      ++pairs;
      too_few += pair.judgement.verdict == stats::Verdict::too_few_seeds;
      decided += is_settled(pair);
      std::string place;
      for (const auto& [key, value] : facet.keys) place += key + "=" + value + " ";
      if (answer.verdicts.size() < kNamed) answer.verdicts.push_back(place + pair.value + ": " + stats::to_string(pair.judgement.verdict));
    }
  }
  answer.outcome = too_few == pairs   ? ShownAnswer::Outcome::too_few_seeds
                   : decided == pairs ? ShownAnswer::Outcome::decided
                                      : ShownAnswer::Outcome::undecided;
  return answer;
}

// Of one seed nothing can be said, and of none even less.
bool is_answer(const Comparison& c) {
  std::size_t seeds = 0;
  for (const auto& facet : c.facets) {
    for (const auto& pair : facet.pairs) seeds = std::max(seeds, pair.paired.num_seeds);
  }
  return seeds > 1;
}

std::string num_unfinished(const Comparison& c) {
  std::size_t runs = 0, pending = 0;
  for (const auto& facet : c.facets) {
    for (const auto& group : facet.groups) {
      runs += group.num_runs;
      pending += group.num_pending;
    }
  }
  return pending == 0 ? ""
                      : std::to_string(pending) + " of " + std::to_string(runs) +
                            (pending == 1 ? " runs is not finished" : " runs are not finished");
}

void write_answer(const fs::path& study, const ShownAnswer& answer, const Asked& declared, bool is_sequential) {
  try {
    amend_study_file(study, [&](StudyHistory& history) { return add_answer(history, answer, declared, is_sequential); });
  } catch (const Error& error) {  // finished results can be looked at where nothing can be written
    log_warning("this answer could not be recorded, so a later one does not count it: " + std::string(error.what()));
  }
}

// The whole of one study, by its own plan.
void record_for_study(Comparison& c, const CompareConfig& asked, const fs::path& study, const Member& member) {
  const StudyFile& file = *member.file;
  const Asked declared = declared_by(file, declared_question(c, asked, file));
  ShownAnswer answer = answer_of(c, question_of(c, asked), member);
  const std::string unfinished = num_unfinished(c);
  answer.is_complete = c.sequential || unfinished.empty();
  std::vector<std::string> reasons;
  if (file.sequential && !c.sequential) reasons.push_back("this study adds seeds until its own question is settled");
  if (!answer.is_complete) reasons.push_back(unfinished);
  const auto beside = answered_beside(study);
  qualify(answer, file.history, declared, c.sequential.has_value(), beside, std::move(reasons));
  c.history.earlier_looks = answer.num_earlier;
  c.history.qualification = answer.qualification;
  c.history.follow_up = file.history.follow_up;
  for (const auto seed : file.seeds) c.history.last_seed = std::max(c.history.last_seed, seed);
  const auto take_seeds = [&](const ShownAnswer& other) {
    for (const auto seed : other.seeds) c.history.last_seed = std::max(c.history.last_seed, seed);
  };
  std::for_each(file.history.answers.begin(), file.history.answers.end(), take_seeds);
  for (const auto& sibling : beside) {
    for (const auto& other : sibling.history.answers) {
      if (share_variants(other.variants, answer.variants)) take_seeds(other);
    }
  }
  const Json& document = *file.document;
  try {
    if (*answer.question == *declared.question && document.contains("expect"))
      c.history.claims = check_claims(document["expect"], file.history.claims, c, study_file_path(study).string());
  } catch (const ConfigError&) {  // another version's checks
  }
  if (is_answer(c)) write_answer(study, answer, declared, c.sequential.has_value());
}

// Runs of several studies, or of none: nobody knows how often they were looked at.
void record_for_loose_runs(Comparison& c, const CompareConfig& asked, const std::map<fs::path, Member>& members) {
  const bool any_loose = std::any_of(members.begin(), members.end(), [](const auto& m) { return m.second.unlisted > 0; });
  const std::string what = any_loose ? "runs that belong to no study's plan" : "runs of several studies";
  Json question = question_of(c, asked);
  question["runs"] = what;
  std::vector<std::string> reasons = {what};
  for (const auto& [study, member] : members) {
    const bool grows = member.file && member.file->sequential;
    if (grows) reasons.push_back(study.filename().string() + " adds seeds until its own question is settled");
    if (!member.file || member.seeds.empty()) continue;
    ShownAnswer answer = answer_of(c, question, member);
    answer.qualification = what;
    for (const auto& known : member.file->history.answers) c.history.earlier_looks += !(known == answer);
    write_answer(study, answer, declared_by(*member.file, declared_question(c, asked, *member.file)), false);
  }
  for (const auto& facet : c.facets) {
    for (const auto& group : facet.groups) {
      for (const auto& run : group.runs) c.history.last_seed = std::max(c.history.last_seed, run.seed);
    }
  }
  c.history.qualification = qualification_sentence(c.history.earlier_looks, reasons);
}

}  // namespace

void record_answer(Comparison& c, const CompareConfig& asked) {
  const bool has_pairs = std::any_of(c.facets.begin(), c.facets.end(), [](const Facet& facet) { return !facet.pairs.empty(); });
  const auto members = members_of(c);
  const bool is_one = members.size() == 1 && members.begin()->second.file && members.begin()->second.unlisted == 0;
  if (is_one) record_for_study(c, asked, members.begin()->first, members.begin()->second);
  else if (has_pairs && is_answer(c)) record_for_loose_runs(c, asked, members);
  if (!has_pairs) c.history.qualification.clear();
}

}  // namespace ffn
