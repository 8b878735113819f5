// Problems of a study's variants: each reported once, at its place in the study file.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ffn/config/expansion.hpp"
#include "ffn/config/study_config.hpp"

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

/// Refuses the first variant that is given both widths, of which the later would win.
void refuse_both_widths(const std::vector<Combination>& combinations, const std::vector<TuningAxis>& tuned, Expansion& expansion);

/// Refuses a parameter that no activation of the study has. Each variant passes over older names, which may be another variant's.
void refuse_unknown_parameters(const Study& study, const std::vector<Combination>& combinations, Expansion& expansion);

/// Refuses a key from the command line that no variant's kind has.
void refuse_keys_of_no_variant(const Study& study, const Document& base, const std::set<std::string>& swept, Expansion& expansion);

/// Refuses to vary or tune what changes no result.
void refuse_what_changes_no_result(const Study& study, const std::set<std::string>& swept, Expansion& expansion);

}  // namespace ffn::config_detail
