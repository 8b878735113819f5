#include "ffn/store/shown_answers.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <nlohmann/json.hpp>

#include "ffn/base/files.hpp"
#include "ffn/base/hash.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/data/run_identity.hpp"
#include "ffn/store/study_file.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostFollowUps = 1000;
constexpr const char* kOutcomes[] = {"decided", "undecided", "too few seeds"};

Json asked_json(const Asked& asked) { return {{"question", *asked.question}, {"seeds", asked.seeds}, {"variants", asked.variants}}; }

void read_asked(const Json& json, Asked& asked) {
  asked.question = json.at("question");
  json.at("seeds").get_to(asked.seeds);
  json.at("variants").get_to(asked.variants);
}

Json answer_json(const ShownAnswer& answer) {
  Json out = {{"date", answer.date}};
  out.update(asked_json(answer));
  out["complete"] = answer.is_complete;
  out["outcome"] = kOutcomes[static_cast<int>(answer.outcome)];
  out["earlier_looks"] = answer.num_earlier;
  out["qualification"] = answer.qualification;
  out["verdicts"] = answer.verdicts;
  return out;
}

ShownAnswer answer_from(const Json& json) {
  ShownAnswer answer;
  read_asked(json, answer);
  json.at("date").get_to(answer.date);
  json.at("complete").get_to(answer.is_complete);
  json.at("earlier_looks").get_to(answer.num_earlier);
  json.at("qualification").get_to(answer.qualification);
  json.at("verdicts").get_to(answer.verdicts);
  const auto outcome = std::find(std::begin(kOutcomes), std::end(kOutcomes), json.at("outcome").get<std::string>());
  answer.outcome =
      outcome == std::end(kOutcomes) ? ShownAnswer::Outcome::undecided : static_cast<ShownAnswer::Outcome>(outcome - std::begin(kOutcomes));
  return answer;
}

bool had_too_few_seeds(const ShownAnswer& answer) { return answer.outcome == ShownAnswer::Outcome::too_few_seeds; }

// An answer that could not have come to a verdict tells nobody when to stop; another question may have been chosen by it.
bool counts(const ShownAnswer& answer, const Asked& now) { return !had_too_few_seeds(answer) || *answer.question != *now.question; }

// "metric", "reference": where two questions differ.
std::string differing(const Json& a, const Json& b) {
  std::vector<std::string> keys;
  for (const auto& item : a.items()) {
    const bool is_said = item.key() == kDesign;  // by who asks
    if (!is_said && (!b.contains(item.key()) || b[item.key()] != item.value())) keys.push_back(item.key());
  }
  for (const auto& item : b.items()) {
    if (item.key() != kDesign && !a.contains(item.key())) keys.push_back(item.key());
  }
  return join(keys);
}

// The same answer, as it was shown first here or under another name; one that was sure, if any was.
const ShownAnswer* known_answer(const ShownAnswer& answer, const StudyHistory& own, const std::vector<Sibling>& beside) {
  const ShownAnswer* found = nullptr;
  const auto search = [&](const StudyHistory& history) {
    for (const auto& known : history.answers) {
      if (known == answer && known.is_complete && answer.is_complete && (!found || known.qualification.empty())) found = &known;
    }
  };
  search(own);
  if (found) return found;
  for (const auto& sibling : beside) search(sibling.history);
  return found;
}

}  // namespace

std::string qualification_sentence(std::size_t earlier, const std::vector<std::string>& reasons) {
  if (earlier == 0 && reasons.empty()) return "";
  const std::string answers = std::to_string(earlier) + (earlier == 1 ? " earlier look" : " earlier looks");
  std::string text = earlier == 0 ? join(reasons, "; ") : "After " + answers;
  if (earlier > 0 && !reasons.empty()) text += " (" + join(reasons, "; ") + ")";
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text + ": suggestive.";
}

bool operator==(const Asked& a, const Asked& b) { return *a.question == *b.question && a.seeds == b.seeds && a.variants == b.variants; }

StudyHistory StudyHistory::from(const Json& study) {
  StudyHistory out;
  if (study.contains("variant_keys")) out.keys = study["variant_keys"].get<std::map<std::string, std::string>>();
  if (study.contains("looks")) {
    for (const auto& answer : study["looks"]) out.answers.push_back(answer_from(answer));
  }
  if (study.contains("declared")) read_asked(study["declared"], out.declared.emplace());
  if (study.contains("follow_up")) {
    const Json& json = study["follow_up"];
    auto& follow_up = out.follow_up.emplace();
    json.at("number").get_to(follow_up.number);
    json.at("after").get_to(follow_up.after);
    json.at("declared_alpha").get_to(follow_up.declared_alpha);
    const bool is_one =
        follow_up.number >= 1 && follow_up.number <= kMostFollowUps && follow_up.declared_alpha > 0 && follow_up.declared_alpha < 0.5;
    if (!is_one) throw DataError("study.json: follow_up: number or declared_alpha is out of bounds");
  }
  if (study.contains("claims")) {
    for (const auto& claim : study["claims"]) {
      for (const char* key : {"claim", "check", "date"}) (void)claim.at(key);
      (void)claim.at("date").get<std::string>();
    }
    out.claims = study["claims"];
  }
  return out;
}

void StudyHistory::write_to(Json& study) const {
  if (!keys.empty()) study["variant_keys"] = keys;
  if (claims) study["claims"] = **claims;
  if (follow_up)
    study["follow_up"] = {{"number", follow_up->number},
                          {"after", follow_up->after},
                          {"declared_alpha", follow_up->declared_alpha},
                          {"alpha", follow_up->alpha()}};
  if (declared) study["declared"] = asked_json(*declared);
  if (answers.empty()) return;
  study["looks"] = Json::array();
  for (const auto& answer : answers) study["looks"].push_back(answer_json(answer));
}

std::map<std::string, std::string> variant_keys(const Study& study) {
  std::map<std::string, std::string> out;
  const bool is_tuned = !study.config.tune->empty();
  for (const auto& variant : study.variants) {
    const RunConfig config = is_tuned ? config_with(study, variant.assignments) : variant.config;
    Json json = identity_json(config, data_hash_now(config));
    json.erase("seed");
    for (const char* measured : {"target", "eval_every", "eval_examples", "layer_metrics"}) json["train"].erase(measured);
    if (is_tuned) json["tune"] = *study.config.tune;
    out[variant.name] = sha256_hex(dump_json(json)).substr(0, 16);
  }
  return out;
}

std::vector<Sibling> answered_beside(const fs::path& study) {
  std::vector<Sibling> out;
  std::error_code failed;
  const fs::path own = fs::weakly_canonical(fs::absolute(study), failed);  // a link does not hide what lies beside it
  if (failed) throw ReadError("cannot read " + study.string() + ": " + failed.message());
  const fs::path directory = (own.has_filename() ? own : own.parent_path()).parent_path();
  const std::string own_name = (own.has_filename() ? own : own.parent_path()).filename().string();
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name == own_name) continue;
    try {
      constexpr std::uintmax_t kMostBytes = 64 << 20;
      const auto text = read_file_if_there(study_file_path(at->path()), "study file", ExitCode::data, kMostBytes);
      if (!text || text->find("\"looks\"") == std::string::npos) continue;  // nothing was looked at: not worth parsing
      const Json json = parse_json(*text);
      if (json.is_object()) out.push_back({name, StudyHistory::from(json)});
    } catch (const std::exception&) {  // no file of a study, or damaged: whoever looks at it hears of it
    }
  }
  std::sort(out.begin(), out.end(), [](const Sibling& a, const Sibling& b) { return a.name < b.name; });
  return out;
}

bool share_variants(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<std::string> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both.size() >= 2;
}

bool share_seeds(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  std::vector<std::int64_t> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return !both.empty();
}

void qualify(ShownAnswer& answer, const StudyHistory& own, const Asked& declared_now, bool is_sequential,
             const std::vector<Sibling>& beside, std::vector<std::string> reasons) {
  if (const ShownAnswer* known = known_answer(answer, own, beside)) {
    answer.num_earlier = known->num_earlier;
    answer.qualification = known->qualification;
    return;
  }
  Asked declared = own.answers.empty() || !own.declared ? declared_now : *own.declared;
  if (is_sequential || std::all_of(own.answers.begin(), own.answers.end(), had_too_few_seeds)) declared.seeds = declared_now.seeds;
  const auto keys = differing(*declared.question, *answer.question);
  if (!keys.empty()) reasons.push_back("other question than declared: " + keys);
  if (declared.variants != answer.variants) reasons.push_back("other variants than declared");
  if (declared.seeds != answer.seeds) reasons.push_back("other seeds than declared");
  std::vector<Asked> earlier;
  const auto add = [&](const ShownAnswer& other) {
    const bool is_new = !(other == answer) && counts(other, answer) && std::find(earlier.begin(), earlier.end(), other) == earlier.end();
    if (is_new) earlier.push_back(other);
    return is_new;
  };
  for (const auto& other : own.answers) {
    if (!(declared == answer) && share_variants(other.variants, answer.variants)) add(other);
  }
  std::vector<std::string> names;
  for (const auto& sibling : beside) {
    bool any = false;
    for (const auto& other : sibling.history.answers)
      any = (share_variants(other.variants, answer.variants) && share_seeds(other.seeds, answer.seeds) && add(other)) || any;
    if (any) names.push_back(sibling.name);
  }
  constexpr std::size_t kNamed = 3;
  if (names.size() > kNamed) {
    const std::string more = std::to_string(names.size() - kNamed) + " more";
    names.resize(kNamed);
    names.push_back(more);
  }
  if (!names.empty()) reasons.push_back("at the same runs in " + join(names));
  answer.num_earlier = earlier.size();
  answer.qualification = qualification_sentence(earlier.size(), reasons);
}

bool add_answer(StudyHistory& history, const ShownAnswer& answer, const Asked& declared, bool is_sequential) {
  for (auto& known : history.answers) {
    const bool same = known == answer && known.is_complete == answer.is_complete;
    const bool grows = is_sequential && *known.question == *answer.question && known.variants == answer.variants &&
                       known.qualification == answer.qualification;
    if (!same && !grows) continue;
    if (same && known.outcome == answer.outcome) return false;
    known = answer;
    return true;
  }
  if (history.answers.empty() || !history.declared) history.declared = declared;
  else if (is_sequential || std::all_of(history.answers.begin(), history.answers.end(), had_too_few_seeds))
    history.declared->seeds = declared.seeds;
  history.answers.push_back(answer);
  return true;
}

void amend_study_file(const fs::path& study, const std::function<bool(StudyHistory&)>& change) {
  const auto turn = wait_for_study_file(study);
  std::string lost;
  Json json = read_study_json(study, &lost);
  if (!lost.empty()) return;  // the study's next start mends the file, and says so
  StudyHistory history = StudyHistory::from(json);
  if (!change(history)) return;
  history.write_to(json);
  write_study_file(study, study_text(json));
}

Descriptor wait_for_study_file(const fs::path& study) {
  Descriptor directory(::open(study.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.is_open()) (void)::flock(directory.get(), LOCK_EX);
  return directory;
}

}  // namespace ffn
