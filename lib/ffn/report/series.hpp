// Which variant is which series, and which variants stand together in a panel.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ffn/compare/compare.hpp"
#include "ffn/report/curves.hpp"
#include "ffn/report/cells.hpp"

namespace ffn::pictures {

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

/// Leaves that many of them, and a note of it that ends with where all are.
template <class Panel>
void keep_most_panels(std::vector<Panel>& panels, std::vector<std::string>& notes, const std::string& where_all = "the table has all") {
  if (panels.size() <= kMostPanels) return;
  notes.push_back("the first " + std::to_string(kMostPanels) + " of " + std::to_string(panels.size()) + " panels are drawn; " + where_all);
  panels.erase(panels.begin() + static_cast<std::ptrdiff_t>(kMostPanels), panels.end());
}

/// At most kMostPanels; `notes` says how many were left out.
std::vector<PanelGroups> panels_of(const Comparison& comparison, std::vector<std::string>& notes);

/// The value as a number, if all of it is one.
std::optional<double> as_number(const std::string& text);
/// The columns that say which group a row of numbers is of.
std::vector<std::string> group_headers(const Comparison& comparison);
std::vector<std::string> group_cells(const Comparison& comparison, const Facet& facet, const GroupResult& group);

/// What stands for a group in pictures, as in tables: its centre, and the limits of its interval where they are known, within the range of
/// its metric.
struct Estimate {
  double centre, low, high;
};
std::optional<Estimate> estimate_of(const GroupResult& group, const ValueRange& range = {});

/// "0.31 [0.28, 0.35]".
std::string estimate_text(double centre, double low, double high);
/// Of one column: where a number needs a power of ten, all have one, written as along an axis.
std::vector<std::string> estimate_texts(const std::vector<Estimate>& estimates);

/// "mean with its 95 % interval".
std::string estimate_name(const Comparison& comparison);

}  // namespace ffn::pictures
