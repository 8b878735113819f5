// Which runs a study has, where they go, and which train together.
#include <algorithm>
#include <filesystem>
#include <set>

#include "ffn/study/plan.hpp"
#include "store/scratch.hpp"
#include "study/studies.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

Plan two_widths(const std::filesystem::path& directory) {
  return make_plan(study_of(R"({"name": "s", "seeds": 8, "sweep": {"grid": {"model.d_model": [8, 16]}}})"), directory);
}

std::vector<std::size_t> all_of(const Plan& plan) {
  std::vector<std::size_t> out(plan.runs.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = i;
  return out;
}

}  // namespace

TEST_CASE("runs are planned seed by seed, each in a place that its identity names") {
  const ScratchDirectory scratch;
  const Plan plan = two_widths(scratch.path());
  REQUIRE(plan.runs.size() == 16);
  std::set<std::string> identities;
  for (std::size_t i = 0; i < plan.runs.size(); ++i) {
    const auto& run = plan.runs[i];
    CHECK(run.variant == i % 2);
    CHECK(run.config.seed == static_cast<std::int64_t>(i / 2));
    CHECK(run.config.model.d_model == (i % 2 == 0 ? 8 : 16));
    CHECK(identities.insert(run.identity).second);
    CHECK(run.directory ==
          scratch.path() / plan.study.variants[run.variant].name / ("seed-" + std::to_string(i / 2) + "." + run.identity.substr(0, 8)));
    CHECK(plan.identities()[i] == run.identity);
  }
}

TEST_CASE("a run that was trained under another label of its variant is found there") {
  const ScratchDirectory scratch;
  const auto run = two_widths(scratch.path()).runs[3];
  const auto elsewhere = scratch.path() / "earlier-label" / run.directory.filename();
  std::filesystem::create_directories(elsewhere);
  const Plan plan = two_widths(scratch.path());
  CHECK(plan.runs[3].directory == elsewhere);
  CHECK(plan.runs[1].directory.parent_path() == run.directory.parent_path());
}

TEST_CASE("a cohort has runs of one shape, and every pending run is in one") {
  const Plan plan = two_widths("runs");
  auto pending = all_of(plan);
  pending.erase(pending.begin());
  for (const std::size_t jobs : {1u, 3u, 16u}) {
    const auto cohorts = make_cohorts(plan, pending, jobs);
    CHECK(cohorts.size() >= std::min<std::size_t>(jobs, pending.size()));
    std::vector<std::size_t> seen;
    std::size_t last_first = 0;
    for (const auto& cohort : cohorts) {
      CHECK(cohort[0] >= last_first);
      last_first = cohort[0];
      for (const auto run : cohort) {
        CHECK(run % 2 == cohort[0] % 2);
        seen.push_back(run);
      }
    }
    std::sort(seen.begin(), seen.end());
    CHECK(seen == pending);
  }
}

TEST_CASE("a study that is stopped half-way has the first seeds of every variant") {
  const Plan plan = two_widths("runs");
  const auto cohorts = make_cohorts(plan, all_of(plan), 1);
  REQUIRE(cohorts.size() == 8);  // quarters of either width
  std::set<std::size_t> half;
  for (std::size_t c = 0; c < 4; ++c) half.insert(cohorts[c].begin(), cohorts[c].end());
  CHECK(half == std::set<std::size_t>{0, 1, 2, 3, 4, 5, 6, 7});
  for (const auto& cohort : make_cohorts(plan, all_of(plan), 1, 1)) CHECK(cohort.size() == 1);
}
