// Keys that tell runs apart: the keys of their configs, those that vary, and those that make the groups of a comparison.
#pragma once

#include "ffn/compare/compare.hpp"

namespace ffn {

using Keys = std::map<std::string, std::string>;

/// The value of a key as text; "-" for a key that a run's kind does not have. "variant" is the name of its directory.
const std::string& value_of(const FoundRun& run, const std::string& key);

std::vector<std::string> varying_keys(const std::vector<FoundRun>& runs);

/// True if runs that agree in `given` agree in `key`.
bool determines(const std::vector<FoundRun>& runs, const std::string& given, const std::string& key);

/// The varying keys that make facets: those that `by` does not determine, and of keys that move together the one with the
/// most values, then one that all runs have, then the first in a variant's name. `first`, a ladder's key, goes before all others.
std::vector<std::string> facet_keys(const std::vector<FoundRun>& runs, std::vector<std::string> varying, const std::string& by,
                                    const std::string& first = {});

/// The key to compare by: the one asked for, or the first that varies and that all runs have. Throws UsageError for one that no run has.
std::string pick_by(const std::string& asked, const std::vector<FoundRun>& runs, const std::vector<std::string>& varying);

/// Numbers in order of size, unless `in_given_order`; words in the order in which they were found.
std::vector<std::string> ordered_values(const std::vector<FoundRun>& runs, const std::string& by, bool in_given_order = false);
/// "relu: 0.01, gelu and silu: 0.002" where several values of `key` share one of `other`.
std::string values_along(const std::vector<FoundRun>& runs, const std::string& key, const std::string& other);

/// Keys of what computed a run ("compute.…").
bool is_computing(const std::string& key);

/// A result counts whatever computed it: unless that is what is compared, it makes no other run.
std::vector<FoundRun> without_computing(std::vector<FoundRun> runs, const std::string& by);

/// A formula that has a name is its name: what it is made of makes no keys of their own, unless one name stands for several.
std::vector<FoundRun> with_formulas_by_name(std::vector<FoundRun> runs);

/// A run that was trained alone and again within a study, or copied, is one replicate; a note says how many there were.
std::vector<FoundRun> without_copies(std::vector<FoundRun> runs, const std::string& by, Comparison& comparison);

/// The most that any run has of TableConfig::held_out_per_training(); 0 where no table is split per seed.
double held_out_per_training(const std::vector<FoundRun>& runs);

/// Done, diverged or failed.
bool is_over(const FoundRun& run);

}  // namespace ffn
