#include "ffn/config/search_config.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "ffn/base/duration.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/base/text.hpp"
#include "ffn/config/json_reader.hpp"
#include "ffn/config/run_config.hpp"
#include "ffn/formula/functions.hpp"

namespace ffn {

namespace {

std::vector<std::string> functions_of_one() {
  std::vector<std::string> out;
  for (const auto& function : element_functions())
    if (function.operands == 1 && std::string(function.name) != "-") out.emplace_back(function.name);
  return out;
}

// The fault of a list of functions; empty if nothing is.
std::string problem_of_functions(const Json& functions) {
  const auto known = functions_of_one();
  for (const auto& function : functions) {
    const std::string name = function.is_string() ? function.get<std::string>() : "";
    if (std::find(known.begin(), known.end(), name) == known.end())
      return shortened(function) + " is no function of one value" + did_you_mean(name, known) + "; there are " + join(known);
  }
  return "";
}

bool all_strings(const Json& list) {
  return std::all_of(list.begin(), list.end(), [](const Json& item) { return item.is_string() && !item.get<std::string>().empty(); });
}

bool all_layers(const Json& list) {
  return std::all_of(list.begin(), list.end(), [](const Json& item) { return item.is_string() || item.is_object(); });
}

bool all_differ_above(const Json& list, double least) {
  std::set<double> seen;
  return std::all_of(list.begin(), list.end(), [&](const Json& item) {
    return item.is_number() && item.get<double>() > least && seen.insert(item.get<double>()).second;
  });
}

Bounds<std::int64_t> from_to(std::int64_t low, std::int64_t high) { return between(low, high); }

void describe_space(FieldVisitor& v, SearchConfig& search) {
  v.json({"functions", "functions of one value, by name; not given: relu, gelu, silu, tanh, sigmoid, abs, sin"}, *search.functions,
         Shape::list);
  v.integer({"matrices", "matrices into the hidden layer at most; one more leads out"}, search.space.matrices, from_to(1, kMostMatrices));
  v.integer({"scalars", "trained numbers per hidden unit at most"}, search.space.scalars, from_to(0, 2));
  v.integer({"depth", "levels of functions and operators at most"}, search.space.depth, from_to(1, 8));
  v.flag({"norm", "whether rms_norm of the hidden layer is tried"}, search.space.norm);
  v.json({"layers",
          "candidates in place of the grammar: names of activations and formulas, or objects as model.ffn takes them, with a \"label\""},
         *search.layers, Shape::list);
  if (!search.functions->empty()) {
    const auto problem = problem_of_functions(*search.functions);
    v.require(problem.empty(), "functions", problem);
    if (problem.empty()) search.space.functions = search.functions->get<std::vector<std::string>>();
  }
  v.require(all_layers(*search.layers), "layers", "a layer is a name or an object; got " + shortened(*search.layers));
}

}  // namespace

void SearchConfig::describe(FieldVisitor& v) {
  v.json({"tasks", "configs (\"facts train.steps=400\": a file or a name, with changes behind it) on which layers race and are judged"},
         *tasks, Shape::list);
  v.json({"unseen", "configs on which layers are judged that raced on others"}, *unseen, Shape::list);
  v.json({"start", "layers that the search begins with; the first is the reference. Not given: relu"}, *start, Shape::list);
  v.section({"space", "what a layer E @ down may consist of"}, [this](FieldVisitor& inner) { describe_space(inner, *this); });
  v.choice({"match", "what the width of every layer is solved for, against the plain layer of the task's expansion"}, match,
           {{"params", "parameters"}, {"flops", "FLOPs"}, {"none", "nothing: all have the task's width"}});
  v.real({"match_tolerance", "largest relative mismatch that widths may leave"}, match_tolerance, at_least(0.0));
  v.json({"rates", "factors of each task's own learning rate, of which every layer is tried with all; not given: 0.33, 1, 3"}, *rates,
         Shape::list);
  v.integer({"generation", "layers that race together"}, generation, from_to(2, 1000));
  v.integer({"population", "layers of the latest races, of which parents are drawn"}, population, from_to(2, 10'000));
  v.integer({"race_seeds", "seeds of a race's last round; a quarter of them in the first, where half of the layers drop out"}, race_seeds,
            from_to(1, 1000));
  v.json({"budget", "of all races: training time, summed over workers, such as \"2h\", or a number of training FLOPs"}, *budget,
         Shape::any);
  v.integer({"keep", "layers that are judged, at most"}, keep, from_to(1, 50));
  v.integer({"judge_seeds", "fresh seeds that judge"}, judge_seeds, from_to(2, 10'000));
  v.integer({"first_judge_seed",
             "the first of them; another search on the same tasks needs others, or its layers are judged on seeds that were seen"},
            first_judge_seed, from_to(0, kFirstRaceSeed - 10'000));
  v.real({"alpha", "probability of any wrong verdict over all judged layers and tasks"}, alpha, Bounds<double>{0.0, 0.49, true});
  v.json({"sizes", "multiples of d_model at which layers are judged that proved better; not given: 2, 4; [] for none"}, *sizes,
         Shape::list);
  v.integer({"seed", "of the mutations"}, seed, at_least(std::int64_t{0}));
  v.require(!tasks->empty() && all_strings(*tasks), "tasks", "name at least one config; got " + shortened(*tasks));
  v.require(all_strings(*unseen), "unseen", "configs are names; got " + shortened(*unseen));
  v.require(all_layers(*start), "start", "a layer is a name or an object; got " + shortened(*start));
  v.require(all_differ_above(*rates, 0), "rates", "factors are different numbers above 0; got " + shortened(*rates));
  v.require(all_differ_above(*sizes, 1), "sizes", "multiples are different numbers above 1; got " + shortened(*sizes));
  v.require(budget_seconds() || (budget->is_number() && budget->get<double>() > 0), "budget",
            "say how long layers may race: \"10m\", \"2h\", or a number of FLOPs such as 1e15; got " + shortened(*budget));
}

std::optional<double> SearchConfig::budget_seconds() const {
  return budget->is_string() ? seconds_in(budget->get<std::string>()) : std::nullopt;
}

double SearchConfig::budget_flops() const { return budget->is_number() ? budget->get<double>() : std::numeric_limits<double>::infinity(); }

bool is_search(const Document& document) { return document.tree().contains("search"); }

LayerSearch read_search(const Document& document, const std::string& source) {
  Document base = document;
  base.tree().erase("$schema");
  LayerSearch out{"search", "", {}};
  out.config.sizes = Json();
  JsonReader reader(base);
  reader.read([&](FieldVisitor& v) {
    v.text({"name", "name of the results' directory"}, out.name);
    v.require(is_path_safe(out.name), "name", shortened(out.name) + " is not a directory name; use up to 128 letters, digits and -_.+=");
    v.text({"question", "the question that the search answers"}, out.question);
    v.group({"search", kSearchDoc}, out.config);
  });
  auto& config = out.config;
  if (!reader.problems.empty())
    throw ConfigError(source, std::move(reader.problems),
                      "a search has \"name\", \"question\" and \"search\" alone; `ffn-train list keys search` shows its keys");
  if (config.start->empty()) config.start = Json::array({"relu"});
  if (config.rates->empty()) config.rates = Json::array({0.33, 1, 3});
  if (config.sizes->is_null()) config.sizes = Json::array({2, 4});
  return out;
}

}  // namespace ffn
