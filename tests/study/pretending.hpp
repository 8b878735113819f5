// Whole studies in milliseconds: an engine whose losses are a formula of the config, and the requests that train with it.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "ffn/study/train_study.hpp"
#include "store/runs.hpp"
#include "store/scratch.hpp"
#include "study/studies.hpp"

/// Ends each run at once with `loss` of its config; NaN diverges. A loss that throws fails the run.
class Pretending final : public ffn::Engine {
 public:
  explicit Pretending(std::function<double(const ffn::RunConfig&)> loss) : loss_(std::move(loss)) {}
  ffn::EngineInfo info(const ffn::RunConfig&) override { return {"cpu", "cpu"}; }
  void prepare(const ffn::RunConfig&) override {}
  void set_worker(std::size_t) override {}
  void set_threads(ffn::ThreadCount) override {}
  void train(const ffn::Cohort& cohort, ffn::TrainObserver& observer) override {
    for (std::size_t i = 0; i < cohort.runs.size(); ++i) {
      const auto steps = cohort.runs[i].train.steps;
      const double loss = loss_(cohort.runs[i]);
      observer.evaluated(i, evaluation(steps, loss, 1 / (1 + loss)));
      ffn::RunResult result;
      result.end = loss == loss ? ffn::RunEnd::done : ffn::RunEnd::diverged;
      result.steps = steps;
      result.weights = some_weights();
      result.computed_by = {"cpu"};
      observer.finished(i, result);
    }
  }

 private:
  std::function<double(const ffn::RunConfig&)> loss_;
};

inline ffn::StudyRequest request_of(const ScratchDirectory& scratch, Pretending& engine) {
  ffn::StudyRequest request;
  request.out = scratch.path();
  request.argv = {"ffn-train", "study.json"};
  request.jobs = 2;
  request.prepare = [](const ffn::RunConfig&) {};
  request.engine = [&engine]() -> ffn::Engine& { return engine; };
  return request;
}

inline ffn::TrainedStudy train(const std::string& json, const ffn::StudyRequest& request) {
  ffn::StudyObserver observer;
  return ffn::train_study(study_of(json), request, observer);
}
