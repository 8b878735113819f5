#include "ffn/config/ladder.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "ffn/base/error.hpp"
#include "ffn/config/accounting.hpp"
#include "ffn/config/expansion.hpp"
#include "ffn/config/json_reader.hpp"
#include "ffn/config/metrics.hpp"

namespace ffn {

namespace {

constexpr const char* kHeads = "model.attention.heads";
constexpr const char* kBatch = "train.batch_size";
constexpr const char* kSteps = "train.steps";
constexpr const char* kRates[] = {"train.optimizer.lr", "train.optimizer.adam_lr"};

bool ascends(const std::vector<JsonValue>& sizes) {
  constexpr double kLargest = 1e9;
  double last = 0;
  for (const auto& size : sizes) {
    if (!size->is_number() || !(size->get<double>() > last && size->get<double>() <= kLargest)) return false;
    last = size->get<double>();
  }
  return true;
}

/// Seeds are replicates, and the others change no result.
bool is_no_size(const std::string& key) {
  static const std::set<std::string> kOthers{"seed", "name", "label", "keep", "compute", "log"};
  return kOthers.count(key.substr(0, key.find('.'))) > 0;
}

}  // namespace

std::string name_without_size(const std::string& variant, const std::string& key) {
  const auto at = variant.rfind('+');
  const std::string size = "+" + config_detail::last_segment(key) + "=";
  return at != std::string::npos && variant.compare(at, size.size(), size) == 0 ? variant.substr(0, at) : variant;
}

bool is_rate(const std::string& key) { return std::find(std::begin(kRates), std::end(kRates), key) != std::end(kRates); }

std::vector<JsonValue> LadderConfig::all_sizes() const {
  std::vector<JsonValue> out;
  for (const Json* list : {&*values, &*hold_out})
    for (const auto& size : *list) out.emplace_back(size);
  return out;
}

std::size_t LadderConfig::num_sizes() const { return values->size() + hold_out->size(); }
std::size_t LadderConfig::num_held_out() const { return hold_out->size(); }

void LadderConfig::describe(FieldVisitor& v) {
  v.text({"key", "key that is the size; with model.d_model the width of a head stays"}, key);
  v.json({"values", "sizes, ascending"}, *values, Shape::list);
  v.json({"hold_out", "larger sizes, which a law of the others has to predict before it is followed further"}, *hold_out, Shape::list);
  v.optional_real(
      {"tokens_per_param",
       "of a text: training tokens for each of the N parameters outside embeddings and head. Then the batch is 2048 · 160 · (N/1.08e8)^(2/3) "
       "tokens, the steps follow, and the rate is the config's at the smallest size and falls as N^(-1/3) (OLMo-core's rules). Not set: all "
       "sizes train alike"},
      tokens_per_param, Bounds<double>{0, 1e9, true});
  v.json({"with", "key → a list with its value at each size, in place of a rule's"}, *with, Shape::object);
  v.choice({"tuned_at", "sizes at which tune chooses"}, tuned_at,
           {{"each", "each size for itself"}, {"smallest", "the smallest; from there tuned rates fall as N^(-1/3)"}});
  v.optional_real({"floor", "loss that no compute gets below, E of the law E + A · C^(-alpha); not set: fitted"}, floor, at_least(0.0));
  v.json(
      {"tokens_per_s",
       "each value of compare.by → tokens/s of its model at the size and on the machine that count, for the speedup; empty: by the runs' "
       "own seconds"},
      *tokens_per_s, Shape::object);
  for (const auto& item : tokens_per_s->items())
    v.require(item.value().is_number() && item.value().get<double>() > 0, "tokens_per_s",
              "\"" + item.key() + "\" needs a number above 0, got " + shortened(item.value()));
  v.require(values->size() >= 2 && ascends(all_sizes()), "values",
            "a ladder needs at least 2 values, and all sizes ascending positive numbers up to 1e9, those held out last; got " +
                shortened(*values) + " and " + shortened(*hold_out),
            {"hold_out"});
  for (const auto& item : with->items())
    v.require(item.value().is_array() && item.value().size() == num_sizes(), "with",
              "\"" + item.key() + "\" needs a list of " + std::to_string(num_sizes()) + " values, one for each size; got " +
                  shortened(item.value()),
              {"values", "hold_out"});
  v.require(!with->contains(key), "with", "\"" + key + "\" is the size itself");
  const bool is_ruled = key == kBatch || key == kSteps || is_rate(key);
  v.require(!tokens_per_param || !is_ruled, "tokens_per_param", "sets " + key + " at each size, which is the size itself; leave one out",
            {"key"});
  v.require(!is_no_size(key), "key", "\"" + key + "\" is no size; name a number of model, task or train, such as model.d_model");
  for (const auto& item : with->items()) v.require(!is_no_size(item.key()), "with", "\"" + item.key() + "\" is the same at every size");
}

double ladder_parameters(const ModelConfig& model, std::int64_t context) {
  TaskShape task;
  task.sequence_length = context;
  const ModelCost cost = model_cost(model, task);
  return static_cast<double>(cost.total.active_parameters - cost.ends.active_parameters);
}

std::vector<std::string> keys_of_ladder(const Json& document) {
  const Json ladder = document.value("ladder", Json::object());
  if (!ladder.is_object() || ladder.empty()) return {};
  const Json with = ladder.value("with", Json::object());
  std::vector<std::string> out{ladder.value("key", LadderConfig().key)};
  if (with.is_object())
    for (const auto& item : with.items()) out.push_back(item.key());
  if (document.contains(Json::json_pointer("/model/attention/heads")) && out[0] == LadderConfig().key) out.push_back(kHeads);
  if (ladder.contains("tokens_per_param")) out.insert(out.end(), {kBatch, kSteps});
  return out;
}

std::optional<LadderConfig> read_ladder(const Json& json, const std::string& source) {
  if (!json.contains("ladder") || json["ladder"].is_null()) return std::nullopt;
  Document document;
  document.tree() = json;
  JsonReader reader(document);
  LadderConfig ladder;
  reader.read_at("/ladder", [&](FieldVisitor& v) { ladder.describe(v); });
  if (!reader.problems.empty()) throw DataError(source + ": ladder: " + reader.problems[0].message);
  return ladder;
}

}  // namespace ffn

namespace ffn::config_detail {

namespace {

// OLMo-core's model ladder, src/olmo_core/model_ladder.py: batch and rate of a model of 108 million parameters, and their powers.
constexpr double kSequences = 160, kSequenceLength = 2048, kUnitParameters = 108e6;

/// One size: what it assigns, the size first.
struct Rung {
  Combination entries;
  double rate_factor = 1;
};

std::vector<Rung> rungs_of(const LadderConfig& ladder, const Combination& first, const std::set<std::string>& taken,
                           const ReadCombination& read, Expansion& expansion) {
  std::vector<Rung> out;
  const auto base = read(first);
  if (!base) return out;
  const auto is_ruled = [&](const std::string& key) { return taken.count(key) == 0 && !ladder.with->contains(key); };
  const auto sizes = ladder.all_sizes();
  double smallest = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const bool held_out = i >= ladder.values->size();
    const std::string pointer =
        held_out ? "/ladder/hold_out/" + std::to_string(i - ladder.values->size()) : "/ladder/values/" + std::to_string(i);
    Rung rung{{{ladder.key, *sizes[i], pointer}}};
    const auto set = [&](const std::string& key, const Json& value) { rung.entries.push_back({key, value, pointer}); };
    for (const auto& item : ladder.with->items())
      rung.entries.push_back({item.key(), item.value()[i], "/ladder/with/" + escape_pointer(item.key()) + "/" + std::to_string(i)});
    if (base->model.attention && ladder.key == LadderConfig().key && is_ruled(kHeads)) {
      const std::int64_t width = base->model.d_model / base->model.attention->heads, size = sizes[i]->get<std::int64_t>();
      if (size % width != 0) {
        expansion.problem(pointer, "d_model " + dump_json(*sizes[i]) + " is no multiple of a head's width, " + std::to_string(width) +
                                       " (model.d_model / model.attention.heads); choose a multiple, or set the heads in ladder.with");
        return {};
      }
      set(kHeads, size / width);
    }
    if (ladder.tokens_per_param) {
      const auto* text = std::get_if<TextConfig>(&base->task);
      if (!text) {
        expansion.problem("/ladder/tokens_per_param", "tokens are of a text; leave this out, or set train.steps in ladder.with");
        return {};
      }
      Combination here = first;
      here.insert(here.end(), rung.entries.begin(), rung.entries.end());
      const auto config = read(here);
      if (!config) return {};
      const double n = ladder_parameters(config->model, text->context), length = static_cast<double>(text->context);
      if (!(n > 0)) {
        expansion.problem("/ladder/tokens_per_param",
                          "the first variant has no parameters outside embeddings and head; set train.steps in ladder.with");
        return {};
      }
      if (i == 0) smallest = n;
      rung.rate_factor = std::cbrt(smallest / n);
      const double ruled = std::max(1.0, std::round(kSequenceLength * kSequences * std::pow(n / kUnitParameters, 2.0 / 3) / length));
      const double batch = is_ruled(kBatch) ? ruled : static_cast<double>(config->train.batch_size);
      if (is_ruled(kBatch)) set(kBatch, static_cast<std::int64_t>(batch));
      if (is_ruled(kSteps)) set(kSteps, std::max<std::int64_t>(1, std::llround(*ladder.tokens_per_param * n / (batch * length))));
      const Json optimizer = resolved_json(*config)["train"]["optimizer"];
      for (const std::string key : kRates)
        if (const auto rate = optimizer.find(last_segment(key)); rate != optimizer.end() && is_ruled(key))
          set(key, rounded_number(rate->get<double>() * rung.rate_factor, 3));
    }
    out.push_back(std::move(rung));
  }
  return out;
}

/// Keys that the ladder sets cannot be swept, tuned or given on the command line as well.
void refuse_set_twice(const Study& study, const std::set<std::string>& keys, Expansion& expansion) {
  const bool has_rules = study.config.ladder->tokens_per_param.has_value();
  auto set = keys_of_ladder(*study.document);
  if (has_rules) set.insert(set.end(), std::begin(kRates), std::end(kRates));
  for (const auto& key : set)
    for (const auto& swept : keys)
      if (key.rfind(swept + ".", 0) == 0)
        expansion.problem("/sweep", "\"" + swept + "\" is swept whole, and the ladder sets \"" + key + "\" in it; sweep its keys");
  for (const auto& key : keys_of_ladder(*study.document)) {
    if (has_rules && (key == kBatch || key == kSteps) && keys.count(key))
      expansion.problem("/sweep", "\"" + key + "\" is swept, and tokens_per_param sets it; leave one out, or give ladder.with");
    const bool is_asked = key == study.config.ladder->key || study.config.ladder->with->contains(key);
    const auto is_key = [&](const TuningAxis& axis) { return axis.key == key; };
    if (is_asked && keys.count(key)) expansion.problem("/sweep", "\"" + key + "\" is swept, and the ladder sets it; leave one out");
    if (is_asked && study.tune && std::any_of(study.tune->axes.begin(), study.tune->axes.end(), is_key))
      expansion.problem("/tune/" + escape_pointer(key), "the ladder sets \"" + key + "\"; leave one out");
    std::string pointer = "/" + key;
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    if (keys.count(key) == 0 && expansion.document.origin(pointer).is_override())
      expansion.problem(
          pointer, "would have no effect: the ladder sets it at each size; " +
                       (key == study.config.ladder->key
                            ? std::string("set ladder.values")
                            : "give ladder.with={\"" + key + "\": [" + std::to_string(study.config.ladder->num_sizes()) + " values]}") +
                       ", or ladder=null for one size");
  }
}

}  // namespace

std::vector<SizedCombination> at_every_size(const Study& study, const std::vector<Combination>& swept, const std::set<std::string>& keys,
                                            const ReadCombination& read, Expansion& expansion) {
  std::vector<Rung> rungs(1);
  if (study.config.ladder && !swept.empty()) {
    refuse_set_twice(study, keys, expansion);
    auto taken = keys;
    for (const auto& axis : study.tune ? study.tune->axes : std::vector<TuningAxis>()) taken.insert(axis.key);
    rungs = rungs_of(*study.config.ladder, swept[0], taken, read, expansion);
  }
  const auto names = expansion.variant_names(swept, keys);
  std::vector<SizedCombination> out;
  for (std::size_t i = 0; i < swept.size(); ++i)
    for (std::size_t r = 0; r < rungs.size(); ++r) {
      const auto& [entries, rate_factor] = rungs[r];
      Combination all = swept[i];
      all.insert(all.end(), entries.begin(), entries.end());
      const std::string size = entries.empty() ? "" : variant_name({entries[0]}, {entries[0].key});
      out.push_back({std::move(all), names[i] + (size.empty() ? "" : "+" + size), r, size, rate_factor});
    }
  return out;
}

void check_ladder(const Study& study, Expansion& expansion) {
  if (!study.config.ladder || study.variants.empty()) return;
  const std::string metric = judged_metric(study), &by = study.config.compare.by;
  const MetricRow* row = find_metric_row(metric);
  if (!row || row->higher_is_better)
    expansion.problem("/compare/metric", "a ladder follows a loss from size to size, and " + metric + " is none; set it to val/loss");
  if (study.config.ladder->tuned_at == "smallest" && !study.tune)
    expansion.problem("/ladder/tuned_at", "nothing is tuned; set tune, or leave this out");
  if (by == study.config.ladder->key)
    expansion.problem("/compare/by", "\"" + by + "\" is the ladder's size; name a key whose values are compared at each size");
  if (!study.config.compare.over.empty()) expansion.problem("/compare/over", "a ladder's groups are its sizes alone; leave this out");
  if (study.config.compare.scale != "auto" && study.config.compare.scale != "ratio")
    expansion.problem("/compare/scale", "a ladder compares ratios; leave this out");
  if (study.variants.size() == study.config.ladder->num_sizes() && expansion.problems.empty())
    expansion.problem("/ladder", "one variant has nothing to be compared with at each size; sweep a key, such as model.ffn.activation");
  if (study.sequential_seeds) expansion.problem("/seeds", "a ladder compares the same seeds at all sizes; set \"seeds\" to a number");
}

}  // namespace ffn::config_detail
