// Evidence in seeds of a table or of images, over runs that were never trained.
#include <nlohmann/json.hpp>

#include "ffn/base/error.hpp"
#include "ffn/compare/compare.hpp"
#include "ffn/report/answer.hpp"
#include "ffn/report/export.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

std::vector<FoundRun> runs_of(const std::map<std::string, std::string>& task, double better, std::size_t seeds = 40) {
  std::vector<FoundRun> runs;
  for (const auto& [ffn, shift] : {std::pair("none", 0.0), std::pair("positionwise", better)}) {
    for (std::size_t seed = 0; seed < seeds; ++seed) {
      FoundRun run;
      run.variant = std::string("kind=") + ffn;
      run.path = "study/" + run.variant + "/seed-" + std::to_string(seed);
      run.seed = static_cast<std::int64_t>(seed);
      run.keys = task;
      run.keys["model.ffn.kind"] = ffn;
      run.state = RunState::done;
      RunSummary summary;
      MetricSummary measured{};
      measured.name = "val/accuracy";
      // By chance the two differ by 0.05 from seed to seed.
      measured.final_value = 0.5 + shift + 0.05 * static_cast<double>((7 * seed) % 3) * (shift > 0 ? 1 : -1);
      summary.metrics.push_back(measured);
      run.summary = summary;
      run.budget_steps = 100;
      runs.push_back(run);
    }
  }
  return runs;
}

const std::map<std::string, std::string> kSplits{
    {"task.kind", "table"}, {"task.file", "/data/mine.csv"}, {"task.split", "per_seed"}, {"task.validation_fraction", "null"}};

std::map<std::string, std::string> with(std::map<std::string, std::string> task, const std::string& key, const std::string& value) {
  task[key] = value;
  return task;
}

CompareRequest request() {
  CompareRequest out;
  out.config.by = "model.ffn.kind";
  out.config.metric = "val/accuracy";
  out.resamples = 10;
  return out;
}

}  // namespace

TEST_CASE("a small difference in forty splits of the same rows is not sure, and no more seeds are advised") {
  const auto c = compare_runs(runs_of(kSplits, 0.001), request());
  const auto& pair = c.facets[0].pairs[0];
  CHECK(pair.paired.options.held_out_per_training == 0.25);
  CHECK(pair.paired.wins > 25);
  CHECK(pair.judgement.verdict == stats::Verdict::better);
  auto small = runs_of(kSplits, 0.001);
  for (auto& run : small) {
    if (run.keys["model.ffn.kind"] == "positionwise") run.summary->metrics[0].final_value -= 0.05;
  }
  const auto open = compare_runs(small, request());
  CHECK(open.facets[0].pairs[0].judgement.verdict == stats::Verdict::undecided);
  CHECK(plain_answer(open).find("more rows would tell, more seeds hardly") != std::string::npos);
}

TEST_CASE("a verdict on splits says in every format that it is of rows like these") {
  const auto c = compare_runs(runs_of(kSplits, 0.4), request());
  CHECK(c.scope == "of rows like these");
  CHECK(plain_answer(c).find("Sure of rows like these: positionwise is better than ") != std::string::npos);
  const auto json = answered_json(c);
  const auto& pair = json.at("facets")[0].at("pairs")[0];
  CHECK(json.at("scope") == "of rows like these");
  CHECK(pair.at("test") == "corrected_t");
  CHECK(pair.at("held_out_per_training") == 0.25);
  CHECK(json.at("notes").dump().find("the test adds 0.25") != std::string::npos);
}

TEST_CASE("the rows that a split holds out enter the test, and the largest share counts") {
  const auto ratio = [](const std::vector<FoundRun>& runs) {
    return compare_runs(runs, request()).facets[0].pairs[0].paired.options.held_out_per_training;
  };
  CHECK(ratio(runs_of(with(kSplits, "task.validation_fraction", "0.5"), 0.4)) == 1);
  CHECK(ratio(runs_of(with(kSplits, "task.split", "fixed"), 0.4)) == 0);
}

TEST_CASE("seeds that share a test set are sure of this test set") {
  for (const auto& task : {with(kSplits, "task.split", "fixed"), with(kSplits, "task.split", "part"),
                           std::map<std::string, std::string>{{"task.kind", "images"}, {"task.directory", "/data/mnist"}}}) {
    const auto c = compare_runs(runs_of(task, 0.4), request());
    CHECK(plain_answer(c).find("Sure of this test set: ") != std::string::npos);
    CHECK(answered_json(c).at("facets")[0].at("pairs")[0].at("test") == "sign_flip_of_mean");
  }
}

TEST_CASE("splits of the same rows are not judged sequentially, nor by ranks") {
  auto sequential = request();
  sequential.sequential = SequentialRequest{{100}, 1};
  const auto c = compare_runs(runs_of(kSplits, 0.4), sequential);
  CHECK(!c.sequential);
  CHECK(c.facets[0].pairs[0].paired.test == stats::PairedTest::corrected_t);
  auto ranks = request();
  ranks.config.scale = "ranks";
  CHECK_THROWS_WITH(compare_runs(runs_of(kSplits, 0.4), ranks), ContainsSubstring("the test of such splits is of the mean"));
}
