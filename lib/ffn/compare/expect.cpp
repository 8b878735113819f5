#include "ffn/compare/expect.hpp"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "ffn/base/error.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/base/text.hpp"
#include "ffn/compare/each.hpp"
#include "ffn/compare/shown_names.hpp"

namespace ffn {

namespace {

std::string text_or_json(const Json& value) { return value.is_string() ? value.get<std::string>() : dump_json(value); }

std::vector<std::string> claimed_verdicts() {
  std::vector<std::string> out;
  for (const auto& known : stats::verdict_words()) {
    if (known.verdict != stats::Verdict::too_few_seeds) out.emplace_back(known.word);  // that leaves a claim open
  }
  return out;
}

void validate(const Json& item, const std::string& pointer, std::vector<Problem>& problems) {
  const auto wrong = [&](const std::string& why) { problems.push_back({"", pointer, why}); };
  if (!item.is_object() || !item.contains("claim") || !item["claim"].is_string() || !item.contains("check") || !item["check"].is_object()) {
    return wrong("expected { \"claim\": text, \"source\": text, \"check\": { … } }, got " + shortened(item));
  }
  if (item.contains("source") && !item["source"].is_string()) wrong("\"source\" has to be a text, got " + shortened(item["source"]));
  static const std::set<std::string> known = {"facet", "value", "verdict", "verdict_not", "mean_at_least", "mean_at_most"};
  const Json& check = item["check"];
  for (const auto& part : check.items()) {
    if (!known.count(part.key())) wrong("unknown key \"" + part.key() + "\" in check");
  }
  if (!check.contains("value")) wrong("the check names no \"value\"");
  const bool any =
      check.contains("verdict") || check.contains("verdict_not") || check.contains("mean_at_least") || check.contains("mean_at_most");
  if (!any) wrong("the check asks nothing; give a verdict, verdict_not, mean_at_least or mean_at_most");
  if (check.contains("facet") && !check["facet"].is_object()) wrong("\"facet\" has to be an object key → value");
  const auto verdicts = claimed_verdicts();
  for (const char* key : {"verdict", "verdict_not"}) {
    if (check.contains(key) && std::find(verdicts.begin(), verdicts.end(), text_or_json(check[key])) == verdicts.end())
      wrong(std::string("\"") + key + "\" has to be one of: " + join(verdicts));
  }
  for (const char* key : {"mean_at_least", "mean_at_most"}) {
    if (check.contains(key) && !check[key].is_number()) wrong(std::string("\"") + key + "\" has to be a number");
  }
}

bool in_facet(const Facet& facet, const Json& wanted) {
  for (const auto& item : wanted.items()) {
    const auto found = facet.keys.find(item.key());
    if (found == facet.keys.end() || found->second != text_or_json(item.value())) return false;
  }
  return true;
}

// The value of `by` that a claim means: by itself, or by what people are shown for it, as a label.
std::string value_meant(const Json& check, const Comparison& comparison) {
  std::string name = text_or_json(check["value"]), shown;
  for_each_group(comparison, [&](const Facet&, const GroupResult& group) {
    if (shown_value(comparison, group.value) == name) shown = group.value;
  });
  const bool is_value = any_group(comparison, [&](const GroupResult& group) { return group.value == name; });
  return is_value || shown.empty() ? name : shown;
}

using ClaimOutcome = Expectation::Outcome;

// Adds what one facet says to the expectation: refuted beats not shown beats holds.
class Judge {
 public:
  Judge(const Json& check, const Comparison& comparison, Expectation& out)
      : check_(check), value_(value_meant(check, comparison)), out_(out) {}

  void facet(const Facet& facet) {
    if (check_.contains("verdict") || check_.contains("verdict_not")) verdict(facet);
    if (check_.contains("mean_at_least") || check_.contains("mean_at_most")) mean(facet);
  }

 private:
  void verdict(const Facet& facet) {
    for (const auto& pair : facet.pairs) {
      if (pair.value != value_) continue;
      const auto found = stats::to_string(pair.judgement.verdict);
      say(found);
      const std::size_t pending = num_pending(facet);
      if (pending > 0) return conclude(std::to_string(pending) + " runs to do", ClaimOutcome::not_shown);
      for (const char* key : {"verdict", "verdict_not"}) {
        if (!check_.contains(key)) continue;
        // "Not worse" is shown by another verdict: neither doubt nor too few seeds is one.
        const bool is_it = text_or_json(check_[key]) == found, wanted = std::string(key) == "verdict";
        if (!is_it && !is_decided(pair)) note(ClaimOutcome::not_shown);
        else note(is_it == wanted ? ClaimOutcome::holds : ClaimOutcome::refuted);
      }
      return;
    }
    conclude("no pair for " + value_, ClaimOutcome::not_shown);
  }

  // Pending runs of the value and of its reference.
  std::size_t num_pending(const Facet& facet) const {
    std::size_t pending = 0;
    for (const auto& group : facet.groups) pending += group.value == value_ || &group == &facet.groups[0] ? group.num_pending : 0;
    return pending;
  }

  void mean(const Facet& facet) {
    for (const auto& group : facet.groups) {
      if (group.value != value_) continue;
      if (group.num_pending > 0) return conclude("not finished", ClaimOutcome::not_shown);
      if (const auto lost = group.num_lost(); lost > 0 || !group.mean)
        return conclude(std::to_string(lost) + " of " + std::to_string(group.num_runs) + " runs diverged or failed", ClaimOutcome::refuted);
      std::ostringstream text;
      text << "mean " << *group.mean;
      if (group.half_width) text << " ± " << *group.half_width;
      say(text.str() + (group.half_width ? "" : ", no interval"));
      const double half = group.half_width.value_or(0), low = *group.mean - half, high = *group.mean + half;
      const auto side = [&](bool holds, bool is_refuted) {
        note(holds ? ClaimOutcome::holds : is_refuted ? ClaimOutcome::refuted : ClaimOutcome::not_shown);
      };
      if (check_.contains("mean_at_least"))
        side(low >= check_["mean_at_least"].get<double>(), high < check_["mean_at_least"].get<double>());
      if (check_.contains("mean_at_most")) side(high <= check_["mean_at_most"].get<double>(), low > check_["mean_at_most"].get<double>());
      return;
    }
    conclude("no runs for " + value_, ClaimOutcome::not_shown);
  }

  void conclude(const std::string& text, ClaimOutcome outcome) {
    say(text);
    note(outcome);
  }
  void say(const std::string& text) { out_.found += (out_.found.empty() ? "" : ", ") + text; }
  void note(ClaimOutcome outcome) {
    if (out_.outcome == ClaimOutcome::holds || outcome == ClaimOutcome::refuted) out_.outcome = outcome;
  }

  const Json& check_;
  std::string value_;
  Expectation& out_;
};

}  // namespace

namespace {

// A claim about a value or a facet that the study does not have could never be wrong.
void check_names(const Json& check, const std::string& pointer, const Comparison& comparison, std::vector<Problem>& problems) {
  std::set<std::string> values;
  bool facet_found = !check.contains("facet");
  for (const auto& facet : comparison.facets) {
    for (const auto& group : facet.groups) values.insert(group.value);
    facet_found = facet_found || in_facet(facet, check["facet"]);
  }
  const std::vector<std::string> known(values.begin(), values.end());
  const std::string value = value_meant(check, comparison);
  const std::string near = did_you_mean(value, known);
  if (!values.count(value))
    problems.push_back(
        {"", pointer + "/check/value",
         "no variant has " + comparison.by + " = " + value + (near.empty() ? "; values: " : near + " Values: ") + join(known)});
  const bool pair = check.contains("verdict") || check.contains("verdict_not");
  if (pair && value == comparison.reference)
    problems.push_back({"", pointer + "/check/value", value + " is the reference; it has no verdict against itself"});
  if (!facet_found) problems.push_back({"", pointer + "/check/facet", "no such facet: " + shortened(check["facet"])});
}

}  // namespace

std::vector<Expectation> check_expectations(const Json& expect, const Comparison& comparison, const std::string& source, bool complete) {
  std::vector<Problem> problems;
  for (std::size_t i = 0; i < expect.size(); ++i) validate(expect[i], "/expect/" + std::to_string(i), problems);
  for (std::size_t i = 0; complete && problems.empty() && i < expect.size(); ++i) {
    check_names(expect[i]["check"], "/expect/" + std::to_string(i), comparison, problems);
  }
  if (!problems.empty()) throw ConfigError(source, std::move(problems));
  std::vector<Expectation> out;
  for (const auto& item : expect) {
    Expectation expectation;
    expectation.claim = item["claim"].get<std::string>();
    expectation.source = item.value("source", "");
    Judge judge(item["check"], comparison, expectation);
    bool any = false;
    for (const auto& facet : comparison.facets) {
      if (item["check"].contains("facet") && !in_facet(facet, item["check"]["facet"])) continue;
      any = true;
      judge.facet(facet);
    }
    const std::string value = value_meant(item["check"], comparison);
    const bool has_value = any_group(comparison, [&](const GroupResult& group) { return group.value == value; });
    if (!any || !has_value) {
      expectation.outcome = ClaimOutcome::not_shown;
      expectation.is_asked = false;
      expectation.found = any ? "no variant has " + comparison.by + " = " + text_or_json(item["check"]["value"])
                              : "no variant has " + dump_json(item["check"]["facet"]);
    }
    out.push_back(std::move(expectation));
  }
  return out;
}

Json claims_of(const std::vector<std::string>& texts) {
  const auto verdicts = claimed_verdicts();
  Json out = Json::array();
  for (const auto& text : texts) {
    for (const auto& [between, key] : {std::pair(" is not ", "verdict_not"), std::pair(" is ", "verdict")}) {
      const auto at = text.rfind(between);
      if (at == std::string::npos) continue;
      const auto verdict = text.substr(at + std::strlen(between));
      if (std::find(verdicts.begin(), verdicts.end(), verdict) == verdicts.end()) continue;
      out.push_back({{"claim", text}, {"check", {{"value", text.substr(0, at)}, {key, verdict}}}});
      break;
    }
    if (out.empty() || out.back()["claim"] != text)
      throw UsageError("--claim " + text + ": no claim",
                       "'VARIANT is VERDICT' or 'VARIANT is not VERDICT', such as 'gelu is better'; verdicts: " + join(verdicts));
  }
  return out;
}

std::vector<Expectation> check_claims(const Json& expect, const std::optional<JsonValue>& frozen, const Comparison& comparison,
                                      const std::string& source) {
  auto out = check_expectations(expect, comparison, source);
  for (std::size_t i = 0; frozen && i < out.size(); ++i) {
    const auto is_frozen = [&](const Json& before) {
      return before["claim"] == expect[i]["claim"] && before["check"] == expect[i]["check"] && !before.contains("after_results");
    };
    out[i].is_after_results = std::none_of((*frozen)->begin(), (*frozen)->end(), is_frozen);
  }
  return out;
}

std::string outcome_of(const Expectation& e) {
  if (!e.is_asked) return "not asked here";
  return e.outcome == ClaimOutcome::holds ? "holds" : e.outcome == ClaimOutcome::refuted ? "refuted" : "not shown";
}

}  // namespace ffn
