#include "ffn/study/search_documents.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "ffn/stats/permutation.hpp"

namespace ffn {

namespace {

std::string padded(std::size_t number) { return (number < 10 ? "00" : number < 100 ? "0" : "") + std::to_string(number); }

}  // namespace

SearchDocuments::SearchDocuments(const LayerSearch& search, const LoadTask& load, const SearchedLayers& layers)
    : name_(search.name), config_(search.config), layers_(layers) {
  for (const auto& task : *config_.tasks) add_task(task, true, load);
  for (const auto& task : *config_.unseen) add_task(task, false, load);
  refuse_few_seeds();
}

// With fewer seeds no layer could be found, whatever it is.
void SearchDocuments::refuse_few_seeds() const {
  const auto judged = static_cast<std::size_t>(config_.keep) + layers_.num_start - 1,
             sizes = std::max<std::size_t>(2, config_.sizes->size());
  const auto comparisons = judged * (config_.sizes->empty() ? 1 : sizes);
  if (comparisons > stats::most_comparisons(alpha_of_task()))
    throw UsageError("search.alpha is too small for " + std::to_string(comparisons) + " comparisons on each of " +
                         std::to_string(tasks.size()) + " tasks",
                     "fewer tasks, a smaller search.keep and fewer sizes allow it");
  const auto needed = stats::seeds_for_any_verdict(alpha_of_task(), comparisons);
  if (static_cast<std::size_t>(config_.judge_seeds) < needed)
    throw UsageError("search.judge_seeds " + std::to_string(config_.judge_seeds) + " allow no verdict over " + std::to_string(judged) +
                         " layers on " + std::to_string(tasks.size()) + " tasks" +
                         (config_.sizes->empty() ? "" : " at " + std::to_string(sizes) + " sizes"),
                     "at least " + std::to_string(needed) + " do; fewer tasks, a smaller search.keep and fewer sizes need fewer");
}

double SearchDocuments::alpha_of_task() const { return config_.alpha / static_cast<double>(tasks.size()); }

void SearchDocuments::add_task(const Json& written, bool is_seen, const LoadTask& load) {
  SearchTask task{written.get<std::string>(), "", is_seen, {}, 0, 0, 0, 0};
  const Document given = load(task.written);
  if (has_command(given)) throw UsageError(task.written + " runs a program, and a search is over layers of ffn-train");
  for (const auto& other : tasks)
    if (other.written == task.written)
      throw UsageError("search: " + task.written + " is named twice", "name each task once, among tasks or unseen");
  Document alone = *common_of(given);
  alone.tree()["train"]["target"] = nullptr;  // a run that stops there has no loss to compare
  const auto config = read_run_config(alone, task.written);
  // Resolved, so that what stood behind the name is no override of what a race or a size sets.
  const Json resolved = resolved_json(config);
  task.document.tree() = resolved;
  for (const char* key : {"name", "label", "seed"}) task.document.tree().erase(key);
  task.rate = resolved["train"]["optimizer"]["lr"].get<double>();
  task.steps = config.train.steps;
  task.d_model = config.model.d_model;
  const auto* size = size_of(config.model.ffn);
  task.expansion =
      size ? static_cast<double>(size->hidden_width(task.d_model)) / static_cast<double>(task.d_model) : FfnSize::kDefaultExpansion;
  task.name = std::to_string(tasks.size() + 1) + "-" + config.name;
  tasks.push_back(std::move(task));
}

Json SearchDocuments::ffn_of(const SearchTask& task, std::size_t layer) const {
  Json ffn = *layers_.all[layer].ffn;
  ffn["expansion"] = task.expansion;
  if (config_.match != "none") {
    ffn["match"] = config_.match;
    ffn["match_tolerance"] = config_.match_tolerance;
  }
  return ffn;
}

Study SearchDocuments::read(const Document& document) const {
  return read_study(document, name_ + ": " + document.tree()["name"].get<std::string>());
}

Document SearchDocuments::race(const SearchTask& task, const std::vector<std::size_t>& batch, std::size_t generation,
                               std::size_t round) const {
  Document out = task.document;
  Json& tree = out.tree();
  tree["name"] = "generation-" + padded(generation) + "-round-" + std::to_string(round + 1) + "-" + task.name;
  tree["keep"] = "summary";
  tree["train"]["eval_every"] = task.steps;
  tree["compare"] = {{"metric", "val/loss"}};
  const auto rounds = race_rounds(config_);
  Json seeds = Json::array(), variants = Json::array();
  for (std::size_t s = round == 0 ? 0 : rounds[round - 1]; s < rounds[round]; ++s)
    seeds.push_back(kFirstRaceSeed + static_cast<std::int64_t>(s));
  tree["seeds"] = seeds;
  for (const auto layer : batch) {
    const auto add = [&](double factor) {
      variants.push_back({{"label", layers_.all[layer].label + " at " + number_text(factor)},
                          {"model.ffn", ffn_of(task, layer)},
                          {"train.optimizer.lr", rounded_number(task.rate * factor, 6)}});
    };
    if (round > 0) add(layers_.all[layer].rate[static_cast<std::size_t>(&task - tasks.data())]);
    else
      for (const auto& factor : *config_.rates) add(factor.get<double>());
  }
  tree["sweep"] = {{"include", variants}};
  return out;
}

Document SearchDocuments::judgement(const SearchTask& task, const std::vector<std::size_t>& judged) const {
  Document out = task.document;
  Json& tree = out.tree();
  tree["name"] = task.name;
  tree["question"] = "Which of the layers that a search proposed are better than " + layers_.all[0].label + " on " + task.written + "?";
  Json seeds = Json::array();
  for (std::int64_t s = 0; s < config_.judge_seeds; ++s) seeds.push_back(config_.first_judge_seed + s);
  tree["seeds"] = seeds;
  Json variants = Json::array(), rates = Json::array();
  for (const auto layer : judged) variants.push_back({{"label", layers_.all[layer].label}, {"model.ffn", ffn_of(task, layer)}});
  for (const auto& factor : *config_.rates) rates.push_back(rounded_number(task.rate * factor.get<double>(), 6));
  tree["sweep"] = {{"include", variants}};
  if (rates.size() > 1) tree["tune"] = {{"train.optimizer.lr", rates}, {"retune", "per_seed"}};
  else tree["train"]["optimizer"]["lr"] = rates[0];
  tree["compare"] = {{"by", "variant"}, {"metric", "val/loss"}, {"reference", layers_.all[0].label}, {"alpha", alpha_of_task()}};
  return out;
}

Document SearchDocuments::sizes(const SearchTask& task, const std::vector<std::size_t>& better) const {
  std::vector<std::size_t> layers{0};
  layers.insert(layers.end(), better.begin(), better.end());
  Document out = judgement(task, layers);
  Json sizes = Json::array();
  if (config_.sizes->size() == 1) sizes.push_back(task.d_model);
  for (const auto& multiple : *config_.sizes) sizes.push_back(std::llround(multiple.get<double>() * static_cast<double>(task.d_model)));
  out.tree()["ladder"] = {{"key", "model.d_model"}, {"values", sizes}};
  return out;
}

}  // namespace ffn
