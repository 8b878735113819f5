#include "ffn/study/ledger.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "ffn/base/error.hpp"
#include "ffn/store/run_record.hpp"
#include "ffn/store/study_file.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

std::optional<StudyFile> file_there(const fs::path& directory) {
  try {
    return read_study_file(directory);
  } catch (const Error&) {  // what cannot be read says nothing
    return std::nullopt;
  }
}

std::vector<std::string> values_of_keys(const std::map<std::string, std::string>& keys) {
  std::set<std::string> values;
  for (const auto& [name, key] : keys) values.insert(key);
  return {values.begin(), values.end()};
}

std::vector<std::int64_t> all_seeds(const Study& study) {
  auto seeds = study.growing ? study.growing->seeds(study.growing->max) : study.seeds;
  std::sort(seeds.begin(), seeds.end());
  return seeds;
}

// Its own question, asked once, has an answer for every pair.
bool is_answered(const StudyHistory& history) {
  const auto answers = [](const ShownAnswer& look) {
    return look.is_complete && look.qualification.empty() && look.outcome == ShownAnswer::Outcome::decided;
  };
  return std::any_of(history.answers.begin(), history.answers.end(), answers);
}

bool is_open(const StudyHistory& history) {
  const auto could_decide = [](const ShownAnswer& look) { return look.outcome != ShownAnswer::Outcome::too_few_seeds; };
  return !is_answered(history) && std::any_of(history.answers.begin(), history.answers.end(), could_decide);
}

bool is_about(const StudyHistory& history, const std::vector<std::string>& keys) {
  return share_variants(values_of_keys(history.keys), keys) ||
         std::any_of(history.answers.begin(), history.answers.end(),
                     [&](const ShownAnswer& look) { return share_variants(look.variants, keys); });
}

// A first start has come this far already: with other seeds or variants, and before any look, it is another study.
bool is_the_start_of(const StudyFile& there, const Study& study, const std::map<std::string, std::string>& keys) {
  const bool same_first = there.sequential && !there.seeds.empty() && study.growing && there.seeds[0] == study.growing->first;
  const bool same_seeds = study.growing ? same_first : there.seeds == study.seeds;
  const bool was_asked = !there.history.answers.empty() && is_about(there.history, values_of_keys(keys));
  return was_asked || (same_seeds && there.history.keys == keys);
}

bool were_looked_at(const std::vector<std::string>& keys, const std::vector<std::int64_t>& seeds, const std::vector<Sibling>& beside) {
  for (const auto& sibling : beside) {
    for (const auto& look : sibling.history.answers) {
      if (share_variants(look.variants, keys) && share_seeds(look.seeds, seeds)) return true;
    }
  }
  return false;
}

std::optional<FollowUp> follow_up_of(const std::vector<std::string>& keys, const std::vector<std::int64_t>& seeds,
                                     const std::vector<Sibling>& beside, double alpha) {
  if (were_looked_at(keys, seeds, beside)) return std::nullopt;  // not fresh: a look like any other
  auto next = next_follow_up(keys, beside, alpha);
  return next.after.empty() ? std::nullopt : std::optional<FollowUp>(std::move(next));
}

}  // namespace

FollowUp next_follow_up(const std::vector<std::string>& keys, const std::vector<Sibling>& looked_at, double declared_alpha) {
  FollowUp out;
  out.declared_alpha = declared_alpha;
  std::set<std::string> answered;  // by a follow-up
  for (const auto& [name, history] : looked_at) {
    if (!is_about(history, keys) || !history.follow_up) continue;
    out.number = std::max(out.number, history.follow_up->number + 1);
    if (is_answered(history)) answered.insert(history.follow_up->after.begin(), history.follow_up->after.end());
  }
  for (const auto& [name, history] : looked_at) {
    if (is_about(history, keys) && is_open(history) && !answered.count(name)) out.after.push_back(name);
  }
  return out;
}

void judge_as_follow_up(Study& study, const fs::path& out, bool fresh) {
  const fs::path directory = out / study.name;
  const auto there = fresh ? std::nullopt : file_there(directory);
  const auto beside = answered_beside(directory);
  if (beside.empty() && !there) return;
  const auto keys = variant_keys(study);
  if (there && is_the_start_of(*there, study, keys)) study.follow_up = there->history.follow_up;
  else study.follow_up = follow_up_of(values_of_keys(keys), all_seeds(study), beside, study.config.compare.alpha);
  if (!study.follow_up) return;
  study.follow_up->declared_alpha = study.config.compare.alpha;
  study.config.compare.alpha = study.follow_up->alpha();
}

StudyHistory history_at_start(const Plan& plan, bool any_finished) {
  StudyHistory out;
  if (auto there = file_there(plan.directory)) out = std::move(there->history);
  out.keys = variant_keys(plan.study);
  // Another config under the same name: its question was not declared then.
  if (out.declared && !share_variants(out.declared->variants, values_of_keys(out.keys))) out.declared.reset();
  out.follow_up = plan.study.follow_up;
  if (any_finished) {
    if (!out.claims) out.claims = Json::array();  // all of them came later
    return out;
  }
  const auto keys = values_of_keys(out.keys);
  const auto beside = plan.study.config.expect->empty() ? std::vector<Sibling>() : answered_beside(plan.directory);
  const bool is_known = were_looked_at(keys, all_seeds(plan.study), beside);
  Json claims = Json::array();
  for (const auto& item : *plan.study.config.expect) {
    Json claim = {{"claim", item["claim"]}, {"check", item["check"]}};
    const auto known = [&] {
      if (!out.claims) return std::string();
      for (const auto& before : **out.claims) {
        if (before["claim"] == claim["claim"] && before["check"] == claim["check"]) return before["date"].get<std::string>();
      }
      return std::string();
    }();
    claim["date"] = known.empty() ? utc_now() : known;
    if (is_known) claim["after_results"] = true;  // the same runs were looked at under another name
    claims.push_back(std::move(claim));
  }
  out.claims = claims;
  return out;
}

}  // namespace ffn
