// Studies from their first start to their last: trained, tuned, grown by interim analyses, started again.
#include <cmath>
#include <filesystem>
#include <sstream>
#include <stdexcept>

#include "ffn/base/error.hpp"
#include "ffn/compare/tuning.hpp"
#include "ffn/store/log.hpp"
#include "ffn/study/tuning.hpp"
#include "study/pretending.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

constexpr const char* kTwo = R"({"name": "s", "seeds": 6, "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}}})";

std::string activation_of(const RunConfig& config) { return std::get<PositionwiseConfig>(config.model.ffn).activation; }
double rate_of(const RunConfig& config) { return std::get<AdamWConfig>(config.train.optimizer).lr; }
double noise_of(const RunConfig& config) { return 0.01 * static_cast<double>(config.seed * 7 % 5); }

// Best at 0.01 with ReLU, at 0.1 with GELU.
double bowl(const RunConfig& config) {
  return 1 + noise_of(config) + std::abs(std::log(rate_of(config) / (activation_of(config) == "relu" ? 0.01 : 0.1)));
}

std::string tuned(const std::string& rates) {
  return R"({"name": "s", "seeds": 6, "tune": {"train.optimizer.lr": )" + rates +
         R"(, "seeds": 3, "metric": "val/loss"}, "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}}})";
}

std::string sequential(const std::string& more) {
  return R"({"name": "s", "seeds": {"until": "settled", "max": 24}, "compare": {"metric": "val/loss")" + more +
         R"(}, "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}}})";
}

/// Errors of runs that are meant to fail stay off the terminal.
struct Silence {
  std::ostringstream said;
  Silence() { set_up_log({0, false, &said, {}}); }
  ~Silence() { set_up_log({}); }
};

}  // namespace

TEST_CASE("a study that is started again trains nothing, and a run that failed again") {
  const ScratchDirectory scratch;
  const Silence silence;
  bool fails = true;
  Pretending engine([&](const RunConfig& config) {
    if (fails && config.seed == 4) throw std::runtime_error("no luck");
    return 1.0;
  });
  const auto request = request_of(scratch, engine);
  const auto first = train(kTwo, request);
  CHECK(first.outcome.trained + first.outcome.failed.size() == 12);
  CHECK(first.outcome.failed.count(8) == 1);  // runs are seed-major
  CHECK(first.outcome.failed.count(9) == 1);
  fails = false;
  const auto second = train(kTwo, request);
  CHECK(second.outcome.failed.empty());
  CHECK(second.outcome.reused == first.outcome.trained);
  CHECK(second.outcome.trained == first.outcome.failed.size());
  CHECK(train(kTwo, request).outcome.reused == 12);
}

TEST_CASE("diverged runs are finished, and counted") {
  const ScratchDirectory scratch;
  const Silence silence;
  Pretending engine([](const RunConfig& config) { return config.seed == 1 ? NAN : 1.0; });
  const auto outcome = train(kTwo, request_of(scratch, engine)).outcome;
  CHECK(outcome.trained == 12);
  CHECK(outcome.diverged == 2);
}

TEST_CASE("a shard trains its part, and the last one finds the study finished") {
  const ScratchDirectory scratch;
  Pretending engine([](const RunConfig&) { return 1.0; });
  auto request = request_of(scratch, engine);
  request.shard = {1, 2};
  CHECK(train(kTwo, request).outcome.trained == 6);
  request.shard = {2, 2};
  CHECK(train(kTwo, request).outcome.trained == 6);
  request.shard = {};
  CHECK(train(kTwo, request).outcome.reused == 12);
  request.shard = {1, 2};
  CHECK(message_of<UsageError>([&] { train(tuned("[0.001, 0.01]"), request); }).find("--shard") == 0);
  CHECK(message_of<UsageError>([&] { train(sequential(""), request); }).find("--shard") == 0);
}

TEST_CASE("each variant is judged at its own best point of the grid, on seeds that did not choose it") {
  const ScratchDirectory scratch;
  Pretending engine(bowl);
  const auto trained = train(tuned("[0.001, 0.01, 0.1, 1]"), request_of(scratch, engine));
  REQUIRE(trained.is_tuned);
  REQUIRE(trained.plan.runs.size() == 12);
  for (const auto& run : trained.plan.runs) {
    CHECK(rate_of(run.config) == (activation_of(run.config) == "relu" ? 0.01 : 0.1));
    CHECK(run.config.seed < 6);
  }
  const Study study = study_of(tuned("[0.001, 0.01, 0.1, 1]"));
  for (const auto& run : tuning_plan(study, scratch.path()).runs) CHECK(run.config.seed >= kFirstTuningSeed);
  CHECK(tuning_progress(study, scratch.path()).study.tune->axes[0].values.size() == 4);
}

TEST_CASE("no point is chosen where a tuning run is not there") {
  const ScratchDirectory scratch;
  Pretending engine(bowl);
  const Study study = study_of(tuned("[0.001, 0.01]"));
  train(tuned("[0.001, 0.01]"), request_of(scratch, engine));
  std::vector<std::filesystem::path> runs;
  for (const auto& run : tuning_plan(study, scratch.path()).runs) runs.push_back(run.directory);
  CHECK(choose_points(study, runs).of.size() == 2);
  std::filesystem::remove_all(runs[0]);
  CHECK(message_of<DataError>([&] { choose_points(study, runs); }).find("is not there any more; nothing was chosen") != std::string::npos);
}

TEST_CASE("a grid grows for all variants beyond the end at which one choice stands, at most twice") {
  const ScratchDirectory scratch;
  Pretending near([](const RunConfig& config) { return bowl(config); });
  const Study study = study_of(tuned("[0.001, 0.003, 0.01, 0.03]"));
  StudyObserver observer;
  const auto request = request_of(scratch, near);
  const auto once = tune_study(study, request, observer);
  REQUIRE(once.study);
  CHECK(once.study->tune->axes[0].values.size() == 6);
  const ScratchDirectory other;
  Pretending far([](const RunConfig& config) { return 1 / rate_of(config); });
  const auto twice = tune_study(study, request_of(other, far), observer);
  REQUIRE(twice.study);
  CHECK(twice.study->tune->axes[0].values.size() == 8);
}

TEST_CASE("a tuning of which nothing has ended stands at the grid's first point") {
  const ScratchDirectory scratch;
  const auto progress = tuning_progress(study_of(tuned("[0.003, 0.01]")), scratch.path());
  CHECK(progress.plan.runs.size() == 12);  // 2 variants, 2 points, 3 seeds
  for (const auto& variant : progress.chosen.variants) CHECK(rate_of(variant.config) == 0.003);
}

TEST_CASE("a study whose tuning failed is not judged") {
  const ScratchDirectory scratch;
  const Silence silence;
  Pretending engine([](const RunConfig& config) -> double {
    if (config.seed >= kFirstTuningSeed) throw std::runtime_error("no luck");
    return 1.0;
  });
  const auto trained = train(tuned("[0.003, 0.01]"), request_of(scratch, engine));
  CHECK_FALSE(trained.is_tuned);
  CHECK(trained.outcome.trained == 0);
  CHECK_FALSE(trained.outcome.failed.empty());
}

TEST_CASE("a sequential design ends with the interim analysis that decides it, and undecided at its maximum") {
  struct Counting final : StudyObserver {
    std::vector<std::size_t> analyses;
    void interim_analysis(const Comparison&, std::size_t seeds) override { analyses.push_back(seeds); }
  };
  const auto analyses_of = [](double difference, std::size_t runs) {
    const ScratchDirectory scratch;
    Pretending engine([=](const RunConfig& config) {
      const bool odd = (config.seed * 5 + (activation_of(config) == "relu" ? 3 : 0)) % 7 % 2 == 1;
      return 1 + noise_of(config) + (odd ? 0.02 : 0) + (activation_of(config) == "relu" ? difference : 0);
    });
    Counting observer;
    const auto trained = train_study(study_of(sequential("")), request_of(scratch, engine), observer);
    CHECK(trained.outcome.trained == runs);
    CHECK(trained.plan.study.sequential->sample_sizes == observer.analyses);
    return observer.analyses;
  };
  CHECK(analyses_of(1, 16) == std::vector<std::size_t>{8});
  CHECK(analyses_of(0, 48) == std::vector<std::size_t>{8, 12, 16, 24});
}
