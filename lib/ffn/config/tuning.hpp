// Tuning: each variant is compared at its own best values, chosen on separate seeds.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ffn/base/json.hpp"

namespace ffn {

/// One tuned key.
struct TuningAxis {
  std::string key;  ///< dotted path
  std::vector<JsonValue> values;
};

/// "tune" of a study.
struct TuningConfig {
  std::vector<TuningAxis> axes;  ///< crossed
  std::size_t seeds = 0;         ///< that every grid point is trained with; per judging seed if `per_seed`
  std::string metric;            ///< "" until the study is read: tuning_metric() of what is judged
  bool per_seed = false;         ///< "retune": a choice for every judging seed instead of one for all

  std::size_t num_points() const;
  /// One value per axis; the last axis runs fastest.
  std::vector<JsonValue> point(std::size_t index) const;
};

/// Default metric of the choice: the compared metric. FLOPs and seconds to a target are replaced by its steps: those of one
/// variant cost the same, and seconds tell how busy the machine was.
std::string tuning_metric(const std::string& judged);

/// Tuning seeds begin here, and judging seeds end here.
constexpr std::int64_t kFirstTuningSeed = 1'000'000;
/// Tuning runs are a study of their own, in this directory inside the study's.
inline constexpr const char* kTuningDirectory = "tuning";

/// Tuning seeds of one judging seed, or of all of them; `seed` is ignored if there is one choice for all.
std::vector<std::int64_t> tuning_seeds(const TuningConfig& tune, std::int64_t seed);

/// Nothing for an empty object. What is wrong is told with its JSON pointer; values that no config takes are not found here.
using TellProblem = std::function<void(const std::string& pointer, const std::string& message)>;
std::optional<TuningConfig> read_tuning(const Json& tune, const TellProblem& problem);

enum class GridEnd { low, high };

/// How often a grid may grow before it is said that a choice stands at its end.
constexpr int kMostGridGrowth = 2;

/// Two more values beyond that end of an axis of numbers, in the ratio of the two outermost values, or in their difference where not
/// all are positive; of integers again integers. False, and nothing is changed, where there is no going on.
bool extend(TuningAxis& axis, GridEnd end);

/// Result of tuning for one variant.
struct TunedVariant {
  std::string name;
  struct Point {
    std::vector<JsonValue> values;         ///< one per axis
    std::optional<double> score;           ///< mean of the metric over tuning seeds, of runs that have it
    std::optional<double> judged;          ///< mean of what the choice is made by
    std::optional<double> standard_error;  ///< of `judged`; none of a single run
    std::size_t measured = 0;              ///< runs that have the metric
    std::size_t bad = 0;                   ///< runs that diverged or failed
    std::size_t chosen = 0;                ///< judging seeds that are trained with it; all of them if there is one choice
  };
  std::vector<Point> curve;       ///< in the grid's order
  bool logarithms = false;        ///< of the metric are judged, not its values
  std::vector<std::string> edge;  ///< keys whose chosen value is the grid's lowest, or highest (per seed: for half of the seeds or more)
  std::vector<double> sensitivity = {};  ///< stats::sensitivity(), one per tuning seed; empty where it is not known
};

struct TuningResult {
  std::string study;  ///< in which the tuning runs are
  std::string metric;
  bool per_seed = false;
  std::size_t seeds = 0;  ///< as in TuningConfig
  std::vector<std::string> keys;
  std::vector<TunedVariant> variants;
  bool by_ranks = false;  ///< the choices, of a metric that has no logarithms
};

Json to_json(const TuningResult& result);
/// Throws nlohmann's exceptions for other JSON.
TuningResult tuning_result(const Json& json);

}  // namespace ffn
