// What is wrong with the variants of a study, said once and where the study writes it. Internal to ffn/config.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ffn/config/expansion.hpp"

namespace ffn::config_detail {

/// Problems of variants, each said once.
class SharedProblems {
 public:
  void add(Problem problem, const std::string& variant);
  /// Each says which variants have it, unless all do.
  void move_to(std::vector<Problem>& all, std::size_t num_variants);

 private:
  std::vector<Problem> problems_;
  std::map<std::string, std::vector<std::string>> variants_;
};

/// Where the file writes what is wrong with a variant: at the value that the sweep, or the tuning, gives it. As it is where the base or the
/// command line says it.
Problem where_written(Problem problem, const Combination& combination, const Document& study);

/// Refuses a label that would name several variants.
void refuse_shared_labels(const SweepConfig& sweep, const std::string& base_label, std::size_t num_variants, Expansion& expansion);

/// Refuses a label of a variant's formula that is the name of another one: the two would be one in every table.
void refuse_name_of_another(const RunConfig& config, const Combination& combination, const Expansion& expansion,
                            SharedProblems& of_variants, const std::string& variant);

}  // namespace ffn::config_detail
