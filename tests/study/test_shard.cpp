// Which runs belong to which part of a study.
#include <set>

#include "ffn/base/error.hpp"
#include "ffn/study/shard.hpp"
#include "store/scratch.hpp"
#include "study/studies.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

TEST_CASE("shards of every count hold every run once, and whole seeds where there are enough") {
  const Plan plan =
      make_plan(study_of(R"({"name": "s", "seeds": 7, "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu", "silu"]}}})"), "runs");
  REQUIRE(plan.runs.size() == 21);
  for (std::size_t count = 1; count <= 30; ++count) {
    std::set<std::size_t> seen;
    std::size_t smallest = 21, largest = 0;
    for (std::size_t index = 1; index <= count; ++index) {
      const auto runs = runs_of(plan, {index, count});
      std::set<std::int64_t> seeds;
      for (const auto run : runs) {
        CHECK(seen.insert(run).second);
        seeds.insert(plan.runs[run].config.seed);
      }
      if (count <= 7) CHECK(runs.size() == 3 * seeds.size());
      smallest = std::min(smallest, runs.size());
      largest = std::max(largest, runs.size());
    }
    CHECK(seen.size() == 21);
    CHECK(largest - smallest <= (count <= 7 ? 3 : 1));
  }
}

TEST_CASE("more seeds later leave the shards of the earlier ones as they were") {
  const auto names = [](int seeds) {
    const Plan plan = make_plan(study_of(R"({"name": "s", "seeds": )" + std::to_string(seeds) + R"(})"), "runs");
    std::set<std::string> out;
    for (const auto run : runs_of(plan, {2, 3})) out.insert(plan.runs[run].directory.string());
    return out;
  };
  const auto few = names(5), more = names(11);
  CHECK(std::includes(more.begin(), more.end(), few.begin(), few.end()));
}

TEST_CASE("a shard is i/n with 1 ≤ i ≤ n") {
  CHECK(parse_shard("2/4").index == 2);
  CHECK(parse_shard("2/4").count == 4);
  CHECK(parse_shard("1/1").count == 1);
  for (const char* text :
       {"", "1", "/", "1/", "/1", "0/1", "2/1", "-1/2", "+1/2", " 1/2", "1/2 ", "1/2/3", "0x1/2", "1/99999999999999999999"}) {
    INFO(text);
    CHECK(message_of<UsageError>([&] { parse_shard(text); }).find("expected i/n") != std::string::npos);
  }
}
