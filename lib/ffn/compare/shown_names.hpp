// Names for people of the keys and values of a comparison.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ffn/compare/compare.hpp"

namespace ffn {

/// The last part of a dotted key; where others among these end with it, too, as many parts as tell it from them: "lr", "norm kind".
std::string short_name(const std::string& key, const std::vector<std::string>& among);

/// "kind=gated+activation=silu" → {kind, gated}, {activation, silu}; nothing for a name of another form.
std::vector<std::pair<std::string, std::string>> parts_of_variant(const std::string& name);

/// Fills key_names and value_names for `by` and the keys that make facets: a variant is called by its label, a formula by its name, a
/// file without its directory, and a section that is not there "no attention".
void name_keys_and_values(const std::vector<FoundRun>& runs, const std::vector<std::string>& facet_by, Comparison& comparison);

std::string shown_key(const Comparison& comparison, const std::string& key);
std::string shown_value(const Comparison& comparison, const std::string& key, const std::string& value);
/// A value of `by`.
std::string shown_value(const Comparison& comparison, const std::string& value);
/// "expansion 4"; a value that has a name of its own is called by that alone.
std::string key_and_value(const Comparison& comparison, const std::string& key, const std::string& value);
/// "expansion 4, no attention": what makes a facet, all of it or `without` one key.
std::string facet_title(const Comparison& comparison, const Facet& facet, const std::string& without = {});

}  // namespace ffn
