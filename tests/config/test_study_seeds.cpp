// The seeds of a study: a count, a list, or a sequential design.
#include <chrono>

#include "config/helpers.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;
using namespace ffn::test;

TEST_CASE("seeds are replicates: they are listed, not swept") {
  CHECK(study_from("{}", {"seeds=3,4"}).seeds == std::vector<std::int64_t>{3, 4});
  CHECK(message<UsageError>([] { study_from("{}", {"seed=1,2"}); }) == "override 'seed=1,2' would make variants of a seed");
  CHECK(problems_in_study(R"({"sweep": {"grid": {"seed": [1, 2]}}})") ==
        "s.json:1  /sweep: \"seed\" cannot be swept: seeds are replicates, set \"seeds\"");
}

TEST_CASE("60 000 seeds are read in no time, and one that stands twice is found") {
  std::string seeds = "0";
  for (int i = 1; i < 60'000; ++i) seeds += "," + std::to_string(i);
  const auto start = std::chrono::steady_clock::now();
  CHECK(study_from("{\"seeds\": [" + seeds + "]}").seeds.size() == 60'000);
  CHECK(problems_in_study("{\"seeds\": [" + seeds + ", 777]}") == "s.json:1  /seeds: seed 777 is listed twice; seeds are replicates");
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
}

TEST_CASE("a study of more runs than can be planned is refused with the limit") {
  CHECK(problems_in_study(R"({"seeds": 50001, "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}}})") ==
        "s.json:1  /seeds: 2 variants and 50001 seeds are 100002 runs; a study has at most 100000");
  CHECK(problems_in_study(R"({"seeds": 100001})") == "s.json:1  /seeds: expected a count between 1 and 100000, got 100001");
  CHECK(study_from(R"({"seeds": 50000, "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}}})").seeds.size() == 50'000);
}

TEST_CASE("sequential designs start with the first interim analysis and have limits") {
  const std::string sweep = R"("sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}})";
  const auto study = study_from("{" + sweep + R"(, "seeds": {"until": "settled", "min": 12, "max": 200}})");
  REQUIRE(study.sequential_seeds.has_value());
  CHECK(study.sequential_seeds->min == 12);
  CHECK(study.sequential_seeds->max == 200);
  CHECK(study.seeds.size() == 8);
  CHECK(study.seeds.back() == 7);
  for (const char* seeds : {R"({"until": "settled"})", R"("auto")"}) {
    const auto defaults = study_from("{" + sweep + ", \"seeds\": " + seeds + "}");
    REQUIRE(defaults.sequential_seeds.has_value());
    CHECK(defaults.sequential_seeds->min == 8);
    CHECK(defaults.sequential_seeds->max == 100);
  }
  CHECK(study_from("{" + sweep + R"(, "seeds": {"until": "settled", "first": 500}})").seeds.back() == 507);
  CHECK(!study_from("{" + sweep + R"(, "seeds": 3})").sequential_seeds.has_value());
}

TEST_CASE("seeds=auto on the command line is a sequential design, and takes limits") {
  const std::string sweep = R"({"seeds": 3, "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}}})";
  const auto study = study_from(sweep, {"seeds=auto", "seeds.max=40"});
  REQUIRE(study.sequential_seeds.has_value());
  CHECK(study.sequential_seeds->max == 40);
}

TEST_CASE("what is wrong with a sequential design is said with its place") {
  const std::string sweep = R"("sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}})";
  const auto problems = [&](const std::string& seeds) { return problems_in_study("{" + sweep + ", \"seeds\": " + seeds + "}"); };
  CHECK(problems(R"({"until": "done"})") == R"(s.json:1  /seeds/until: unknown value "done"; known: settled)");
  CHECK(problems(R"({"max": 50})") ==
        R"(s.json:1  /seeds/until: missing; write {"until": "settled", "min": 8, "max": 100}, a count or a list of seeds)");
  CHECK(problems(R"({"until": "settled", "maxx": 50})") == R"(s.json:1  /seeds/maxx: unknown key "maxx"; did you mean "max"?)");
  CHECK(problems(R"({"until": "settled", "min": 4})") == "s.json:1  /seeds/min: 4 is out of range; expected between 8 and 100000");
  CHECK(problems(R"({"until": "settled", "max": 50.5})") == "s.json:1  /seeds/max: expected an integer, got 50.5");
  CHECK(problems(R"({"until": "settled", "first": -1})") ==
        "s.json:1  /seeds/first: -1 is out of range; expected between 0 and 9007199254740992");
  CHECK(problems(R"({"until": "settled", "min": 20, "max": 10})") == "s.json:1  /seeds/max: max (10) is below min (20)");
  CHECK(problems(R"({"until": "settled", "max": 50001})") ==
        "s.json:1  /seeds: 2 variants and 50001 seeds are 100002 runs; a study has at most 100000");
  CHECK(problems_in_study(R"({"seeds": "auto"})") ==
        "s.json:1  /seeds: one variant has nothing to decide; sweep a key, or give a number of seeds");
  CHECK(problems_in_study("{" + sweep +
                          R"(, "seeds": "auto", "compare": {"metric": "seconds_to_target"},
              "train": {"target": {"metric": "val/loss", "at_most": 0.1}}})") ==
        "s.json:1  /compare/metric: seconds have no verdict, so they never come to an end; compare steps_to_target, or give a number of "
        "seeds");
}
