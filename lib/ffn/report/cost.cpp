// What quality costs: the metric against parameters, FLOPs and seconds.
#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "ffn/base/suggest.hpp"
#include "ffn/report/cells.hpp"
#include "ffn/report/charts.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/frame.hpp"
#include "ffn/report/series.hpp"

namespace ffn::pictures {

namespace {

struct Offer {
  std::size_t series;
  std::string name, label;  ///< "relu, expansion 4" and "4"; no label where colour and marker say it
  double cost;
  Estimate estimate;
  Rank rank;
};

enum class Dominance {
  none,    ///< nothing is cheaper or as cheap, and better
  unsure,  ///< something is, but the intervals overlap
  beaten
};

Dominance dominance_of(const Offer& offer, const std::vector<Offer>& all, const Comparison& c) {
  if (offer.rank.is_never(c)) return Dominance::beaten;
  const bool higher = c.higher_is_better;
  auto dominance = Dominance::none;
  for (const auto& other : all) {
    const bool dominates = other.cost <= offer.cost && ranks_before(c, other.rank, offer.rank);
    if (!dominates) continue;
    const bool overlap = higher ? other.estimate.low <= offer.estimate.high : other.estimate.high >= offer.estimate.low;
    if (!overlap) return Dominance::beaten;
    dominance = Dominance::unsure;
  }
  return dominance;
}

struct CostAxis {
  const char *title, *label;
  double (*of)(const GroupResult&);
};

constexpr CostAxis kCosts[] = {
    {"parameters", "parameters (logarithmic)", [](const GroupResult& g) { return static_cast<double>(g.parameters); }},
    {"FLOPs per token", "forward FLOPs per token (logarithmic)",
     [](const GroupResult& g) { return static_cast<double>(g.flops_per_token); }},
    {"seconds per run", "seconds per run (logarithmic)", [](const GroupResult& g) { return g.train_seconds; }}};

std::vector<Offer> offers_of(const Comparison& c, const SeriesList& series, const CostAxis& cost) {
  std::vector<Offer> out;
  for (const auto& facet : c.facets) {
    for (const auto& group : facet.groups) {
      const auto estimate = estimate_of(group, range_of(c.metric));
      const double price = cost.of(group);
      if (!estimate || !std::isfinite(estimate->centre) || !(price > 0)) continue;
      const std::string& name = series.name(series.index(group.value));
      const std::string title = facet_title(c, facet);
      const std::string short_title = facet.keys.size() == 1 ? shown_value(c, facet.keys.begin()->first, facet.keys.begin()->second) : "";
      out.push_back(
          {series.index(group.value), title.empty() ? name : name + ", " + title, short_title, price, *estimate, *rank_of(group)});
    }
  }
  return out;
}

std::string draw_cost(const Comparison& c, const CostAxis& cost, const std::vector<Offer>& offers, const Form& form,
                      const std::string& style) {
  std::vector<double> xs, ys;
  for (const auto& offer : offers) {
    xs.push_back(offer.cost);
    ys.insert(ys.end(), {offer.estimate.centre, offer.estimate.low, offer.estimate.high});
  }
  // Costs that are equal but for a per mille stand at one place, not at the two ends of the axis.
  constexpr double kLeastSpan = 1.25;
  const auto [least, most] = std::minmax_element(xs.begin(), xs.end());
  if (const double middle = std::sqrt(*least * *most); *most < kLeastSpan * *least)
    xs = {middle / std::sqrt(kLeastSpan), middle * std::sqrt(kLeastSpan)};
  std::vector<const Offer*> best;
  for (const auto& offer : offers) {
    if (dominance_of(offer, offers, c) == Dominance::none) best.push_back(&offer);
  }
  std::sort(best.begin(), best.end(), [](const auto* a, const auto* b) { return a->cost < b->cost; });
  std::vector<std::string> names;
  for (const auto* offer : best) names.push_back(offer->name);
  const FrameText text{c.metric + " against " + cost.title, "Nothing cheaper is better than: " + join(names, "; ") + ".", cost.label,
                       c.metric + (form.log_y ? " (logarithmic)" : "")};
  FrameRoom room;
  room.height = 260;
  room.right = 18;
  Frame frame(form, text, axis_for(xs, AxisKind::log10), axis_for(ys, form.log_y ? AxisKind::log10 : AxisKind::linear), room);
  std::vector<Point> stairs;
  for (const auto* offer : best) {
    const double x = frame.x.at(offer->cost), y = frame.y.at(offer->estimate.centre);
    if (!stairs.empty()) stairs.push_back({x, stairs.back().y});
    stairs.push_back({x, y});
  }
  if (!stairs.empty()) stairs.push_back({frame.right, stairs.back().y});
  frame.svg.path(stairs, "stairs");
  std::vector<Point> labelled;  // a label that would lie on another is left out
  for (const auto& offer : offers) {
    const auto dominance = dominance_of(offer, offers, c);
    const double x = frame.x.at(offer.cost), y = frame.y.at(offer.estimate.centre);
    frame.svg.open(series_class(offer.series), dominance == Dominance::beaten ? "opacity=\".55\"" : "");
    frame.svg.line(x, frame.y.at(offer.estimate.low), x, frame.y.at(offer.estimate.high), "t");
    frame.svg.marker(marker_of(offer.series), x, y, 8, dominance != Dominance::none,
                     offer.name + ": " + estimate_text(offer.estimate.centre, offer.estimate.low, offer.estimate.high) + " for " +
                         format_short(offer.cost) + " " + cost.title);
    const bool free = std::none_of(labelled.begin(), labelled.end(), [&](const Point& p) {
      return std::abs(p.x - x) < text_width(offer.label) + 8 && std::abs(p.y - y) < 13;
    });
    if (free && !offer.label.empty()) {
      frame.svg.text(x + 7, y - 5, fitted_text(offer.label, 70), "q");
      labelled.push_back({x, y});
    }
    frame.svg.close();
  }
  return frame.svg.element(style);
}

Numbers cost_numbers(const Comparison& c) {
  Numbers out{group_headers(c), {}};
  for (const std::string& name : {c.metric, std::string("parameters"), std::string("FLOPs per token"), std::string("seconds per run")})
    out.headers.push_back(name);
  for (const auto& facet : c.facets) {
    for (const auto& group : facet.groups) {
      auto row = group_cells(c, facet, group);
      row.push_back(number_cell(shown_centre(group)));
      row.push_back(count_cell(static_cast<double>(group.parameters)));
      row.push_back(count_cell(static_cast<double>(group.flops_per_token)));
      row.push_back({format_duration(group.train_seconds), group.train_seconds});
      out.rows.push_back(std::move(row));
    }
  }
  return out;
}

}  // namespace

std::optional<Figure> cost_figure(const Comparison& c) {
  const auto series = std::make_shared<SeriesList>(c);
  if (series->size() > kMostSeriesTogether) return std::nullopt;
  Figure out;
  out.id = "cost";
  out.heading = "Cost against quality: " + c.metric;
  const std::string beside = c.facets.size() > 1 && c.facets[0].keys.size() == 1 ? shown_key(c, c.facets[0].keys.begin()->first) : "";
  if (!beside.empty()) out.beside = "beside the marks: " + beside;
  out.reading =
      std::string("Each mark is a variant") + (beside.empty() ? "" : " at the " + beside + " written beside it") +
      "; further left is cheaper, " + (c.higher_is_better ? "higher" : "lower") +
      " is better. Full marks, joined by the dashed line: nothing cheaper is better. Hollow: something is; faint: by more than both intervals.";
  out.legend = series->legend();
  bool positive = true;
  for (const auto& cost : kCosts) {
    const auto offers = offers_of(c, *series, cost);
    std::set<double> prices;
    for (const auto& offer : offers) {
      prices.insert(offer.cost);
      positive = positive && offer.estimate.centre > 0;
    }
    if (prices.size() < 2) continue;
    out.panels.push_back(
        {cost.title, [&c, &cost, offers](const Form& form, const std::string& style) { return draw_cost(c, cost, offers, form, style); }});
  }
  if (out.panels.empty()) return std::nullopt;
  out.wide = false;
  out.y_switch = positive;
  out.log_y = positive && c.as_ratios;
  out.numbers = cost_numbers(c);
  return out;
}

}  // namespace ffn::pictures
