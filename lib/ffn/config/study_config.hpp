// A study: variants × seeds, from one document. The document's other keys are the run that all variants start from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "ffn/config/ladder.hpp"
#include "ffn/config/run_config.hpp"
#include "ffn/config/sequential_seeds.hpp"
#include "ffn/config/tuning.hpp"

namespace ffn {

inline constexpr const char* kCompareScales[] = {"auto", "difference", "ratio", "ranks"};
inline constexpr const char* kComparePairs[] = {"reference", "best", "all"};

/// How the study's variants are compared at its end; `ffn-train compare` takes the same as options.
struct CompareConfig {
  std::string by;         ///< dotted key; "" takes the first key that varies
  std::string metric;     ///< "" takes steps_to_target where there is a target, else val/loss
  std::string reference;  ///< value of `by`, as text; "" takes the first
  std::string over;       ///< dotted key whose values are a sample, such as texts: no facets, but crossed with the seeds
  double alpha = 0.05;
  double min_effect = 0.0;
  std::string scale = "auto";       ///< one of kCompareScales
  std::string pairs = "reference";  ///< one of kComparePairs
  bool interaction = false;
  void describe(FieldVisitor& v);
};

struct SweepConfig {
  JsonValue grid = JsonValue::object();    ///< key → values; crossed
  JsonValue zip = JsonValue::array();      ///< objects whose keys move together; each is one axis, crossed with the others
  JsonValue include = JsonValue::array();  ///< further variants: the base with these values
  JsonValue exclude = JsonValue::array();  ///< combinations to leave out
  void describe(FieldVisitor& v);
};

struct StudyConfig {
  JsonValue seeds = JsonValue::number(1);  ///< a count, a list of seeds, or {"until": "settled", …}
  SweepConfig sweep;
  std::optional<LadderConfig> ladder;
  JsonValue tune = JsonValue::object();  ///< keys that are tuned → values to try, and how; see tuning.hpp
  CompareConfig compare;
  std::string question;                   ///< what the study is to answer
  std::string source;                     ///< where the question comes from
  JsonValue expect = JsonValue::array();  ///< claims that are checked at the end
  void describe(FieldVisitor& v);
};

/// One value of one key of a variant.
struct Assignment {
  std::string key;  ///< dotted path
  JsonValue value;
  std::string pointer = {};  ///< where it was written, in the study's document
};

struct Variant {
  std::string name;                     ///< path-safe: "activation=relu+expansion=4"; "base" without a sweep
  std::vector<Assignment> assignments;  ///< what differs from the base, in the order of the axes
  RunConfig config;                     ///< with seed 0
  std::size_t rung = 0;                 ///< index of its size on the study's ladder
  std::string size = {};                ///< "d_model=48" on a ladder
  double rate_factor = 1;               ///< what a rate of the ladder's smallest size is multiplied by here
  std::vector<RunConfig> of_seed = {};  ///< one per seed of the study where each was tuned for itself; else empty

  /// Name for people.
  std::string shown() const { return config.label.empty() ? name : config.label + (size.empty() ? "" : ", " + size); }
};

struct Study {
  std::string name;
  StudyConfig config;
  std::vector<std::int64_t> seeds;
  std::vector<Variant> variants;
  JsonValue document;                      ///< as read, overrides applied
  std::shared_ptr<const Document> common;  ///< what each variant is laid over: the document without what makes it a study
  std::optional<TuningConfig> tune;
  std::optional<TuningResult> tuned;                ///< once the choices are made
  std::optional<SequentialSeeds> sequential_seeds;  ///< adds seeds until decided; `seeds` are then those it starts with
  std::optional<SequentialRecord> sequential;       ///< of a sequential design: what its interim analyses rest on
};

/// Every key that a config file may have, at its default: for the schema and the reference.
void describe_document(FieldVisitor& v);

/// True if the document describes more than one run (it has "seeds", "sweep", "ladder" or "tune"), or runs of a program, of which one is a
/// study, too.
bool is_study(const Document& document);

/// Reads a study and every one of its runs. Throws ConfigError with all problems of all variants, each named.
Study read_study(const Document& document, const std::string& source);

/// Most runs of a study. Each planned run takes some kilobytes and tens of microseconds before anything trains: these take seconds.
constexpr std::size_t kMaxRuns = 100'000;

/// The compared metric: compare.metric, or its default.
std::string judged_metric(const Study& study);

/// The document that all variants of a study share.
std::shared_ptr<const Document> common_of(Document document);

/// The study's run with these values in place, its seed 0. Asks for its name and `common` alone. Throws ConfigError.
RunConfig config_with(const Study& study, const std::vector<Assignment>& assignments);

/// Every how many variants one is tuned, whose choice the next ones take: all sizes of a ladder that is tuned at the smallest; otherwise 1.
std::size_t tuning_stride(const Study& study);

/// The study that tunes this one: every tuned variant at every grid point, with the tuning seeds of the study's seeds. Variants of a grid
/// point stand side by side: index variant × num_points + point.
Study tuning_study(const Study& study);

/// A variant's run at a point of the study's grid, its seed 0. Throws ConfigError.
RunConfig config_at(const Study& study, const Variant& variant, std::size_t point);

/// The study with its choices in place: choices[tuned variant] has one index of a grid point, or one per seed.
Study with_choices(const Study& study, const std::vector<std::vector<std::size_t>>& choices);

/// Command-line form of a sweep: moves each `key=a,b,c` into the document's grid and returns the other assignments.
/// A single value for a key that the file sweeps replaces its axis.
void apply_overrides(Document& document, const std::vector<std::string>& overrides);

/// The values of an axis: a list, {"logspace": [low, high, n]}, {"range": [start, stop, step]} (half-open).
/// Throws std::invalid_argument with the reason.
std::vector<Json> axis_values(const Json& axis);

/// Sweeps print their values: 0.003 rather than 0.0030000000000000005.
double rounded_number(double x, int digits = 12);

}  // namespace ffn
