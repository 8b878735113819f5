#include "ffn/study/search_layers.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "ffn/base/error.hpp"
#include "ffn/base/json_document.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/formula/named_formulas.hpp"
#include "ffn/kernels/activations.hpp"

namespace ffn {

namespace {

std::vector<std::string> names_of_layers() {
  std::vector<std::string> out;
  for (const auto& row : activations()) out.emplace_back(row.name);
  for (const auto& row : named_formulas()) out.emplace_back(row.name);
  return out;
}

const NamedFormula* find_named_formula(const std::string& name) {
  const auto& rows = named_formulas();
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const NamedFormula& r) { return r.name == name; });
  return row == rows.end() ? nullptr : &*row;
}

bool is_activation_name(const std::string& name) {
  const auto& rows = activations();
  return std::any_of(rows.begin(), rows.end(), [&](const Activation& row) { return row.name == name; });
}

Json ffn_of(const Candidate& candidate) {
  const auto text = formula_of_candidate(candidate);
  Json out = {{"kind", "formula"}, {"formula", text.formula}, {"parameters", *text.parameters}};
  if (!text.init->empty()) out["init"] = *text.init;
  return out;
}

}  // namespace

std::vector<std::size_t> race_rounds(const SearchConfig& config) {
  const auto seeds = static_cast<std::size_t>(config.race_seeds);
  std::vector<std::size_t> out{std::max<std::size_t>(1, seeds / 4), std::max<std::size_t>(1, seeds / 2), seeds};
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

SearchedLayers::SearchedLayers(const SearchConfig& config) : config_(config) {
  for (const auto& layer : *config.start) add_given(layer);
  num_start = all.size();
  for (const auto& layer : *config.layers) add_given(layer);
  if (config.layers->empty()) small_ = small_candidates(config.space);
}

std::size_t SearchedLayers::add_given(const Json& layer) {
  SearchedLayer out;
  if (layer.is_string()) {
    const auto name = layer.get<std::string>();
    const auto* formula = find_named_formula(name);
    if (is_activation_name(name)) {
      out.candidate = Candidate{{Hidden::Kind::call, 0, 0, name, {Hidden()}}};
      out.ffn = ffn_of(*out.candidate);
    } else if (formula) {
      out.candidate = candidate_of(formula_text(*formula), "gelu");
      out.ffn = Json({{"kind", "formula"}, {"name", name}});
    } else {
      throw UsageError("no layer or activation is called " + name + did_you_mean(name, names_of_layers()),
                       "`ffn-train list ffns` and `ffn-train list activations` show them; others are written as model.ffn has them");
    }
    out.label = out.named = name;
  } else {
    for (const char* key : {"label", "name", "formula"})
      if (layer.contains(key) && !layer[key].is_string())
        throw UsageError(std::string("search: the ") + key + " of a layer is a text; got " + shortened(layer[key]));
    out.ffn = layer;
    out.label = layer.value("label", layer.value("name", layer.value("formula", dump_json(layer))));
    out.ffn->erase("label");
  }
  if (num_start > 0) out.change = "one of search.space.layers";
  if (!labels_.insert(out.label).second)
    throw UsageError("two layers of the search are called " + out.label, "give one of them another \"label\"");
  if (out.candidate) {
    const auto facts = examine(*out.candidate);
    if (facts.problem.empty()) keys_.insert(facts.key);
    out.gated = facts.gated;
  }
  all.push_back(std::move(out));
  return all.size() - 1;
}

std::optional<std::size_t> SearchedLayers::add(const Candidate& candidate, std::optional<std::size_t> parent, const std::string& change) {
  const auto facts = examine(candidate);
  const std::string problem = !facts.problem.empty() ? facts.problem : !keys_.insert(facts.key).second ? "seen before" : "";
  if (!problem.empty()) return ++left_out[problem], std::nullopt;
  SearchedLayer out;
  out.named = facts.named;
  out.gated = facts.gated;
  out.label = facts.named.empty() || labels_.count(facts.named) ? expression_of(candidate) : facts.named;
  out.ffn = ffn_of(candidate);
  out.candidate = candidate;
  out.parent = parent;
  out.change = change;
  out.generation = generation_;
  labels_.insert(out.label);
  all.push_back(std::move(out));
  return all.size() - 1;
}

// Real et al. 2019, arXiv:1802.01548: the best of a sample of the population.
std::optional<std::size_t> SearchedLayers::draw_parent(RandomStream& random) const {
  std::vector<std::size_t> fertile, sample;
  for (const auto layer : population_)
    if (all[layer].candidate) fertile.push_back(layer);
  if (fertile.empty()) return std::nullopt;
  constexpr int kSample = 5;
  for (int i = 0; i < kSample; ++i) sample.push_back(fertile[random.below(static_cast<std::uint32_t>(fertile.size()))]);
  return best_of(sample, race_rounds(config_)[0], 1)[0];
}

std::vector<std::size_t> SearchedLayers::propose(std::size_t generation) {
  generation_ = generation;
  std::vector<std::size_t> out;
  if (generation == 0) {
    out.resize(all.size());
    std::iota(out.begin(), out.end(), std::size_t{0});
  }
  if (!config_.layers->empty()) return out;
  const auto wanted = static_cast<std::size_t>(config_.generation);
  const auto take = [&](std::optional<std::size_t> layer) {
    if (layer) out.push_back(*layer);
  };
  while (out.size() < wanted && next_small_ < small_.size()) take(add(small_[next_small_++], std::nullopt, "one of the smallest"));
  RandomStream random(sub_seed(static_cast<std::uint64_t>(config_.seed), "search"), generation);
  constexpr std::size_t kTries = 200;  // for each layer: a small space is exhausted some time
  for (std::size_t i = 0; i < kTries * wanted && out.size() < wanted; ++i) {
    const auto parent = draw_parent(random);
    if (!parent) break;
    auto [candidate, change] = mutated(*all[*parent].candidate, config_.space, random);
    take(add(candidate, parent, change));
  }
  return out;
}

void SearchedLayers::adopt(const std::vector<std::size_t>& generation) {
  population_.insert(population_.end(), generation.begin(), generation.end());
  const auto most = static_cast<std::size_t>(config_.population);
  if (population_.size() > most) population_.erase(population_.begin(), population_.end() - static_cast<std::ptrdiff_t>(most));
}

std::vector<double> SearchedLayers::mean_ranks(const std::vector<std::size_t>& layers, std::size_t seeds) const {
  std::vector<double> sums(layers.size());
  const std::size_t tasks = all[layers[0]].losses.size();
  for (std::size_t t = 0; t < tasks; ++t) {
    for (std::size_t s = 0; s < seeds; ++s) {
      const auto loss = [&](std::size_t i) { return all[layers[i]].losses[t][s]; };
      for (std::size_t i = 0; i < layers.size(); ++i)
        for (std::size_t j = 0; j < layers.size(); ++j) sums[i] += loss(j) < loss(i) ? 1 : loss(j) == loss(i) ? 0.5 : 0;
    }
  }
  for (auto& sum : sums) sum = 0.5 + sum / static_cast<double>(tasks * seeds);
  return sums;
}

std::vector<std::size_t> SearchedLayers::best_of(const std::vector<std::size_t>& layers, std::size_t seeds, std::size_t count) const {
  const auto ranks = mean_ranks(layers, seeds);
  std::vector<std::size_t> order(layers.size()), out;
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return ranks[a] < ranks[b]; });
  for (std::size_t i = 0; i < std::min(count, order.size()); ++i) out.push_back(layers[order[i]]);
  return out;
}

}  // namespace ffn
