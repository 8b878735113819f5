#include "ffn/config/study_config.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "ffn/config/json_reader.hpp"
#include "ffn/config/metrics.hpp"
#include "ffn/core/hash.hpp"
#include "ffn/core/suggest.hpp"

namespace ffn {

void CompareConfig::describe(FieldVisitor& v) {
  v.text({"by", "dotted key whose values are compared; the first that varies when empty"}, by);
  v.text({"metric",
          "a logged metric, steps_to_target, flops_to_target or seconds_to_target; steps_to_target when empty and there is a target, else "
          "val/loss"},
         metric);
  v.text({"reference", "value of `by` that the others are compared with; the first when empty"}, reference);
  v.real({"alpha", "chance of a wrong verdict over all comparisons of the study"}, alpha, Bounds<double>{0.0, 0.49, true});
  v.real({"min_effect",
          "smallest difference that matters; 0: any. In the metric's units, or, where ratios are compared (a loss), as a share: 0.05 is 5 %"},
         min_effect, at_least(0.0));
  v.choice({"scale", "on what a logged metric is compared"}, scale,
           {{"auto",
             "ratios where lower is better and all values are positive, otherwise differences; their mean, or ranks where a run has no value or "
             "the largest is above 15 times the median one"},
            {"difference", "differences in the metric's units; ranks only where a run has no value"},
            {"ratio", "ratios of positive values; ranks only where a run has no value"},
            {"ranks", "ranks of what auto compares"}});
}

void SweepConfig::describe(FieldVisitor& v) {
  v.json({"grid", "key → values; all combinations"}, *grid, Shape::object);
  v.json({"zip", "list of objects key → values whose keys move together"}, *zip, Shape::list);
  v.json({"include", "list of objects key → value: further variants"}, *include, Shape::list);
  v.json({"exclude", "list of objects key → value: combinations to leave out"}, *exclude, Shape::list);
}

void StudyConfig::describe(FieldVisitor& v) {
  v.json({"seeds",
          "how many seeds, or a list of seeds; every variant runs with each. {\"until\": \"settled\", \"min\": 8, \"max\": 100} (or \"auto\") adds "
          "seeds until every comparison has a verdict, or up to max: it looks at 8, 12, 16, 24, 32, 48, … seeds, at an error of alpha over all "
          "looks; min is trained whatever the first looks say, raising max goes on, and first is the first seed"}, *seeds, Shape::any);
  v.group({"sweep", "what varies"}, sweep);
  v.json({"tune", "keys → values: each variant is compared at its own best of them, chosen on other seeds; \"seeds\", \"metric\" and \"retune\" say how"}, *tune, Shape::object);
  v.group({"compare", "how the variants are compared at the end"}, compare);
  v.text({"question", "what the study is to answer"}, question);
  v.text({"source", "where the question comes from"}, source);
  v.json({"expect", "claims that are checked at the end"}, *expect, Shape::list);
}

void describe_document(FieldVisitor& v) {
  RunConfig run;
  StudyConfig study;
  run.describe(v);
  study.describe(v);
}

bool is_study(const Document& document) {
  const auto& tree = document.tree();
  return tree.contains("seeds") || tree.contains("sweep") || tree.contains("tune");
}

// ---- axes

namespace {

std::vector<double> numbers(const Json& list, std::size_t count, const char* form) {
  bool ok = list.is_array() && list.size() == count;
  for (const auto& x : list) ok = ok && x.is_number();
  if (!ok) throw std::invalid_argument(std::string("expected ") + form + ", got " + shortened(list));
  return list.get<std::vector<double>>();
}

Json as_number(double x) { return std::nearbyint(x) == x && std::abs(x) < 1e15 ? Json(static_cast<std::int64_t>(x)) : Json(x); }

}  // namespace

double rounded_number(double x, int digits) {
  if (x == 0) return 0;
  const double scale = std::pow(10.0, digits - 1 - std::floor(std::log10(std::abs(x))));
  return std::isfinite(scale) ? std::round(x * scale) / scale : x;
}

std::vector<Json> axis_values(const Json& axis) {
  std::vector<Json> values;
  if (axis.is_array()) values.assign(axis.begin(), axis.end());
  else if (axis.is_object() && axis.size() == 1 && axis.contains("logspace")) {
    const auto n = numbers(axis["logspace"], 3, "\"logspace\": [low, high, count]");
    if (n[0] <= 0 || n[1] <= 0 || n[2] < 2 || n[2] > 10000 || std::nearbyint(n[2]) != n[2]) {
      throw std::invalid_argument("\"logspace\" needs two positive ends and a count of at least 2, got " + shortened(axis["logspace"]));
    }
    for (int i = 0; i < static_cast<int>(n[2]); ++i) values.push_back(as_number(rounded_number(n[0] * std::pow(n[1] / n[0], i / (n[2] - 1)))));
  } else if (axis.is_object() && axis.size() == 1 && axis.contains("range")) {
    const auto n = numbers(axis["range"], 3, "\"range\": [start, stop, step]");
    if (n[2] == 0 || (n[1] - n[0]) / n[2] <= 0 || (n[1] - n[0]) / n[2] > 10000) {
      throw std::invalid_argument("\"range\" needs a step that leads from start to stop, got " + shortened(axis["range"]));
    }
    // A hair of slack: three steps of 0.1 end at 0.30000000000000004, which a stop of 0.3 has to leave out.
    const auto count = static_cast<int>(std::ceil((n[1] - n[0]) / n[2] - 1e-9));
    for (int i = 0; i < count; ++i) values.push_back(as_number(rounded_number(n[0] + i * n[2])));
  } else {
    throw std::invalid_argument("expected a list of values, {\"logspace\": [low, high, count]} or {\"range\": [start, stop, step]}, got " +
                                shortened(axis));
  }
  if (values.empty()) throw std::invalid_argument("has no values");
  return values;
}

namespace {

// An assignment and the JSON pointer at which the study writes it.
struct Entry {
  std::string key;
  Json value;
  std::string pointer;
};
using Combination = std::vector<Entry>;

struct Expansion {
  const Document& document;
  std::vector<Problem> problems;

  void problem(const std::string& pointer, const std::string& message) {
    problems.push_back({document.origin(pointer).text(), pointer, message});
  }

  // Each axis is a list of combinations: one assignment for a grid key, several for a zip.
  std::vector<std::vector<Combination>> axes(const SweepConfig& sweep) {
    std::vector<std::vector<Combination>> out;
    std::set<std::string> taken;
    for (const auto& item : sweep.grid->items()) {
      out.emplace_back();
      for (const auto& entry : entries(item.key(), item.value(), "/sweep/grid")) out.back().push_back({entry});
      taken.insert(item.key());
    }
    for (std::size_t i = 0; i < sweep.zip->size(); ++i) out.push_back(zipped("/sweep/zip/" + std::to_string(i), (*sweep.zip)[i], taken));
    return out;
  }

  std::vector<Combination> zipped(const std::string& pointer, const Json& object, std::set<std::string>& taken) {
    std::vector<Combination> axis;
    if (!object.is_object() || object.empty()) {
      problem(pointer, "expected an object key → values, got " + shortened(object));
      return axis;
    }
    std::string first;
    for (const auto& item : object.items()) {
      if (!taken.insert(item.key()).second) problem(pointer, "\"" + item.key() + "\" is swept twice");
      const auto list = entries(item.key(), item.value(), pointer);
      if (first.empty()) {
        axis.resize(list.size());
        first = item.key();
      } else if (list.size() != axis.size()) {
        problem(pointer, "\"" + item.key() + "\" has " + std::to_string(list.size()) + " values, \"" + first + "\" has " +
                             std::to_string(axis.size()) + "; keys that move together need equally many");
        return axis;
      }
      for (std::size_t i = 0; i < list.size(); ++i) axis[i].push_back(list[i]);
    }
    return axis;
  }

  std::vector<Entry> entries(const std::string& key, const Json& axis, const std::string& parent) {
    const std::string pointer = parent + "/" + escape_pointer(key);
    std::vector<Entry> out;
    try {
      for (auto& value : axis_values(axis)) out.push_back({key, std::move(value), pointer + "/" + std::to_string(out.size())});
    } catch (const std::invalid_argument& error) {
      problem(pointer, error.what());
    }
    return out;
  }

  std::vector<Combination> combinations(const SweepConfig& sweep) {
    std::vector<Combination> out = {{}};
    for (const auto& axis : axes(sweep)) {
      if (out.size() * axis.size() > kMaxVariants) {
        problem("/sweep", "more than " + std::to_string(kMaxVariants) + " variants");
        return {};
      }
      std::vector<Combination> crossed;
      for (const auto& before : out) {
        for (const auto& more : axis) {
          crossed.push_back(before);
          crossed.back().insert(crossed.back().end(), more.begin(), more.end());
        }
      }
      out = std::move(crossed);
    }
    exclude(sweep, out);
    include(sweep, out);
    return out;
  }

  void exclude(const SweepConfig& sweep, std::vector<Combination>& all) {
    for (std::size_t i = 0; i < sweep.exclude->size(); ++i) {
      const Json& pattern = (*sweep.exclude)[i];
      const std::string pointer = "/sweep/exclude/" + std::to_string(i);
      if (!pattern.is_object() || pattern.empty()) {
        problem(pointer, "expected an object key → value, got " + shortened(pattern));
        continue;
      }
      const auto matches = [&](const Combination& combination) {
        std::size_t hits = 0;
        for (const auto& entry : combination) hits += pattern.contains(entry.key) && pattern[entry.key] == entry.value;
        return hits == pattern.size();
      };
      const auto before = all.size();
      all.erase(std::remove_if(all.begin(), all.end(), matches), all.end());
      if (all.size() == before) problem(pointer, "matches no variant; it names keys or values that are not swept");
    }
  }

  void include(const SweepConfig& sweep, std::vector<Combination>& all) {
    // A sweep that only includes has no base variant of its own.
    const bool only_includes = sweep.grid->empty() && sweep.zip->empty() && !sweep.include->empty();
    if (only_includes) all.clear();
    for (std::size_t i = 0; i < sweep.include->size(); ++i) {
      const std::string pointer = "/sweep/include/" + std::to_string(i);
      const Json& included = (*sweep.include)[i];
      if (!included.is_object() || included.empty()) {
        problem(pointer, "expected an object key → value, got " + shortened(included));
        continue;
      }
      all.emplace_back();
      for (const auto& item : included.items())
        all.back().push_back({item.key(), item.value(), pointer + "/" + escape_pointer(item.key())});
    }
  }

  static constexpr std::size_t kMaxVariants = 10000;
};

// ---- names

std::string last_segment(const std::string& key) { return key.substr(key.rfind('.') + 1); }

// Keys by their last segment where that is unique in the study, else whole.
std::string short_key(const std::string& key, const std::set<std::string>& all) {
  int same = 0;
  for (const auto& other : all) same += last_segment(other) == last_segment(key);
  if (same == 1) return last_segment(key);
  std::string whole = key;
  for (auto& c : whole) c = c == '.' ? '-' : c;
  return whole;
}

std::string variant_name(const Combination& combination, const std::set<std::string>& keys) {
  std::string name;
  for (const auto& [key, value, pointer] : combination) {
    std::string text = value.is_string() ? value.get<std::string>() : dump_json(value);
    for (auto& c : text) {
      const bool safe = std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_';
      if (!safe) c = '_';
    }
    name += (name.empty() ? "" : "+") + short_key(key, keys) + "=" + text;
  }
  // compare passes over what was moved aside, and a start removes what was being written.
  for (const char* taken : {".old-", ".tmp-"}) {
    for (auto at = name.find(taken); at != std::string::npos; at = name.find(taken)) name[at] = '_';
  }
  constexpr std::size_t kLongest = 100;  // file systems allow 255 bytes
  if (name.size() > kLongest) name = name.substr(0, kLongest - 9) + "-" + sha256_hex(name).substr(0, 8);
  return name.empty() ? "base" : name;
}

// Each planned run takes some kilobytes and tens of microseconds before anything trains: these take seconds.
constexpr std::size_t kMaxRuns = 100'000;

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
    else if (!known.insert(seed.get<std::int64_t>()).second) bad("seed " + shortened(seed) + " stands twice; seeds are replicates");
    else out.push_back(seed.get<std::int64_t>());
  }
  return out;
}

// The seeds that a growing study starts with, and what is wrong with growing.
std::vector<std::int64_t> growing_seeds(Study& study, Expansion& expansion) {
  std::vector<SeedsProblem> problems;
  study.growing = read_growing_seeds(*study.config.seeds, problems);
  for (const auto& [pointer, message] : problems) expansion.problem(pointer, message);
  return study.growing->seeds(GrowingSeeds::kFewest);
}

// Whether the comparison that the study asks for can be had.
void check_metric(const Study& study, Expansion& expansion) {
  const std::string& asked = study.config.compare.metric;
  const std::string& scale = study.config.compare.scale;
  if (asked.empty() || study.variants.empty()) return;
  const auto any = [&](const auto& holds) {
    return std::any_of(study.variants.begin(), study.variants.end(), [&](const Variant& variant) { return holds(variant.config); });
  };
  const auto bad = [&](const std::string& why) { expansion.problem("/compare/metric", why); };
  std::vector<std::string> names(std::begin(kTimesToTarget), std::end(kTimesToTarget));
  if (std::find(names.begin(), names.end(), asked) != names.end()) {
    if (!any([](const RunConfig& config) { return config.train.target.has_value(); }))
      bad("no variant has a target, so there is no " + asked + "; set train.target, or compare val/loss");
    else if (scale == "difference" || scale == "ratio")
      expansion.problem("/compare/scale", asked + " is compared by ranks: a run that never gets there has no time; leave this at \"auto\"");
    return;
  }
  if (const MetricRow* row = find_metric_row(asked)) {
    if (!any([&](const RunConfig& config) { return is_logged(*row, config); }))
      bad("no variant logs " + asked + ": it is logged for " + text_of(row->logged_by).who + " only");
    else if (scale == "ratio" && row->higher_is_better)
      expansion.problem("/compare/scale", asked + " need not be positive, and has no ratios then; use \"difference\" or \"ranks\"");
    return;
  }
  for (const auto& row : metric_catalogue()) names.push_back(row.name);
  const auto suggestion = did_you_mean(asked, names);
  bad("unknown metric " + shortened(asked) + (suggestion.empty() ? "; known: " : suggestion + " Known: ") + join(names));
}

// Problems of variants, each said once.
class SharedProblems {
 public:
  void add(Problem problem, const std::string& variant) {
    auto& where = variants_[problem.text()];
    if (where.empty()) problems_.push_back(std::move(problem));
    where.push_back(variant);
  }

  void move_to(std::vector<Problem>& all, std::size_t num_variants) {
    for (auto& problem : problems_) {
      const auto& where = variants_[problem.text()];
      const std::string more = where.size() > 1 ? " and " + std::to_string(where.size() - 1) + " more" : "";
      if (where.size() == 1 || where.size() < num_variants) problem.message += " (in variant " + where[0] + more + ")";
      all.push_back(std::move(problem));
    }
  }

 private:
  std::vector<Problem> problems_;
  std::map<std::string, std::vector<std::string>> variants_;
};

// A key that only one kind has, swept in a grid together with the kind.
std::string instead_of_grid(const Combination& combination, const std::string& pointer) {
  const std::string section = pointer.substr(0, pointer.rfind('/') + 1);
  bool swept = false;
  const Entry* kind = nullptr;
  for (const auto& entry : combination) {
    if (entry.pointer.rfind("/sweep/grid/", 0) != 0) continue;
    swept = swept || pointer_of(entry.key) == pointer;
    if (pointer_of(entry.key) == section + "kind") kind = &entry;
  }
  if (!swept || !kind) return "";
  return "; a grid crosses every value with every kind: give this one to sweep.include as {\"" + kind->key + "\": " + shortened(kind->value) +
         "}, and the others to the grid";
}

// The document that all variants share, with the variant's values in place.
Document with_assignments(const Document& common, const Combination& combination, Expansion& expansion) {
  Document document = common;
  const auto is_kind = [](const Entry& entry) { return last_segment(entry.key) == "kind"; };
  for (const bool kinds : {true, false}) {  // first: a kind takes away what was another's, not what is given beside it
    for (const auto& entry : combination) {
      if (is_kind(entry) != kinds) continue;
      try {
        set_value(document, entry.key, entry.value, expansion.document.origin(entry.pointer));
      } catch (const UsageError& error) {
        expansion.problem(entry.pointer, error.what());
      }
    }
  }
  return document;
}

// Every grid point is a config: what one of them cannot have is found before anything is trained.
void check_tuning(const Study& study, const Document& common, const std::vector<Combination>& combinations, const std::set<std::string>& swept,
                  const std::string& source, Expansion& expansion, SharedProblems& of_variants) {
  const auto& tune = *study.tune;
  const auto before = expansion.problems.size();
  for (const auto& axis : tune.axes) {
    if (swept.count(axis.key)) expansion.problem("/tune/" + escape_pointer(axis.key), "\"" + axis.key + "\" is swept already");
    if (axis.key == "seed" || axis.key == "name") expansion.problem("/tune/" + escape_pointer(axis.key), "a " + axis.key + " cannot be tuned");
  }
  for (const auto seed : study.growing ? study.growing->seeds(study.growing->max) : study.seeds) {
    if (seed < kFirstTuningSeed) continue;
    expansion.problem("/seeds", "seed " + std::to_string(seed) + " is kept for tuning; those that judge are below " + std::to_string(kFirstTuningSeed));
    break;
  }
  const std::size_t runs = combinations.size() * tune.num_points() * tune.seeds * (tune.per_seed ? study.seeds.size() : 1);
  if (runs > kMaxRuns) expansion.problem("/tune", std::to_string(runs) + " runs to tune; a study has at most " + std::to_string(kMaxRuns));
  if (expansion.problems.size() > before) return;
  for (const auto& combination : combinations) {
    for (std::size_t p = 0; p < tune.num_points(); ++p) {
      Combination with = combination;
      const auto values = tune.point(p);
      for (std::size_t i = 0; i < values.size(); ++i) with.push_back({tune.axes[i].key, *values[i], "/tune/" + escape_pointer(tune.axes[i].key)});
      try {
        read_run_config(with_assignments(common, with, expansion), source);
      } catch (const ConfigError& error) {
        for (auto problem : error.problems()) of_variants.add(std::move(problem), variant_name(combination, swept));
      }
      if (expansion.problems.size() > before) return;
    }
  }
}

}  // namespace

RunConfig config_with(const Study& study, const std::vector<Assignment>& assignments) {
  Expansion expansion{*study.common, {}};
  Combination combination;
  for (const auto& [key, value] : assignments) combination.push_back({key, *value, ""});
  auto config = read_run_config(with_assignments(*study.common, combination, expansion), study.name);
  if (!expansion.problems.empty()) throw ConfigError(study.name, std::move(expansion.problems), "");
  return config;
}

Study read_study(const Document& document, const std::string& source) {
  Study study;
  study.document = document.tree();
  Document base = document;
  base.tree().erase("$schema");
  keep_newer_width(base);
  RunConfig run;
  JsonReader reader(base);
  reader.read([&](FieldVisitor& v) {
    run.describe(v);
    study.config.describe(v);
  });
  if (!reader.problems.empty())
    throw ConfigError(source, std::move(reader.problems), "`ffn-train list keys` shows every key with its default");
  study.name = run.name;
  // What include adds need not have the keys of the others: its variants are compared whole.
  if (study.config.compare.by.empty() && !study.config.sweep.include->empty()) {
    study.config.compare.by = "variant";
    (*study.document)["compare"]["by"] = "variant";
  }

  Expansion expansion{base, {}};
  study.seeds = is_growing(*study.config.seeds) ? growing_seeds(study, expansion) : seed_list(*study.config.seeds, expansion);
  study.tune = read_tuning(*study.config.tune, [&](const std::string& pointer, const std::string& message) { expansion.problem(pointer, message); });
  const auto combinations = expansion.combinations(study.config.sweep);
  std::set<std::string> keys, names;
  for (const auto& combination : combinations) {
    for (const auto& assignment : combination) keys.insert(assignment.key);
  }
  if (keys.count("seed")) expansion.problem("/sweep", "\"seed\" cannot be swept: seeds are replicates, set \"seeds\"");
  const std::size_t most_seeds = study.growing ? study.growing->max : study.seeds.size();
  if (combinations.size() * most_seeds > kMaxRuns) {
    expansion.problem("/seeds", std::to_string(combinations.size()) + " variants and " + std::to_string(most_seeds) + " seeds are " +
                                    std::to_string(combinations.size() * most_seeds) + " runs; a study has at most " + std::to_string(kMaxRuns));
    throw ConfigError(source, std::move(expansion.problems), "split it: several studies can be compared together");
  }
  auto shared = std::make_shared<Document>(base);
  Document& common = *shared;
  for (const char* key : {"seeds", "sweep", "tune", "compare", "expect", "question", "source"}) {
    common.tree().erase(key);
    common.set_origin(pointer_of(key), {});
  }
  study.common = std::move(shared);
  SharedProblems of_variants;
  for (const auto& combination : combinations) {
    Variant variant{variant_name(combination, keys), {}, {}, {}};
    for (const auto& entry : combination) variant.assignments.push_back({entry.key, entry.value});
    if (!names.insert(variant.name).second) expansion.problem("/sweep", "the variant " + variant.name + " occurs twice");
    try {
      variant.config = read_run_config(with_assignments(common, combination, expansion), source);
      study.variants.push_back(std::move(variant));
    } catch (const ConfigError& error) {
      for (auto problem : error.problems()) {
        problem.message += instead_of_grid(combination, problem.pointer);
        of_variants.add(std::move(problem), variant.name);
      }
    }
  }
  if (study.tune) check_tuning(study, common, combinations, keys, source, expansion, of_variants);
  of_variants.move_to(expansion.problems, combinations.size());
  check_metric(study, expansion);
  if (study.growing && combinations.size() == 1) expansion.problem("/seeds", "one variant has nothing to settle; sweep a key, or give a number of seeds");
  if (study.growing && study.config.compare.metric == "seconds_to_target")
    expansion.problem("/compare/metric", "seconds have no verdict, so they never settle; compare steps_to_target, or give a number of seeds");
  if (combinations.empty() && expansion.problems.empty()) expansion.problem("/sweep", "no variant is left");
  if (!expansion.problems.empty()) throw ConfigError(source, std::move(expansion.problems), "nothing was started");
  return study;
}

}  // namespace ffn

