#include "ffn/report/cells.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "ffn/compare/each.hpp"
#include "ffn/report/format.hpp"

namespace ffn {

std::optional<Effect> effect_of(const PairResult& pair) {
  const auto& effect = pair.paired.effect;
  if (!effect) return std::nullopt;
  const auto& i = effect->interval;
  return Effect{effect->value, i.low, i.high, i.low_open, i.high_open};
}

bool has_wide_centres(const Comparison& c) {
  return c.as_ratios && any_group(c, [](const GroupResult& g) {
           return g.centre && std::isfinite(g.centre->interval.high) && g.centre->interval.high > 1.5 * g.centre->interval.low;
         });
}

std::string margin_as_factor(const Comparison& c) {
  std::ostringstream factor;
  factor.precision(4);  // as verdict_sentence() has it
  factor << 1 + c.min_effect;
  return "factor of " + factor.str();
}

bool has_pairs(const Comparison& c) {
  return any_pair(c, [](const PairResult&) { return true; });
}

bool has_misses(const Comparison& c) { return is_time_metric(c.metric) && c.shown == ShownCentre::median; }

std::string hits_cell(const GroupResult& g) { return std::to_string(g.num_hits) + " of " + std::to_string(g.num_over()); }

bool is_different(const PairResult& pair) {
  return pair.judgement.verdict == stats::Verdict::better || pair.judgement.verdict == stats::Verdict::worse;
}

namespace {

bool with_limits(const Comparison& c) {
  return c.shown == ShownCentre::median || (c.shown == ShownCentre::geometric_mean && has_wide_centres(c));
}

std::string centre_with_interval(const Comparison& c, const stats::Centre& centre, double unit) {
  if (std::isinf(centre.value)) return "no value";
  const double low = centre.interval.low / unit, high = centre.interval.high / unit;
  const bool wide = has_wide_centres(c), known = !centre.interval.unbounded();
  const double half = known && std::isfinite(high - low) ? (high - low) / 2 : 0;
  const auto number = [&](double x) {
    return std::isinf(x) ? (x < 0 ? "−∞" : "∞") : wide ? format_significant(x, 2) : format_with(x, half);
  };
  const std::string value = number(centre.value / unit);
  if (!known || low == high) return value;
  return with_limits(c) ? value + " [" + number(low) + ", " + number(high) + "]" : value + " ± " + number(half);
}

bool never(const GroupResult& g) {
  return !g.values.empty() && std::all_of(g.values.begin(), g.values.end(), [](double v) { return std::isinf(v); });
}

}  // namespace

std::string centre_text(const Comparison& c, const GroupResult& g, double unit) {
  if (g.centre) return centre_with_interval(c, *g.centre, unit);
  if (!g.mean) return g.num_unmeasured > 0 ? "not measured" : "-";
  const double spread = g.half_width.value_or(0) / unit;
  if (never(g)) return "> " + format_with(*g.mean / unit, 0);
  return format_with(*g.mean / unit, spread) + (spread > 0 ? " ± " + format_with(spread, spread) : "");
}

std::string centre_name(ShownCentre centre) {
  return centre == ShownCentre::median ? "median" : centre == ShownCentre::geometric_mean ? "geometric mean" : "mean";
}
std::string centre_name(const Comparison& c) { return centre_name(c.shown); }

std::string interval_form(const Comparison& c, const std::string& word) {
  const std::string interval = format_level(1 - c.alpha) + word;
  return with_limits(c) ? "[" + interval + "]" : "± " + interval;
}

std::string difference_name(const Comparison& c) {
  return c.as_ratios && c.ratio_form == stats::RatioForm::factor ? "ratio" : "difference";
}

std::string difference_text(const Comparison& c, const PairResult& pair, double unit) {
  if (pair.paired.values == stats::PairedValues::log_ratio && pair.paired.effect)
    return stats::RatioText(*pair.paired.effect, c.ratio_form).with_interval();
  const auto e = effect_of(pair);
  if (!e) return "-";
  const double above = e->high - e->size, below = e->size - e->low;  // one of them may be infinite
  const double spread = (std::isfinite(above + below) ? (above + below) / 2 : std::min(above, below)) / unit;
  const auto shown = [&](double x) { return format_signed(x / unit, std::isfinite(spread) ? spread : 0); };
  if (std::isinf(e->size)) return shown(e->size);  // one side never got there
  if (std::isinf(e->low) && std::isinf(e->high)) return shown(e->size) + " (no interval)";
  if (e->empty()) return shown(e->size) + " (empty interval)";
  return shown(e->size) + (e->low_open ? " (" : " [") + shown(e->low) + ", " + shown(e->high) + (e->high_open ? ")" : "]");
}

NumberUnit::NumberUnit(const Comparison& c) {
  double largest = 0;
  for_each_group(c, [&](const Facet&, const GroupResult& g) {
    const auto x = shown_centre(g);
    if (x && std::isfinite(*x)) largest = std::max(largest, std::abs(*x));
  });
  if (largest > 0 && (largest < 1e-3 || largest >= 1e6)) exponent = static_cast<int>(std::floor(std::log10(largest)));
}

double NumberUnit::size() const { return std::pow(10.0, exponent); }

std::string NumberUnit::header(std::string name) const {
  if (exponent == 0) return name;
  constexpr const char* kDigits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  name += " · 10";
  for (const char digit : std::to_string(exponent)) name += digit == '-' ? "⁻" : kDigits[digit - '0'];
  return name;
}

std::string seeds_text(const GroupResult& g) {
  std::string text = std::to_string(g.num_over());
  if (g.num_over() < g.num_runs) text += " of " + std::to_string(g.num_runs);
  if (g.num_diverged > 0) text += ", " + std::to_string(g.num_diverged) + " diverged";
  if (g.num_failed > 0) text += ", " + std::to_string(g.num_failed) + " failed";
  return text;
}

std::optional<std::size_t> same_seeds(const Comparison& c) {
  std::optional<std::size_t> seeds;
  bool same = true;
  for_each_group(c, [&](const Facet&, const GroupResult& g) {
    same = same && g.num_done == g.num_runs && seeds.value_or(g.num_done) == g.num_done;
    seeds = g.num_done;
  });
  return same ? seeds : std::nullopt;
}

std::string metric_header(const std::string& metric) {
  return metric == "steps_to_target" ? "steps" : metric == "flops_to_target" ? "FLOPs" : metric == "seconds_to_target" ? "seconds" : metric;
}

std::string short_caption(const Comparison& c) {
  const auto seeds = same_seeds(c);
  const std::string reference = shown_value(c, c.reference);
  const bool several = any_group(c, [](const GroupResult& g) { return g.values.size() > 1; });
  return c.metric + ", " + (c.higher_is_better ? "higher" : "lower") + " is better" +
         (has_misses(c) ? "; median of the runs that got there" + (several ? " " + interval_form(c, " interval") : "")
          : several     ? "; " + centre_name(c) + (seeds ? " of " + std::to_string(*seeds) + (c.unpaired ? " runs " : " seeds ") : " ") +
                          interval_form(c, " interval")
                    : "") +
         (!has_pairs(c)                               ? ""
          : !c.as_ratios                              ? "; vs " + reference
          : c.ratio_form == stats::RatioForm::percent ? "; in percent of " + reference
                                                      : "; ratio to " + reference + ", ÷2 being half of it");
}

}  // namespace ffn
