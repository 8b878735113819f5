// Problems of a study's variants: each reported once, at its place in the study file. Internal to ffn/config.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ffn/config/expansion.hpp"

namespace ffn::config_detail {

/// Problems of variants, each reported once.
class SharedProblems {
 public:
  void add(Problem problem, const std::string& variant);
  /// Each names its variants, unless all have it.
  void move_to(std::vector<Problem>& all, std::size_t num_variants);

 private:
  std::vector<Problem> problems_;
  std::map<std::string, std::vector<std::string>> variants_;
};

/// Moves a problem of a variant to its place in the file: the value that the sweep, or the tuning, sets. Unchanged where the base or the
/// command line says it.
Problem where_written(Problem problem, const Combination& combination, const Document& study);

/// Refuses a label that would name several variants.
void refuse_shared_labels(const SweepConfig& sweep, const std::string& base_label, std::size_t num_variants, Expansion& expansion);

/// Refuses a label of a variant's formula that is the name of another one: the two would be one in every table.
void refuse_name_of_another(const RunConfig& config, const Combination& combination, const Expansion& expansion,
                            SharedProblems& of_variants, const std::string& variant);

}  // namespace ffn::config_detail
