// A search over layers, from a document of its own: {"name": …, "search": {…}}.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ffn/base/field_visitor.hpp"
#include "ffn/base/json.hpp"
#include "ffn/base/json_document.hpp"
#include "ffn/formula/candidate.hpp"

namespace ffn {

struct SearchConfig {
  JsonValue tasks = JsonValue::array();   ///< configs, with changes behind the name, by which layers are proposed and judged
  JsonValue unseen = JsonValue::array();  ///< likewise, by which they are judged alone
  JsonValue start = JsonValue::array();   ///< layers; the first is the reference
  JsonValue layers = JsonValue::array();  ///< candidates in place of the grammar
  CandidateSpace space = {{"relu", "gelu", "silu", "tanh", "sigmoid", "abs", "sin"}};
  JsonValue functions = JsonValue::array();  ///< of the space, as written
  std::string match = "params";
  double match_tolerance = 0.05;
  JsonValue rates = JsonValue::array();  ///< factors of each task's own rate
  std::int64_t generation = 24, population = 32;
  std::int64_t race_seeds = 8;  ///< of the last round of a race
  JsonValue budget;             ///< of the races: "2h" of training, or FLOPs
  std::int64_t keep = 4;        ///< layers that are judged
  std::int64_t judge_seeds = 12, first_judge_seed = 0;
  double alpha = 0.05;
  JsonValue sizes;        ///< multiples of d_model
  std::int64_t seed = 0;  ///< of the mutations
  void describe(FieldVisitor& v);

  std::optional<double> budget_seconds() const;
  double budget_flops() const;  ///< infinite where the budget is a time
};

inline constexpr const char* kSearchDoc =
    "a search over layers, in a document with \"name\" and \"question\" alone: races propose, fresh seeds and unseen tasks judge";

struct LayerSearch {
  std::string name, question;
  SearchConfig config;
};

/// Whether the document describes a search.
bool is_search(const Document& document);

/// Throws ConfigError with all problems but those of the task's own configs.
LayerSearch read_search(const Document& document, const std::string& source);

/// Seeds of races begin here: above those that judge, below those that tune.
constexpr std::int64_t kFirstRaceSeed = 500'000;

}  // namespace ffn
