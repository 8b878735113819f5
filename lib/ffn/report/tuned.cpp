#include "ffn/report/tuned.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "ffn/base/suggest.hpp"
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
std::vector<std::string> choices_text(const TuningResult& tuned) {
  std::vector<std::string> choices;
  std::vector<std::vector<std::string>> of;
  for (const auto& variant : tuned.variants) {
    for (const auto& point : variant.curve) {
      if (point.chosen == 0) continue;
      const std::string text = point_text(tuned, point);
      const auto at = static_cast<std::size_t>(std::find(choices.begin(), choices.end(), text) - choices.begin());
      if (at == choices.size()) {
        choices.push_back(text);
        of.emplace_back();
      }
      of[at].push_back(variant.name);
    }
  }
  if (choices.size() == 1) return choices;
  const bool by_name = tuned.variants.size() <= kMostByName;
  std::vector<std::string> out;
  for (std::size_t i = 0; i < choices.size(); ++i)
    out.push_back(choices[i] + " (" +
                  (by_name ? join(of[i]) : std::to_string(of[i].size()) + (of[i].size() == 1 ? " variant" : " variants")) + ")");
  return out;
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
         ": " + join(choices_text(tuned), "; ") + ". These are verdicts on the chosen values.";
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

// One column for each key that all variants name, or one for their names.
class VariantColumns {
 public:
  explicit VariantColumns(const TuningResult& tuned) {
    for (const auto& variant : tuned.variants) {
      std::vector<std::string> own;
      for (const auto& [key, value] : parts_of_variant(variant.name)) own.push_back(key);
      if (&variant == &tuned.variants[0]) keys_ = own;
      else if (own != keys_) keys_.clear();
    }
  }

  std::vector<Column> headers() const {
    if (keys_.empty()) return {{"variant", Align::left}};
    std::vector<Column> out;
    for (const auto& key : keys_) out.push_back({key, Align::left});
    return out;
  }

  std::vector<std::string> cells(const TunedVariant& variant) const {
    if (keys_.empty()) return {variant.name};
    std::vector<std::string> out;
    for (const auto& [key, value] : parts_of_variant(variant.name)) out.push_back(value);
    return out;
  }

 private:
  std::vector<std::string> keys_;
};

std::string score_text(const TunedVariant::Point& point) { return point.score ? format_significant(*point.score, 3) : "-"; }

}  // namespace

Table choices_table(const TuningResult& tuned) {
  const VariantColumns variants(tuned);
  auto columns = variants.headers();
  const std::string chosen = join(tuned.keys, ", ");
  columns.push_back({tuned.per_seed ? "seeds × " + chosen : chosen, Align::left});
  if (!tuned.per_seed) columns.push_back({tuned.metric + " there", Align::right});
  Table table(columns);
  for (const auto& variant : tuned.variants) {
    auto row = variants.cells(variant);
    std::vector<const TunedVariant::Point*> points;
    for (const auto& point : variant.curve) {
      if (point.chosen > 0) points.push_back(&point);
    }
    std::stable_sort(points.begin(), points.end(), [](const auto* a, const auto* b) { return a->chosen > b->chosen; });
    std::vector<std::string> shown;
    for (const auto* point : points)
      shown.push_back((tuned.per_seed ? std::to_string(point->chosen) + " × " : "") + point_text(tuned, *point));
    row.push_back(join(shown));
    if (!tuned.per_seed) row.push_back(score_text(*points.at(0)));
    table.add_row(row);
  }
  return table;
}

Table curve_table(const TuningResult& tuned) {
  const VariantColumns variants(tuned);
  auto columns = variants.headers();
  for (const auto& point : tuned.variants.at(0).curve) columns.push_back({point_text(tuned, point), Align::right});
  Table table(columns);
  for (const auto& variant : tuned.variants) {
    auto row = variants.cells(variant);
    for (const auto& point : variant.curve) {
      row.push_back(score_text(point));
      if (point.bad > 0) row.back() += ", " + std::to_string(point.bad) + " bad";
      if (point.chosen > 0) row.back() += tuned.per_seed ? " (" + std::to_string(point.chosen) + ")" : "*";
    }
    table.add_row(row);
  }
  return table;
}

}  // namespace ffn
