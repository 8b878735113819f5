// Expands a sweep into its variants.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ffn/config/study_config.hpp"

namespace ffn::config_detail {

/// An assignment and the JSON pointer at which the study writes it.
struct Entry {
  std::string key;
  Json value;
  std::string pointer;
};
/// The assignments of one variant.
using Combination = std::vector<Entry>;

/// Collects problems instead of throwing: a study is told all that is wrong with it.
class Expansion {
 public:
  explicit Expansion(const Document& study) : document(study) {}

  /// One combination per variant, without those that are excluded.
  std::vector<Combination> combinations(const SweepConfig& sweep);
  /// The directories' names. Different variants whose names are equal (a/b.txt and a_b.txt) get a hash of their values behind them.
  std::vector<std::string> variant_names(const std::vector<Combination>& all, const std::set<std::string>& keys);
  void problem(const std::string& pointer, const std::string& message);

  const Document& document;
  std::vector<Problem> problems;

 private:
  // Each axis is a list of combinations: one assignment for a grid key, several for a zip.
  std::vector<std::vector<Combination>> axes(const SweepConfig& sweep);
  std::vector<Combination> zipped(const std::string& pointer, const Json& object, std::set<std::string>& taken);
  std::vector<Entry> entries(const std::string& key, const Json& axis, const std::string& parent);
  void exclude(const SweepConfig& sweep, std::vector<Combination>& all);
  void include(const SweepConfig& sweep, std::vector<Combination>& all);
};

/// A variant at a size of the ladder, or at the only one.
struct SizedCombination {
  Combination combination;
  std::string name;
  std::size_t rung;
  std::string size;    ///< "d_model=48"; empty without a ladder
  double rate_factor;  ///< what a rate of the smallest size is multiplied by
};

/// A variant's config; nothing where it has problems, which are then known.
using ReadCombination = std::function<std::optional<RunConfig>(const Combination&)>;

/// The swept combinations at every size of the study's ladder, sizes running fastest. The rules count the parameters of the first
/// variant, so that all variants of a size train alike. `keys`: those that are swept. Nothing of a ladder with problems.
std::vector<SizedCombination> at_every_size(const Study& study, const std::vector<Combination>& swept, const std::set<std::string>& keys,
                                            const ReadCombination& read, Expansion& expansion);

/// Requests of the study that a ladder cannot have.
void check_ladder(const Study& study, Expansion& expansion);

/// "activation" of "model.ffn.activation".
std::string last_segment(const std::string& key);

/// The directory's name: "activation=relu+expansion=4", keys by their last segment where that is unique among `keys`; "base" for nothing.
std::string variant_name(const Combination& combination, const std::set<std::string>& keys);

}  // namespace ffn::config_detail
