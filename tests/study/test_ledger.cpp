// At which level a later study of an open question is judged.
#include "ffn/study/ledger.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

const std::vector<std::string> kKeys = {"a", "b"};

Sibling answered(const std::string& name, ShownAnswer::Outcome outcome, std::optional<FollowUp> follow_up = std::nullopt) {
  Sibling out{name, {}};
  ShownAnswer answer;
  answer.variants = kKeys;
  answer.outcome = outcome;
  out.history.answers = {answer};
  out.history.follow_up = std::move(follow_up);
  return out;
}

using Outcome = ShownAnswer::Outcome;

}  // namespace

TEST_CASE("a question that was left open is asked again at a tenth of alpha, then at a twentieth") {
  const auto first = next_follow_up(kKeys, {answered("x", Outcome::undecided)}, 0.05);
  CHECK(first.number == 1);
  CHECK(first.after == std::vector<std::string>{"x"});
  CHECK(first.alpha() == Approx(0.005));
  const auto second = next_follow_up(kKeys, {answered("x", Outcome::undecided), answered("y", Outcome::undecided, first)}, 0.05);
  CHECK(second.number == 2);
  CHECK(second.after == std::vector<std::string>{"x", "y"});
  CHECK(second.alpha() == Approx(0.0025));
}

TEST_CASE("what was decided, could not be decided or is about other variants is followed up by nothing") {
  CHECK(next_follow_up(kKeys, {answered("x", Outcome::decided)}, 0.05).after.empty());
  CHECK(next_follow_up(kKeys, {answered("x", Outcome::too_few_seeds)}, 0.05).after.empty());
  CHECK(next_follow_up({"a", "c"}, {answered("x", Outcome::undecided)}, 0.05).after.empty());
  FollowUp follow_up;
  follow_up.after = {"x"};
  CHECK(next_follow_up(kKeys, {answered("x", Outcome::undecided), answered("y", Outcome::decided, follow_up)}, 0.05).after.empty());
}
