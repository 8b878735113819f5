#include "ffn/config/study_config.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "ffn/base/suggest.hpp"
#include "ffn/base/text.hpp"
#include "ffn/config/expansion.hpp"
#include "ffn/config/json_reader.hpp"
#include "ffn/config/metrics.hpp"
#include "ffn/config/names.hpp"
#include "ffn/config/search_config.hpp"
#include "ffn/config/study_problems.hpp"
#include "ffn/config/trained_activation.hpp"

namespace ffn {

void CompareConfig::describe(FieldVisitor& v) {
  v.text({"by", "dotted key whose values are compared; default: the first that varies"}, by);
  v.text({"metric",
          "a logged metric, as it is at the end or the best over the run (\"best val/loss\"), steps_to_target, flops_to_target or "
          "seconds_to_target; default: steps_to_target if there is a target, else val/loss, or val/accuracy of tables with classes"},
         metric);
  v.text({"reference", "value of `by` that the others are compared with; default: the first"}, reference);
  v.text(
      {"over",
       "dotted key whose values are a random sample, such as task.file over several texts: each seed counts by its mean over them, and a "
       "second interval also covers other values of this kind"},
      over);
  v.real({"alpha", "probability of any wrong verdict over all comparisons of the study"}, alpha, Bounds<double>{0.0, 0.49, true});
  v.real({"min_effect",
          "smallest difference that matters; 0: any. In units of the metric or, for ratios (a loss), relative: 0.05 is a factor of 1.05 "
          "either way"},
         min_effect, at_least(0.0));
  v.choice(
      {"scale", "scale on which a logged metric is compared"}, scale,
      {{"auto",
        "ratios if lower is better and all values are positive, otherwise differences; tests their mean, or ranks if a run has no value or "
        "the largest is above 15 times the median"},
       {"difference", "differences in units of the metric; ranks only if a run has no value"},
       {"ratio", "ratios of positive values; ranks only if a run has no value"},
       {"ranks", "ranks of what auto compares"}});
  v.choice({"pairs", "pairs of values that are compared"}, pairs,
           {{"reference", "each with the reference"},
            {"best", "also the best with each other; corrected for all pairs, because the same runs decide which is best"},
            {"all", "each with each"}});
  v.flag(
      {"interaction",
       "in a study of two keys, also test whether the differences depend on the second key: their mean over its values, and their change "
       "from its first value"},
      interaction);
}

void SweepConfig::describe(FieldVisitor& v) {
  v.json({"grid", "key → values; all combinations"}, *grid, Shape::object);
  v.json({"zip", "list of objects key → values whose keys vary together"}, *zip, Shape::list);
  v.json({"include", "list of objects key → value: further variants"}, *include, Shape::list);
  v.json({"exclude", "list of objects key → value: combinations to leave out"}, *exclude, Shape::list);
}

void StudyConfig::describe(FieldVisitor& v) {
  v.json({"seeds",
          "number of seeds, or a list of seeds; every variant runs with each. {\"until\": \"settled\", \"min\": 8, \"max\": 100} (or "
          "\"auto\") is a sequential design: it adds seeds until every comparison has a verdict, or up to max. Interim analyses at 8, 12, "
          "16, 24, 32, 48, … seeds have an error of alpha in total; at least min seeds are trained, a larger max continues the study, and "
          "first is the first seed"},
         *seeds, Shape::any);
  v.group({"sweep", "what varies"}, sweep);
  v.optional_group({"ladder", "sizes at which every variant is trained: does the answer hold at larger ones?"}, ladder);
  v.json({"tune",
          "keys → values: each variant is compared at its own best values, chosen on other seeds. \"seeds\", \"metric\" (default: the "
          "compared metric) and \"retune\" control the tuning"},
         *tune, Shape::object);
  v.group({"compare", "how the variants are compared"}, compare);
  v.text({"question", "the question that the study answers"}, question);
  v.text({"source", "source of the question"}, source);
  v.json(
      {"expect",
       "claims about the outcome, kept in study.json before the first run: a list of {\"claim\": text, \"source\": text, \"check\": {…}}. "
       "Each holds, is refuted or is not shown (undecided shows nothing); exit code 5 unless all hold. A check names a \"value\" of "
       "compare.by and one or more of: {\"value\": \"gelu\", \"verdict\": \"better\"}; {\"value\": \"gelu\", \"verdict_not\": \"worse\"}; "
       "{\"value\": \"gelu\", \"mean_at_least\": 0.9} and {\"value\": \"gelu\", \"mean_at_most\": 40}, of the compared metric's mean with "
       "its whole interval; {\"facet\": {\"model.ffn.expansion\": 8}, \"value\": \"gelu\", \"verdict\": \"better\"} in that group alone, "
       "otherwise in every one"},
      *expect, Shape::list);
}

void describe_document(FieldVisitor& v) {
  RunConfig run;
  StudyConfig study;
  run.describe(v);
  study.describe(v);
  CommandConfig command;
  v.group({"engine", kEngineDoc}, command);
  SearchConfig search;
  v.group({"search", kSearchDoc}, search);
}

bool is_study(const Document& document) {
  const auto& tree = document.tree();
  return tree.contains("seeds") || tree.contains("sweep") || tree.contains("ladder") || tree.contains("tune") || has_command(document);
}

namespace {

using config_detail::at_every_size;
using config_detail::check_ladder;
using config_detail::Combination;
using config_detail::Entry;
using config_detail::Expansion;
using config_detail::refuse_both_widths;
using config_detail::refuse_keys_of_no_variant;
using config_detail::refuse_name_of_another;
using config_detail::refuse_shared_labels;
using config_detail::refuse_unknown_parameters;
using config_detail::refuse_what_changes_no_result;
using config_detail::SharedProblems;
using config_detail::SizedCombination;
using config_detail::variant_name;
using config_detail::where_written;

std::vector<std::int64_t> seed_list(const Json& seeds, Expansion& expansion) {
  std::vector<std::int64_t> out;
  const auto bad = [&](const std::string& why) { expansion.problem("/seeds", why); };
  if (seeds.is_number_integer()) {
    const auto count = seeds.get<std::int64_t>();
    if (count < 1 || count > static_cast<std::int64_t>(kMaxRuns))
      bad("expected a count between 1 and " + std::to_string(kMaxRuns) + ", got " + shortened(seeds));
    else
      for (std::int64_t s = 0; s < count; ++s) out.push_back(s);
    return out;
  }
  if (!seeds.is_array() || seeds.empty())
    return bad("expected a count, a list of seeds, or {\"until\": \"settled\"}, got " + shortened(seeds)), out;
  std::set<std::int64_t> known;
  for (const auto& seed : seeds) {
    if (!seed.is_number_integer() || seed.get<std::int64_t>() < 0) bad("expected integers of at least 0, got " + shortened(seed));
    else if (!known.insert(seed.get<std::int64_t>()).second) bad("seed " + shortened(seed) + " is listed twice; seeds are replicates");
    else out.push_back(seed.get<std::int64_t>());
  }
  return out;
}

// Values of different losses have no common scale: neither a choice between them nor a verdict on what was chosen.
void refuse_tuned_losses(const Study& study, Expansion& expansion) {
  if (!study.tune) return;
  std::set<std::string> metrics{without_best(study.tune->metric), without_best(judged_metric(study))};
  for (const auto& variant : study.variants) {
    if (const auto& target = variant.config.train.target) metrics.insert(target->metric);
  }
  const bool of_training = metrics.count(metric::kTrainLoss.name) > 0, of_loss = of_training || metrics.count(metric::kValLoss.name) > 0;
  for (const auto& axis : study.tune->axes) {
    if ((axis.key == "train.loss" && of_loss) || (axis.key == "train.label_smoothing" && of_training))
      expansion.problem(
          "/tune/" + escape_pointer(axis.key),
          "values of different losses have no common scale to choose by; let tune.metric, compare.metric and the target be others, "
          "such as val/accuracy");
  }
}

// The same for runs of a program, which logs what its config says.
void check_metric_of_command(const Study& study, const CommandConfig& command, Expansion& expansion) {
  std::vector<std::string> names;
  for (const auto& item : command.metrics->items()) names.push_back(item.key());
  const auto check = [&](const char* pointer, const std::string& asked) {
    if (std::find(names.begin(), names.end(), without_best(asked)) == names.end())
      expansion.problem(pointer,
                        "engine.metrics has no " + shortened(Json(asked)) + did_you_mean(asked, names) + "; it has " + join(names));
  };
  const auto& [metric, scale] = std::pair(study.config.compare.metric, study.config.compare.scale);
  check("/compare/metric", metric);
  if (study.tune) check("/tune/metric", study.tune->metric);
  if (scale == "ratio" && metric_direction(metric).value_or(false))
    expansion.problem("/compare/scale", metric + " need not be positive, and has no ratios then; use \"difference\" or \"ranks\"");
  const bool has_seeds = study.seeds.size() > 1 || study.sequential_seeds || study.tune;
  if (has_seeds && !command.names("seed"))
    expansion.problem("/engine/command", "no argument has {seed}, and runs of several seeds would be one run several times; add it");
}

// Whether the comparison that the study asks for can be had.
void check_metric(const Study& study, Expansion& expansion) {
  const std::string& asked = study.config.compare.metric;
  const std::string& scale = study.config.compare.scale;
  const auto stops = [](const Variant& variant) { return variant.config.train.target && variant.config.train.target->stop; };
  const auto refuse_stopped = [&](const char* pointer, const std::string& metric) {
    if (find_metric_row(metric) && std::any_of(study.variants.begin(), study.variants.end(), stops))
      expansion.problem(pointer, metric + kKnownAtHit + "; " + kAtHitRemedy);
  };
  refuse_stopped("/compare/metric", asked);
  std::vector<std::string> names(std::begin(kTimesToTarget), std::end(kTimesToTarget));
  const auto all_names = [&] {
    auto all = names;
    for (const auto& row : metric_catalogue()) all.push_back(row.name);
    return all;
  };
  if (study.tune) {
    const std::string& tuned = study.tune->metric;
    refuse_stopped("/tune/metric", tuned);
    if (tuned != names[0] && !find_metric_row(tuned))
      expansion.problem("/tune/metric", "unknown metric " + shortened(tuned) + "; known: " + join(all_names()));
  }
  refuse_tuned_losses(study, expansion);
  if (asked.empty() || study.variants.empty()) return;
  const auto any = [&](const auto& holds) {
    return std::any_of(study.variants.begin(), study.variants.end(), [&](const Variant& variant) { return holds(variant.config); });
  };
  const auto bad = [&](const std::string& why) { expansion.problem("/compare/metric", why); };
  if (std::find(names.begin(), names.end(), asked) != names.end()) {
    if (!any([](const RunConfig& config) { return config.train.target.has_value(); }))
      bad("no variant has a target, so there is no " + asked + "; set train.target, or compare val/loss");
    else if (scale == "difference" || scale == "ratio")
      expansion.problem("/compare/scale",
                        asked + " is compared by ranks: a run that never reaches the target has no time; leave this at \"auto\"");
    return;
  }
  if (const MetricRow* row = find_metric_row(asked)) {
    if (!any([&](const RunConfig& config) { return is_logged(*row, config); }))
      bad("no variant logs " + asked + ": it is logged for " + text_of(row->logged_by).who + " only");
    else if (scale == "ratio" && row->higher_is_better)
      expansion.problem("/compare/scale", asked + " need not be positive, and has no ratios then; use \"difference\" or \"ranks\"");
    return;
  }
  const auto known = all_names();
  const auto suggestion = did_you_mean(asked, known);
  bad("unknown metric " + shortened(asked) + (suggestion.empty() ? "; known: " : suggestion + " Known: ") + join(known));
}

// The document that all variants share, with the variant's values in place.
Document with_assignments(const Document& common, const Combination& combination, Expansion& expansion) {
  Document document = common;
  const auto layer = document.new_layer();
  const auto rank = [](const Entry* entry) { return std::count(entry->key.begin(), entry->key.end(), '.'); };  // a section before its keys
  std::vector<const Entry*> in_order;
  for (const auto& entry : combination) in_order.push_back(&entry);
  std::stable_sort(in_order.begin(), in_order.end(), [&](const Entry* a, const Entry* b) { return rank(a) < rank(b); });
  for (const auto* entry : in_order) {
    try {
      Origin origin = expansion.document.origin(entry->pointer);
      origin.layer = layer;
      set_value(document, entry->key, entry->value, std::move(origin));
    } catch (const UsageError& error) {
      expansion.problem(entry->pointer, error.what());
    }
  }
  return document;
}

// Whether a key has several objects as values: "model.ffn": [{"kind": "gated", …}, {"kind": "formula", …}].
bool sweeps_objects(const SweepConfig& sweep) {
  const auto any = [](const Json& axes) {
    return std::any_of(axes.begin(), axes.end(), [](const Json& axis) { return axis.is_array() && !axis.empty() && axis[0].is_object(); });
  };
  return any(*sweep.grid) ||
         std::any_of(sweep.zip->begin(), sweep.zip->end(), [&](const Json& axes) { return axes.is_object() && any(axes); });
}

// Every grid point is a config: what one of them cannot have is found before anything is trained.
void check_tuning(const Study& study, const Document& common, const std::vector<Combination>& combinations,
                  const std::set<std::string>& swept, const std::string& source, Expansion& expansion, SharedProblems& of_variants) {
  const auto& tune = *study.tune;
  const auto before = expansion.problems.size();
  for (const auto& axis : tune.axes) {
    if (swept.count(axis.key)) expansion.problem("/tune/" + escape_pointer(axis.key), "\"" + axis.key + "\" is swept already");
    if (axis.key == "seed" || axis.key == "name" || axis.key == "label")
      expansion.problem("/tune/" + escape_pointer(axis.key), "a " + axis.key + " cannot be tuned");
  }
  for (const auto seed : study.sequential_seeds ? study.sequential_seeds->seeds(study.sequential_seeds->max) : study.seeds) {
    if (seed < kFirstTuningSeed) continue;
    expansion.problem(
        "/seeds", "seed " + std::to_string(seed) + " is kept for tuning; those that judge are below " + std::to_string(kFirstTuningSeed));
    break;
  }
  const std::size_t runs =
      combinations.size() / tuning_stride(study) * tune.num_points() * tune.seeds * (tune.per_seed ? study.seeds.size() : 1);
  if (runs > kMaxRuns) expansion.problem("/tune", std::to_string(runs) + " runs to tune; a study has at most " + std::to_string(kMaxRuns));
  if (expansion.problems.size() > before) return;
  for (const auto& combination : combinations) {
    for (std::size_t p = 0; p < tune.num_points(); ++p) {
      Combination with = combination;
      const auto values = tune.point(p);
      for (std::size_t i = 0; i < values.size(); ++i)
        with.push_back({tune.axes[i].key, *values[i], "/tune/" + escape_pointer(tune.axes[i].key)});
      try {
        read_run_config(with_assignments(common, with, expansion), source);
      } catch (const ConfigError& error) {
        for (auto problem : error.problems())
          of_variants.add(where_written(std::move(problem), with, expansion.document), variant_name(combination, swept));
      }
      if (expansion.problems.size() > before) return;
    }
  }
}

}  // namespace

std::shared_ptr<const Document> common_of(Document document) {
  auto common = std::make_shared<Document>(std::move(document));
  for (const char* key : {"$schema", "seeds", "sweep", "ladder", "tune", "compare", "expect", "question", "source"})
    common->tree().erase(key);
  return common;
}

RunConfig config_with(const Study& study, const std::vector<Assignment>& assignments) {
  Expansion expansion(*study.common);
  Combination combination;
  for (const auto& [key, value, pointer] : assignments) combination.push_back({key, *value, pointer});
  auto config = read_run_config(with_assignments(*study.common, combination, expansion), study.name);
  if (!expansion.problems.empty()) throw ConfigError(study.name, std::move(expansion.problems), "");
  return config;
}

namespace {

void add_variants(Study& study, const std::vector<SizedCombination>& sized, const std::string& source, Expansion& expansion,
                  SharedProblems& problems) {
  for (const auto& [combination, name, rung, size, rate_factor] : sized) {
    Variant variant{name, {}, {}, rung, size, rate_factor};
    for (const auto& entry : combination) variant.assignments.push_back({entry.key, entry.value, entry.pointer});
    try {
      variant.config = read_run_config(with_assignments(*study.common, combination, expansion), source);
      refuse_name_of_another(variant.config, combination, expansion, problems, variant.name);
      study.variants.push_back(std::move(variant));
    } catch (const ConfigError& error) {
      for (const auto& problem : error.problems()) problems.add(where_written(problem, combination, expansion.document), variant.name);
    }
  }
}

}  // namespace

std::string judged_metric(const Study& study) {
  if (!study.config.compare.metric.empty()) return study.config.compare.metric;
  const auto has_target = [](const Variant& variant) { return variant.config.train.target.has_value(); };
  const auto is_table_of_classes = [](const Variant& variant) { return is_logged(metric::kValMajorityAccuracy, variant.config); };
  return std::any_of(study.variants.begin(), study.variants.end(), has_target)            ? "steps_to_target"
         : std::all_of(study.variants.begin(), study.variants.end(), is_table_of_classes) ? metric::kValAccuracy.name
                                                                                          : metric::kValLoss.name;
}

Study read_study(const Document& document, const std::string& source) {
  Study study;
  Document base = document;
  const bool is_command = has_command(document);
  if (!is_command) keep_newer(base);
  study.document = base.tree();
  base.tree().erase("$schema");
  RunConfig run;
  Document shared = base;
  if (is_command) run.command.emplace().keys = take_free_keys(shared);
  // Without the activation: its parameters may be a variant's, and the layer around it, too.
  if (const Json::json_pointer ffn("/model/ffn"); !is_command && base.tree().contains(ffn) && base.tree()[ffn].is_object()) {
    for (const char* key : {"activation", "activation_parameters"}) shared.tree()[ffn].erase(key);
  }
  JsonReader reader(shared);
  reader.read([&](FieldVisitor& v) {
    run.describe(v);
    study.config.describe(v);
  });
  if (!reader.problems.empty())
    throw ConfigError(source, std::move(reader.problems), "`ffn-train list keys` shows every key with its default");
  study.name = run.name;
  if (is_command && !base.tree().contains("seeds")) study.config.seeds = Json::array({run.seed});
  if (is_command && study.config.compare.metric.empty())
    (*study.document)["compare"]["metric"] = study.config.compare.metric = run.command->main_metric();
  // Included variants and whole layers need not share keys with the others: such variants are compared whole.
  if (study.config.compare.by.empty() && (!study.config.sweep.include->empty() || sweeps_objects(study.config.sweep))) {
    study.config.compare.by = "variant";
    (*study.document)["compare"]["by"] = "variant";
  }

  Expansion expansion(base);
  if (is_sequential_design(*study.config.seeds)) study.sequential_seeds = read_sequential_seeds(base, expansion.problems);
  study.seeds =
      study.sequential_seeds ? study.sequential_seeds->seeds(SequentialSeeds::kFewest) : seed_list(*study.config.seeds, expansion);
  study.tune =
      read_tuning(*study.config.tune, [&](const std::string& pointer, const std::string& message) { expansion.problem(pointer, message); });
  auto combinations = expansion.combinations(study.config.sweep);
  std::set<std::string> keys;
  for (const auto& combination : combinations)
    for (const auto& assignment : combination) keys.insert(assignment.key);
  const std::size_t num_variants = combinations.size() * (study.config.ladder ? study.config.ladder->num_sizes() : 1);
  refuse_what_changes_no_result(study, keys, expansion);
  refuse_shared_labels(study.config.sweep, run.label, combinations.size(), expansion);
  if (!is_command) refuse_both_widths(combinations, study.tune ? study.tune->axes : std::vector<TuningAxis>(), expansion);
  if (keys.count("seed")) expansion.problem("/sweep", "\"seed\" cannot be swept: seeds are replicates, set \"seeds\"");
  const std::size_t most_seeds = study.sequential_seeds ? study.sequential_seeds->max : study.seeds.size();
  if (num_variants * most_seeds > kMaxRuns) {
    expansion.problem("/seeds", std::to_string(num_variants) + " variants and " + std::to_string(most_seeds) + " seeds are " +
                                    std::to_string(num_variants * most_seeds) + " runs; a study has at most " + std::to_string(kMaxRuns));
    throw ConfigError(source, std::move(expansion.problems), "split it: several studies can be compared together");
  }
  study.common = common_of(base);
  SharedProblems of_variants;
  const auto read = [&](const Combination& combination) -> std::optional<RunConfig> {
    try {
      return read_run_config(with_assignments(*study.common, combination, expansion), source);
    } catch (const ConfigError& error) {
      for (const auto& problem : error.problems())
        of_variants.add(where_written(problem, combination, expansion.document), variant_name(combination, keys));
      return std::nullopt;
    }
  };
  const auto sized = at_every_size(study, combinations, keys, read, expansion);
  combinations.clear();
  for (const auto& one : sized) combinations.push_back(one.combination);
  add_variants(study, sized, source, expansion, of_variants);
  if (study.tune) check_tuning(study, *study.common, combinations, keys, source, expansion, of_variants);
  if (study.tune && study.tune->metric.empty()) study.tune->metric = tuning_metric(judged_metric(study));
  of_variants.move_to(expansion.problems, combinations.size());
  if (!is_command && expansion.problems.empty()) refuse_unknown_parameters(study, combinations, expansion);
  if (!is_command && expansion.problems.empty()) refuse_keys_of_no_variant(study, base, keys, expansion);
  if (is_command) check_metric_of_command(study, *run.command, expansion);
  else check_metric(study, expansion);
  if (!is_command) check_ladder(study, expansion);
  else if (study.config.ladder)
    expansion.problem("/ladder", "a ladder goes by parameters, and how many a program's model has is not known; sweep its key");
  if (study.sequential_seeds && combinations.size() == 1)
    expansion.problem("/seeds", "one variant has nothing to decide; sweep a key, or give a number of seeds");
  if (study.sequential_seeds && !study.config.compare.over.empty())
    expansion.problem("/compare/over", "needs a fixed number of seeds; set \"seeds\" to a number");
  if (study.sequential_seeds && study.config.compare.metric == "seconds_to_target")
    expansion.problem("/compare/metric",
                      "seconds have no verdict, so they never come to an end; compare steps_to_target, or give a number of seeds");
  if (study.sequential_seeds && study.config.compare.pairs == "best")
    expansion.problem("/compare/pairs",
                      "each interim analysis would choose another best; \"all\" compares it, too, or give a number of seeds");
  if (study.sequential_seeds && study.config.compare.interaction)
    expansion.problem("/compare/interaction", "interim analyses test pairs alone; leave it out, or give a number of seeds");
  const auto splits_rows = [](const Variant& variant) {
    const auto* table = std::get_if<TableConfig>(&variant.config.task);
    return table && table->held_out_per_training() > 0;
  };
  if (study.sequential_seeds && std::any_of(study.variants.begin(), study.variants.end(), splits_rows))
    expansion.problem("/seeds", std::string("each seed splits the same rows of the table (task.split is per_seed): ") +
                                    TableConfig::kSeedsHelp + "; set \"seeds\" to a number, such as 30");
  if (combinations.empty() && expansion.problems.empty()) expansion.problem("/sweep", "no variant is left");
  if (!expansion.problems.empty()) throw ConfigError(source, std::move(expansion.problems), "nothing was started");
  return study;
}

}  // namespace ffn
