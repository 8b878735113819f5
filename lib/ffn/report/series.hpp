// Which variant is which series, and which variants stand together in a panel.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ffn/compare/compare.hpp"
#include "ffn/report/cells.hpp"
#include "ffn/report/curves.hpp"

namespace ffn::report {

/// The values of `by`, in the order of the comparison's groups: the same variant has the same colour, dashes and marker everywhere.
class SeriesList {
 public:
  explicit SeriesList(const Comparison& comparison);

  std::size_t index(const std::string& value) const;
  std::size_t size() const { return values_.size(); }
  const std::vector<std::string>& values() const { return values_; }
  const std::string& name(std::size_t index) const { return names_[index]; }

 private:
  std::vector<std::string> values_, names_;
  std::unordered_map<std::string, std::size_t> index_;
};

/// A facet, or a part of one whose variants are more than one panel shows.
struct PanelGroups {
  const Facet* facet;
  std::vector<const GroupResult*> groups;  ///< the reference in each
  std::string title;
};

constexpr std::size_t kMostInPanel = 8;
constexpr std::size_t kMostPanels = 24;

/// At most kMostPanels; `notes` says how many were left out.
std::vector<PanelGroups> panels_of(const Comparison& comparison, std::vector<std::string>& notes);

/// A group in pictures, as in tables: its centre, and the limits of its interval where they are known, within the range of
/// its metric.
struct Estimate {
  double centre, low, high;
};
std::optional<Estimate> estimate_of(const GroupResult& group, const ValueRange& range = {});

/// "0.31 [0.28, 0.35]". Of one column: where a number needs a power of ten, all have one, written as along an axis.
std::vector<std::string> estimate_texts(const std::vector<Estimate>& estimates);

/// "mean with its 95 % interval".
std::string estimate_name(const Comparison& comparison);

}  // namespace ffn::report
