#include "ffn/report/ladder.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "ffn/base/text.hpp"
#include "ffn/compare/each.hpp"
#include "ffn/report/answer_words.hpp"
#include "ffn/report/cells.hpp"
#include "ffn/report/format.hpp"

namespace ffn {

namespace {

using stats::Verdict;

std::string size_name(const Comparison& c, std::size_t k) { return shown_value(c, c.ladder->key, c.ladder->sizes[k].value); }

const PairResult* pair_at(const Comparison& c, std::size_t size, const std::string& value) {
  for (const auto& pair : c.facets[size].pairs)
    if (pair.value == value) return &pair;
  return nullptr;
}

/// −1 better, 1 worse, 0 not sure; by the estimate alone where `estimated`.
int sign_at(const Comparison& c, std::size_t size, const std::string& value, bool estimated) {
  const PairResult* pair = pair_at(c, size, value);
  if (!pair || !pair->paired.effect) return 0;
  if (estimated) return (pair->paired.effect->value > 0) - (pair->paired.effect->value < 0);
  return pair->judgement.verdict == Verdict::better ? -1 : pair->judgement.verdict == Verdict::worse ? 1 : 0;
}

/// "16 and 32": the first two sizes of opposite signs with none between; empty where none are.
std::string reversal(const Comparison& c, const std::string& value, bool estimated) {
  std::size_t last = 0;
  int before = 0;
  for (std::size_t k = 0; k < c.ladder->sizes.size(); ++k) {
    const int sign = sign_at(c, k, value, estimated);
    if (sign != 0 && before == -sign) return size_name(c, last) + " and " + size_name(c, k);
    if (sign != 0) before = sign, last = k;
  }
  return "";
}

/// ", difference shrinking (sure)".
std::string trend(const LadderAnswer::Variant& variant, const Comparison& c, const std::string& sure) {
  const auto* first = pair_at(c, 0, variant.value);
  if (!variant.slope || !variant.slope->effect || !first || !first->paired.effect) return "";
  const double slope = variant.slope->effect->value;
  double mean = 0;  // over the sizes: the line goes through it
  for (std::size_t k = 0; k < c.ladder->sizes.size(); ++k)
    if (const auto* pair = pair_at(c, k, variant.value); pair && pair->paired.effect) mean += pair->paired.effect->value;
  return std::string(", difference ") + (slope * mean < 0 ? "shrinking" : "growing") + (variant.is_slope_sure ? sure : " (not sure)");
}

std::string variant_sentence(const LadderAnswer::Variant& variant, const Comparison& c, const std::string& sure) {
  const auto& value = variant.value;
  const std::string name = answer_detail::name_of(c, value), reference = shown_value(c, c.reference);
  const std::size_t num_sizes = c.ladder->sizes.size();
  if (const auto where = reversal(c, value, false); !where.empty())
    return name + " against " + reference + " reverses between " + where + sure;
  if (const auto where = reversal(c, value, true); !where.empty())
    return name + " against " + reference + " changes sign between " + where + " (not sure)";
  std::vector<std::string> sure_at;
  for (std::size_t k = 0; k < num_sizes; ++k)
    if (sign_at(c, k, value, false) != 0) sure_at.push_back(size_name(c, k));
  const std::string word = sign_at(c, num_sizes - 1, value, true) < 0 ? "better" : "worse";
  if (sure_at.empty())
    return name + " has a " + (word == "better" ? "lower " : "higher ") + c.metric + " than " + reference + " at every size (not sure)";
  return name + " " + word + " than " + reference + " holds" +
         (sure_at.size() == num_sizes ? sure
                                      : " (" + sure.substr(2, sure.size() - 3) + " at " + answer_detail::enumeration(sure_at) + ")") +
         trend(variant, c, sure);
}

std::string four_digits(double x) { return format_significant(x, 4); }

std::string estimate_text(const stats::Estimate& e, int digits) {
  const auto text = [&](double x) { return std::isfinite(x) ? format_significant(x, digits) : "∞"; };
  return text(e.value) + " [" + text(e.interval.low) + ", " + text(e.interval.high) + "]";
}

/// " Expected to hold at 3, 10 and 30 times the largest compute: relu2 in 100, 99 and 97 % of refits."
std::string holding_sentence(const Comparison& c) {
  std::vector<std::string> times, parts;
  for (const double factor : kHoldingTimes) times.push_back(format_short(factor));
  for (const auto& variant : c.ladder->variants) {
    std::vector<std::string> shares;
    for (const double share : variant.holds) shares.push_back(std::to_string(std::lround(100 * share)));
    if (!shares.empty()) parts.push_back(answer_detail::name_of(c, variant.value) + " in " + answer_detail::enumeration(shares) + " %");
  }
  return parts.empty() ? ""
                       : " Expected to hold at " + answer_detail::enumeration(times) + " times the largest compute: " + join(parts, "; ") +
                             " of refits, each variant with its own exponent.";
}

std::string law_sentences(const Comparison& c) {
  const auto& ladder = *c.ladder;
  if (!ladder.no_law.empty()) return holding_sentence(c) + " No multiplier or projection: " + ladder.no_law + ".";
  std::string text;
  std::vector<std::string> speeds;
  for (const auto& variant : ladder.variants)
    if (variant.multiplier)
      speeds.push_back(answer_detail::name_of(c, variant.value) + " " + estimate_text(*variant.multiplier, 3) +
                       (variant.speedup ? ", in time " + estimate_text(*variant.speedup, 3) : ""));
  if (!speeds.empty())
    text +=
        " For the same " + c.metric + " " + shown_value(c, c.reference) + " needs this many times the compute: " + join(speeds, "; ") + ".";
  std::vector<std::string> vague;
  for (std::size_t v = 1; v < ladder.variants.size(); ++v)
    if (!ladder.variants[v].multiplier) vague.push_back(answer_detail::name_of(c, ladder.variants[v].value));
  if (!vague.empty()) text += " No multiplier of " + join(vague) + ": these seeds and sizes leave it open by a factor above 100.";
  text += holding_sentence(c);
  if (!ladder.no_projection.empty()) return text + " No projection: " + ladder.no_projection + ".";
  std::vector<std::string> projected;
  for (const auto& variant : ladder.variants)
    projected.push_back(answer_detail::name_of(c, variant.value) + " " + estimate_text(*variant.projected, 4));
  return text + " The law predicted the held-out size; at " + format_short(stats::kFarthestProjection) +
         " times the largest compute it gives " + join(projected) + ".";
}

std::string accuracy_text(const stats::DecisionAccuracy& accuracy) {
  return std::to_string(accuracy.num_agreeing) + " of " + std::to_string(accuracy.num_pairs);
}

std::string percent_of(double log_ratio) { return format_percent(std::expm1(log_ratio), 2); }

}  // namespace

std::string ladder_sentences(const Comparison& c) {
  if (!c.ladder) return "";
  const auto& ladder = *c.ladder;
  const std::string sure = c.history.qualification.empty() ? " (sure)" : " (suggestive)";
  std::vector<std::string> parts;
  for (std::size_t v = 1; v < ladder.variants.size() && v <= 2 * answer_detail::kMostNamed; ++v)
    parts.push_back(variant_sentence(ladder.variants[v], c, sure));
  if (const auto named = parts.size() + 1; ladder.variants.size() > named)
    parts.push_back(std::to_string(ladder.variants.size() - named) + " more in the table");
  std::vector<std::string> accuracy;
  for (std::size_t k = 0; k + 1 < ladder.sizes.size(); ++k)
    if (ladder.sizes[k].accuracy.num_pairs > 0) accuracy.push_back(accuracy_text(ladder.sizes[k].accuracy) + " at " + size_name(c, k));
  return " From " + key_and_value(c, ladder.key, ladder.sizes.front().value) + " to " + size_name(c, ladder.sizes.size() - 1) + ": " +
         join(parts, "; ") + "." +
         (ladder.tuned_at.empty() ? ""
          : ladder.tuned_at == "each"
              ? " Tuned at each size."
              : " Tuned at " + size_name(c, 0) +
                    (ladder.has_rules ? ", rates at the other sizes by the rule." : ", with the same values at the other sizes.")) +
         (accuracy.empty() ? "" : " Pairs in the order of the largest size: " + join(accuracy) + ".") + law_sentences(c);
}

std::vector<LadderTable> ladder_tables(const Comparison& c) {
  if (!c.ladder) return {};
  const auto& ladder = *c.ladder;
  const std::string key = shown_key(c, ladder.key), level = format_level(1 - c.alpha);
  Table sizes({{key, Align::right},
               {"FLOPs", Align::right},
               {"decided as at the largest", Align::left},
               {"[" + level + "]", Align::left},
               {"", Align::left}});
  for (std::size_t k = 0; k < ladder.sizes.size(); ++k) {
    const auto& [value, is_held_out, compute, accuracy] = ladder.sizes[k];
    const auto percent = [](double x) { return format_percent(x, 0); };
    const bool has_none = k + 1 == ladder.sizes.size() || accuracy.num_pairs == 0;
    sizes.add_row({size_name(c, k), format_short(compute), has_none ? "" : accuracy_text(accuracy) + " pairs",
                   has_none ? "" : percent(accuracy.interval.low) + " to " + percent(accuracy.interval.high),
                   is_held_out ? "held out" : ""});
  }
  std::vector<Column> columns{{shown_key(c, c.by)}, {"each doubling of " + key}};
  if (ladder.law) columns.insert(columns.end(), {{"multiplier [" + level + "]"}, {"speedup [" + level + "]"}});
  for (const auto& size : ladder.sizes)
    if (size.is_held_out && !ladder.variants[0].predicted.empty())
      columns.insert(columns.end(), {{"predicted at " + size.value}, {"measured"}});
  Table variants(columns);
  for (const auto& variant : ladder.variants) {
    const auto& slope = variant.slope;
    std::vector<std::string> row{shown_value(c, variant.value), ""};
    if (slope && slope->effect) {
      const auto& [low, high] = std::pair(slope->effect->interval.low, slope->effect->interval.high);
      row[1] = percent_of(slope->effect->value) +
               (std::isfinite(high - low) ? " [" + percent_of(low) + ", " + percent_of(high) + "]" : "") +
               (!variant.is_slope_sure            ? ""
                : c.history.qualification.empty() ? ", sure"
                                                  : ", suggestive");
    }
    for (const auto& estimate : {variant.multiplier, variant.speedup})
      if (ladder.law) row.push_back(estimate ? estimate_text(*estimate, 3) : "");
    for (std::size_t k = 0; k < variant.predicted.size(); ++k) {
      row.push_back(estimate_text(variant.predicted[k], 4));
      row.push_back(four_digits(variant.measured[k]));
    }
    variants.add_row(row);
  }
  std::string caption = "all sizes together, " + format_counted(ladder.num_seeds, "seed");
  if (ladder.law)
    caption +=
        std::string("; multiplier: how many times the compute the reference needs for the same loss; speedup: the same in time, by ") +
        (ladder.is_speed_given ? "ladder.tokens_per_s" : "the runs' own seconds at the largest size") + "\nlaw: " + c.metric + " = " +
        four_digits(ladder.law->floor) + (ladder.law->is_floor_given ? " (given)" : " (fitted)") + " + A · FLOPs^−" +
        four_digits(ladder.law->exponent);
  return {{"pairs that a size decides as the largest does; the interval is of the pairs that share no variant", sizes},
          {caption, variants}};
}

Json ladder_json(const Comparison& c) {
  const auto& ladder = c.ladder.value();
  const auto finite = [](double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); };
  const auto interval = [&](const stats::Interval& i) {
    return Json{{"low", finite(i.low)}, {"high", finite(i.high)}, {"level", i.level}};
  };
  const auto estimate = [&](const std::optional<stats::Estimate>& e) {
    return e ? Json{{"value", finite(e->value)}, {"interval", interval(e->interval)}} : Json(nullptr);
  };
  const auto text_or_null = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  Json out = {{"key", ladder.key},
              {"seeds", ladder.num_seeds},
              {"sizes", Json::array()},
              {"variants", Json::array()},
              {"law", nullptr},
              {"no_law", text_or_null(ladder.no_law)},
              {"no_projection", text_or_null(ladder.no_law.empty() ? ladder.no_projection : ladder.no_law)},
              {"projected_flops", ladder.projected_compute > 0 ? Json(ladder.projected_compute) : Json(nullptr)}};
  for (const auto& [value, is_held_out, compute, accuracy] : ladder.sizes)
    out["sizes"].push_back(
        {{"value", value},
         {"held_out", is_held_out},
         {"flops", compute},
         {"decision_accuracy",
          {{"pairs", accuracy.num_pairs}, {"agreeing", accuracy.num_agreeing}, {"interval", interval(accuracy.interval)}}}});
  if (const auto& law = ladder.law)
    out["law"] = {{"floor", law->floor}, {"floor_given", law->is_floor_given}, {"exponent", law->exponent}, {"log_scale", law->log_scale}};
  for (const auto& variant : ladder.variants) {
    Json predicted = Json::array();
    Json holds = Json::array();
    for (std::size_t k = 0; k < variant.holds.size(); ++k) holds.push_back({{"times", kHoldingTimes[k]}, {"share", variant.holds[k]}});
    for (std::size_t k = 0; k < variant.predicted.size(); ++k) {
      predicted.push_back(estimate(variant.predicted[k]));
      predicted.back()["measured"] = variant.measured[k];
    }
    const auto* effect = variant.slope && variant.slope->effect ? &*variant.slope->effect : nullptr;
    out["variants"].push_back({{"value", variant.value},
                               {"label", shown_value(c, variant.value)},
                               {"slope", effect ? Json{{"log_ratio_per_doubling", effect->value},
                                                       {"interval", interval(effect->interval)},
                                                       {"p", variant.slope->p},
                                                       {"sure", variant.is_slope_sure && c.history.qualification.empty()}}
                                                : Json(nullptr)},
                               {"multiplier", estimate(variant.multiplier)},
                               {"speedup", estimate(variant.speedup)},
                               {"predicted", predicted},
                               {"projected", estimate(variant.projected)},
                               {"holds", holds}});
  }
  return out;
}

}  // namespace ffn
