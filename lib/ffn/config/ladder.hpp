// "ladder" of a study: every variant at several sizes, by one rule for batch, steps and rate.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ffn/base/field_visitor.hpp"
#include "ffn/base/json.hpp"
#include "ffn/base/json_document.hpp"
#include "ffn/config/model_config.hpp"

namespace ffn {

struct LadderConfig {
  std::string key = "model.d_model";
  JsonValue values = JsonValue::array();         ///< sizes, ascending
  JsonValue hold_out = JsonValue::array();       ///< larger sizes: no law is fitted to them before it has predicted them
  std::optional<double> tokens_per_param;        ///< training tokens for each parameter outside embeddings and head; not set: no rules
  JsonValue with = JsonValue::object();          ///< key → its value at each size, in place of a rule's
  std::string tuned_at = "each";                 ///< "each" size, or "smallest": the rate then follows the rule
  std::optional<double> floor;                   ///< E of the law; not set: fitted
  JsonValue tokens_per_s = JsonValue::object();  ///< compared value → tokens/s, measured elsewhere
  void describe(FieldVisitor& v);

  std::vector<JsonValue> all_sizes() const;
  std::size_t num_sizes() const;
  std::size_t num_held_out() const;
};

/// The variant "activation=gelu" of "activation=gelu+d_model=48".
std::string name_without_size(const std::string& variant, const std::string& key);

/// A learning rate, which follows the ladder's rule.
bool is_rate(const std::string& key);

/// N of the rules: the parameters that a token touches, without embeddings, positions and head. `context`: tokens.
double ladder_parameters(const ModelConfig& model, std::int64_t context);

/// Keys that the ladder of this document sets at each size.
std::vector<std::string> keys_of_ladder(const Json& document);

/// The ladder of a study's document as it was read; nothing without one. Throws DataError where it is damaged.
std::optional<LadderConfig> read_ladder(const Json& document, const std::string& source);

}  // namespace ffn
