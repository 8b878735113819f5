// Runs and results to write down, made by hand.
#pragma once

#include "ffn/train/run_result.hpp"

inline ffn::RunConfig small_run(std::int64_t seed = 0) {
  ffn::RunConfig config;
  config.name = "small";
  config.seed = seed;
  config.train.steps = 400;
  config.train.target = ffn::TargetConfig{"val/accuracy", 0.9, {}};
  return config;
}

inline ffn::Evaluation evaluation(std::int64_t step, double loss, double accuracy) {
  return {step, 0.25 * static_cast<double>(step), 64 * step, {{"val/loss", loss}, {"val/accuracy", accuracy}}};
}

inline std::vector<ffn::TensorData> some_weights() { return {{"head.weight", ffn::DType::f32, {1, 2}, std::string(8, '\x3f')}}; }
