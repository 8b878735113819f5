#include "ffn/report/tuned.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "ffn/base/text.hpp"
#include "ffn/compare/shown_names.hpp"
#include "ffn/report/format.hpp"

namespace ffn {

namespace {

constexpr std::size_t kMostByName = 4;

std::string value_text(const Json& value) { return value.is_string() ? value.get<std::string>() : dump_json(value); }

// "0.01"; "lr 0.01, weight_decay 0.1" of several keys.
std::string point_text(const TuningResult& tuned, const TunedVariant::Point& point) {
  if (point.values.size() == 1) return value_text(*point.values[0]);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < point.values.size(); ++i)
    parts.push_back(short_name(tuned.keys[i], tuned.keys) + " " + value_text(*point.values[i]));
  return join(parts);
}

std::string counted_seeds(std::size_t n, const char* which) { return std::to_string(n) + " " + which + (n == 1 ? " seed" : " seeds"); }

// "0.01 (relu, gelu)" and "0.03 (silu)"; "0.01" if it is the one choice; of many variants how many.
std::string choices_text(const TuningResult& tuned) {
  std::vector<std::pair<std::string, std::vector<std::string>>> choices;
  for (const auto& variant : tuned.variants) {
    for (const auto& point : variant.curve) {
      if (point.chosen == 0) continue;
      const std::string text = point_text(tuned, point);
      auto at = std::find_if(choices.begin(), choices.end(), [&](const auto& choice) { return choice.first == text; });
      if (at == choices.end()) at = choices.insert(at, {text, {}});
      at->second.push_back(variant.name);
    }
  }
  if (choices.size() == 1) return choices[0].first;
  std::vector<std::string> out;
  for (const auto& [choice, of] : choices)
    out.push_back(choice + " (" + (tuned.variants.size() <= kMostByName ? join(of) : format_counted(of.size(), "variant")) + ")");
  return join(out, "; ");
}

}  // namespace

bool names_all_choices(const TuningResult& tuned) { return !tuned.per_seed && tuned.variants.size() <= kMostByName; }

std::string tuned_sentence(const TuningResult& tuned) {
  const std::string keys = join(tuned.keys, " and ");
  if (tuned.per_seed) {
    return "Every variant's " + keys + " was chosen anew for every seed, by " + tuned.metric + " with " +
           counted_seeds(tuned.seeds, "other") + ": these are verdicts on the variants tuned this way.";
  }
  return "Each variant is judged at its own " + keys + ", chosen by " + tuned.metric + " with " + counted_seeds(tuned.seeds, "other") +
         ": " + choices_text(tuned) + ". These are verdicts on the chosen values.";
}

std::optional<stats::Centre> tuned_estimate(const TunedVariant& variant, const TunedVariant::Point& point, double alpha) {
  if (!point.score) return std::nullopt;
  const double score = point.judged.value_or(*point.score);
  stats::Interval interval{score, score, 1 - alpha};
  if (!point.judged) return stats::Centre{score, interval};
  if (point.standard_error && point.measured > 1) interval = stats::t_interval(score, *point.standard_error, point.measured, 1 - alpha);
  if (!variant.logarithms) return stats::Centre{score, interval};
  interval.low = std::exp(interval.low);
  interval.high = std::exp(interval.high);
  return stats::Centre{std::exp(score), interval};
}

std::string curve_caption(const TuningResult& tuned) {
  return tuned.metric + " by " + join(tuned.keys, " and ") + ", mean of the tuning runs that have it; bad: runs without; " +
         (tuned.per_seed ? "in brackets how many seeds chose it" : "* is chosen") + (tuned.by_ranks ? "; chosen by mean ranks" : "");
}

namespace {

// A row for each variant: the values of the keys that all of them name, or else their names.
struct VariantNames {
  std::string header;
  std::vector<std::string> names = {};
};

VariantNames variant_names(const TuningResult& tuned) {
  VariantNames by_keys, by_name{"variant"};
  bool alike = true;
  for (const auto& variant : tuned.variants) {
    std::vector<std::string> keys, values;
    for (const auto& [key, value] : parts_of_variant(variant.name)) {
      keys.push_back(key);
      values.push_back(value);
    }
    if (by_keys.names.empty()) by_keys.header = join(keys);
    alike = alike && !keys.empty() && by_keys.header == join(keys);
    by_keys.names.push_back(join(values));
    by_name.names.push_back(variant.name);
  }
  return alike ? by_keys : by_name;
}

std::string score_text(const TunedVariant::Point& point) { return point.score ? format_significant(*point.score, 3) : "-"; }

}  // namespace

Table choices_table(const TuningResult& tuned) {
  const auto names = variant_names(tuned);
  const std::string chosen = join(tuned.keys);
  std::vector<Column> columns{{names.header}, {tuned.per_seed ? "seeds × " + chosen : chosen}};
  if (!tuned.per_seed) columns.push_back({tuned.metric + " there", Align::right});
  Table table(columns);
  for (std::size_t v = 0; v < tuned.variants.size(); ++v) {
    const auto& variant = tuned.variants[v];
    std::vector<const TunedVariant::Point*> points;
    for (const auto& point : variant.curve) {
      if (point.chosen > 0) points.push_back(&point);
    }
    std::stable_sort(points.begin(), points.end(), [](const auto* a, const auto* b) { return a->chosen > b->chosen; });
    std::vector<std::string> shown;
    for (const auto* point : points)
      shown.push_back((tuned.per_seed ? std::to_string(point->chosen) + " × " : "") + point_text(tuned, *point));
    std::vector<std::string> row{names.names[v], join(shown)};
    if (!tuned.per_seed) row.push_back(score_text(*points.at(0)));
    table.add_row(row);
  }
  return table;
}

Table curve_table(const TuningResult& tuned) {
  const auto names = variant_names(tuned);
  std::vector<Column> columns{{names.header}};
  for (const auto& point : tuned.variants.at(0).curve) columns.push_back({point_text(tuned, point), Align::right});
  Table table(columns);
  for (std::size_t v = 0; v < tuned.variants.size(); ++v) {
    std::vector<std::string> row{names.names[v]};
    for (const auto& point : tuned.variants[v].curve) {
      row.push_back(score_text(point));
      if (point.bad > 0) row.back() += ", " + std::to_string(point.bad) + " bad";
      if (point.chosen > 0) row.back() += tuned.per_seed ? " (" + std::to_string(point.chosen) + ")" : "*";
    }
    table.add_row(row);
  }
  return table;
}

stats::Centre sensitivity_estimate(const std::vector<double>& of_seeds, double alpha) {
  const double value = stats::mean(of_seeds);
  return {value, of_seeds.size() > 1 ? stats::t_interval(of_seeds, 1 - alpha) : stats::Interval{value, value, 1 - alpha}};
}

std::optional<stats::Centre> sensitivity_difference(const TuningResult& tuned, std::size_t variant, double alpha) {
  auto differences = tuned.variants[variant].sensitivity;
  const auto& first = tuned.variants[0].sensitivity;
  if (variant == 0 || differences.empty() || differences.size() != first.size()) return std::nullopt;
  for (std::size_t seed = 0; seed < first.size(); ++seed) differences[seed] -= first[seed];
  return sensitivity_estimate(differences, alpha);
}

std::string sensitivity_caption(const TuningResult& tuned, double alpha) {
  return "sensitivity to " + join(tuned.keys) + ": " + tuned.metric +
         " over the grid (no worse than before training) beyond the best of it, mean over tuning seeds ± " + format_level(1 - alpha) +
         "; more than: paired by seed";
}

std::optional<Table> sensitivity_table(const TuningResult& tuned, double alpha) {
  const auto is_known = [](const TunedVariant& variant) { return !variant.sensitivity.empty(); };
  if (std::none_of(tuned.variants.begin(), tuned.variants.end(), is_known)) return std::nullopt;
  const auto text = [](const stats::Centre& at, bool is_signed) {
    const double half = (at.interval.high - at.interval.low) / 2;
    return (is_signed ? format_signed(at.value, half) : format_with(at.value, half)) + (half > 0 ? " ± " + format_with(half, half) : "");
  };
  const auto names = variant_names(tuned);
  Table table({{names.header}, {"sensitivity", Align::right}, {"more than " + names.names[0], Align::right}});
  for (std::size_t v = 0; v < tuned.variants.size(); ++v) {
    const auto& of_seeds = tuned.variants[v].sensitivity;
    const auto more = sensitivity_difference(tuned, v, alpha);
    table.add_row(
        {names.names[v], of_seeds.empty() ? "-" : text(sensitivity_estimate(of_seeds, alpha), false), more ? text(*more, true) : ""});
  }
  return table;
}

}  // namespace ffn
