#include "ffn/study/search.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "ffn/base/files.hpp"
#include "ffn/compare/declared_before.hpp"
#include "ffn/compare/each.hpp"
#include "ffn/store/run_directory.hpp"
#include "ffn/store/study_file.hpp"
#include "ffn/study/compare_plan.hpp"
#include "ffn/study/search_documents.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

class Searching {
 public:
  Searching(const LayerSearch& search, const SearchRequest& request)
      : search_(search), config_(search.config), request_(request), layers_(config_), documents_(search, request.load, layers_) {}

  SearchOutcome run(SearchObserver& observer) {
    remove_answer();
    if (!race(observer.races(), observer)) return {{}, std::move(unfinished_)};
    choose_judged();
    Json judged = Json::array(), sizes = Json::array();
    for (const auto& task : tasks_) {
      if (judged_.size() < 2) break;
      const auto comparison = judge(documents_.judgement(task, judged_), kJudgement, observer.judgement());
      if (!comparison) return {{}, std::move(unfinished_)};
      judged.push_back({{"task", task.written}, {"seen", task.is_seen}, {"directory", directory(kJudgement, task.name).string()}});
      judged.back().update(verdicts_of(*comparison, comparison->comparison.facets.at(0)));
      remember(*comparison);
      const auto better = better_layers(*comparison);
      if (better.empty() || config_.sizes->empty()) continue;
      const auto at_sizes = judge(documents_.sizes(task, better), kSizes, observer.judgement());
      if (!at_sizes) return {{}, std::move(unfinished_)};
      for (const auto& facet : at_sizes->comparison.facets) {
        sizes.push_back({{"task", task.written},
                         {"seen", task.is_seen},
                         {"directory", directory(kSizes, task.name).string()},
                         {"d_model", parse_json(facet.keys.begin()->second)}});
        sizes.back().update(verdicts_of(*at_sizes, facet));
      }
    }
    return {document(judged, sizes), {}};
  }

  SearchPlan plan() {
    SearchPlan out;
    const auto batch = layers_.propose(0);
    out.layers = batch.size();
    for (const auto& task : tasks_)
      if (task.is_seen) out.first_round.push_back(documents_.read(documents_.race(task, batch, 0, 0)));
    const auto most = std::min(layers_.all.size(), layers_.num_start + static_cast<std::size_t>(config_.keep));
    for (std::size_t i = 0; i < most; ++i) judged_.push_back(i);
    for (const auto& task : tasks_) out.judgement.push_back(documents_.read(documents_.judgement(task, judged_)));
    for (const auto& task : tasks_)  // what is wrong with a size is said before anything is trained
      if (judged_.size() > 1 && !config_.sizes->empty()) documents_.read(documents_.sizes(task, {judged_[1]}));
    return out;
  }

 private:
  fs::path root() const { return request_.study.out / search_.name; }
  fs::path directory(const char* part, const std::string& name) const { return root() / part / name; }

  // An answer of another search under this name, or of the same one before it went on.
  void remove_answer() const {
    std::error_code none;
    fs::remove(root() / kSearchFile, none);
  }

  // Layers that every task can have: a small task may have no width for one.
  std::vector<std::size_t> propose(std::size_t generation) {
    auto batch = layers_.propose(generation);
    const auto has_no_width = [&](std::size_t layer) {
      try {
        for (const auto& task : tasks_) documents_.read(documents_.judgement(task, {layer}));
        return false;
      } catch (const ConfigError&) {
        if (layer < layers_.num_start || !config_.layers->empty()) throw;
        return true;
      }
    };
    const auto end = std::remove_if(batch.begin(), batch.end(), has_no_width);
    if (end != batch.end()) layers_.left_out["without a width that matches"] += static_cast<std::size_t>(batch.end() - end);
    batch.erase(end, batch.end());
    return batch;
  }

  // The losses of a round; false where it came to no end.
  bool train_round(const SearchTask& task, const std::vector<std::size_t>& batch, std::size_t generation, std::size_t round,
                   StudyObserver& observer) {
    const auto study = documents_.read(documents_.race(task, batch, generation, round));
    const Plan plan = make_plan(study, directory(kRaces, study.name));
    auto outcome = train_plan(plan, request_.study, observer);
    if (outcome.interrupted || !outcome.failed.empty()) return unfinished_ = std::move(outcome), false;
    const std::size_t rates = round == 0 ? config_.rates->size() : 1, seeds = study.seeds.size(),
                      t = static_cast<std::size_t>(&task - tasks_.data());
    std::vector<std::vector<double>> of_variant(study.variants.size());
    for (const auto& run : plan.runs) {
      const auto record = read_record(run.directory);
      const auto summary = record ? record->summary : std::nullopt;
      const auto* loss = summary ? summary->find("val/loss") : nullptr;
      const bool is_whole = loss && record->state == RunState::done && std::isfinite(loss->final_value);
      of_variant[run.variant].push_back(is_whole ? loss->final_value : std::numeric_limits<double>::infinity());
      if (!summary) continue;
      ++num_runs_;
      seconds_ += summary->train_seconds;
      flops_ += 3.0 * static_cast<double>(summary->cost.flops) * static_cast<double>(summary->tokens);
    }
    for (std::size_t i = 0; i < batch.size(); ++i) {
      auto& layer = layers_.all[batch[i]];
      const auto* first = &of_variant[i * rates];
      const auto mean = [&](const std::vector<double>& losses) {
        double sum = 0;
        for (const double loss : losses) sum += loss;
        return sum / static_cast<double>(seeds);
      };
      const auto best = std::min_element(first, first + rates, [&](const auto& a, const auto& b) { return mean(a) < mean(b); });
      if (round == 0) {
        layer.rate.push_back((*config_.rates)[static_cast<std::size_t>(best - first)].get<double>());
        layer.losses.emplace_back();
      }
      layer.losses[t].insert(layer.losses[t].end(), best->begin(), best->end());
    }
    return true;
  }

  // Successive halving on ranks. False where it came to no end.
  bool race_generation(std::size_t generation, std::vector<std::size_t> batch, StudyObserver& observer) {
    const auto rounds = race_rounds(config_);
    for (std::size_t round = 0; round < rounds.size(); ++round) {
      for (const auto& task : tasks_)
        if (task.is_seen && !train_round(task, batch, generation, round, observer)) return false;
      const auto is_lost = [&](std::size_t layer) {
        const auto& losses = layers_.all[layer].losses;
        return std::any_of(losses.begin(), losses.end(), [](const auto& of_task) { return std::isinf(of_task[0]); });
      };
      if (round == 0 && std::all_of(batch.begin(), batch.end(), is_lost))
        throw DataError("every layer of generation " + std::to_string(generation + 1) + " diverged, at each of its rates",
                        "smaller search.rates, or a smaller train.optimizer.lr of the task");
      for (const auto layer : batch) layers_.all[layer].rounds = static_cast<int>(round) + 1;
      if (round + 1 < rounds.size()) batch = layers_.best_of(batch, rounds[round], (batch.size() + 1) / 2);
    }
    finalists_.insert(finalists_.end(), batch.begin(), batch.end());
    return true;
  }

  double share_of_budget() const {
    const auto seconds = config_.budget_seconds();
    return seconds ? seconds_ / *seconds : flops_ / config_.budget_flops();
  }

  bool race(StudyObserver& observer, SearchObserver& progress) {
    for (; share_of_budget() < 1; ++num_generations_) {
      const auto batch = propose(num_generations_);
      if (batch.empty()) return ended_ = "the space was exhausted", true;
      if (!race_generation(num_generations_, batch, observer)) return false;
      layers_.adopt(batch);
      const auto best = layers_.best_of(finalists_, race_rounds(config_).back(), 1)[0];
      progress.raced({num_generations_ + 1, layers_.all.size(), finalists_.size(), layers_.all[best].label, share_of_budget()});
    }
    ended_ = "the budget was used";
    return true;
  }

  // The layers of the start, and the best of those that ended a race.
  void choose_judged() {
    for (std::size_t i = 0; i < layers_.num_start; ++i) judged_.push_back(i);
    for (const auto layer : layers_.best_of(finalists_, race_rounds(config_).back(), finalists_.size()))
      if (layer >= layers_.num_start && judged_.size() < layers_.num_start + static_cast<std::size_t>(config_.keep))
        judged_.push_back(layer);
  }

  /// A judgement, and the label of each value that it compares.
  struct Judged {
    Comparison comparison;
    std::map<std::string, std::string> labels;
  };

  std::optional<Judged> judge(const Document& document, const char* part, StudyObserver& observer) {
    StudyRequest request = request_.study;
    request.out = root() / part;
    auto trained = train_study(documents_.read(document), request, observer);
    const auto& outcome = trained.outcome;
    if (!trained.is_tuned || outcome.interrupted || !outcome.failed.empty()) return unfinished_ = outcome, std::nullopt;
    auto comparison = compare_plan(trained.plan, CompareRequest().resamples);
    qualify(comparison, comparison_of(trained.plan.study));
    std::map<std::string, std::string> labels;
    for (const auto& variant : trained.plan.study.variants) labels[name_without_size(variant.name, "model.d_model")] = variant.config.label;
    return Judged{std::move(comparison), std::move(labels)};
  }

  static bool has_ratio(const PairResult& pair) {
    const auto& effect = pair.paired.effect;
    return effect && pair.paired.values == stats::PairedValues::log_ratio && std::isfinite(effect->value) &&
           std::isfinite(effect->interval.low) && std::isfinite(effect->interval.high);
  }

  static Json verdicts_of(const Judged& judged, const Facet& facet) {
    Json layers = Json::array();
    for (const auto& pair : facet.pairs) {
      layers.push_back(
          {{"layer", judged.labels.at(pair.value)}, {"verdict", stats::to_string(pair.judgement.verdict)}, {"p", pair.judgement.p_holm}});
      if (!has_ratio(pair)) continue;
      const auto& effect = *pair.paired.effect;
      layers.back()["ratio"] = std::exp(effect.value);
      layers.back()["interval"] = {std::exp(effect.interval.low), std::exp(effect.interval.high)};
    }
    return {{"seeds", facet.pairs.empty() ? 0 : facet.pairs[0].paired.num_seeds},
            {"qualification", judged.comparison.history.qualification},
            {"layers", layers}};
  }

  void remember(const Judged& judged) {
    const auto& facet = judged.comparison.facets.at(0);
    for (const auto& group : facet.groups) {
      Json& costs = costs_[judged.labels.at(group.value)];
      if (costs.is_null())
        costs = {{"parameters", group.parameters}, {"flops_per_token", group.flops_per_token}, {"seconds", 0.0}, {"log_ratio", 0.0}};
      costs["seconds"] = costs["seconds"].get<double>() + group.train_seconds / static_cast<double>(tasks_.size());
    }
    if (!std::all_of(facet.pairs.begin(), facet.pairs.end(), has_ratio)) return;  // by ranks there is no size of a difference
    ++num_ratios_;
    for (const auto& pair : facet.pairs) {
      Json& sum = costs_[judged.labels.at(pair.value)]["log_ratio"];
      sum = sum.get<double>() + pair.paired.effect->value;
    }
  }

  std::vector<std::size_t> better_layers(const Judged& judged) const {
    std::vector<std::size_t> out;
    for (const auto& pair : judged.comparison.facets.at(0).pairs) {
      if (pair.judgement.verdict != stats::Verdict::better) continue;
      const auto& label = judged.labels.at(pair.value);
      out.push_back(*std::find_if(judged_.begin(), judged_.end(), [&](std::size_t i) { return layers_.all[i].label == label; }));
    }
    return out;
  }

  // A judged layer is on the front if no other is as good in loss, parameters, FLOPs and time, and better in one of them.
  Json front() const {
    constexpr double kTimeMargin = 1.1;  // less is noise of the machine
    static constexpr const char* kAxes[] = {"log_ratio", "parameters", "flops_per_token", "seconds"};
    const auto dominates = [](const Json& a, const Json& b) {
      bool any = false;
      for (const char* axis : kAxes) {
        const double x = a[axis].get<double>(), y = b[axis].get<double>();
        const double margin = axis == kAxes[3] ? kTimeMargin : 1;
        if (x > margin * y) return false;
        any = any || margin * x < y;
      }
      return any;
    };
    Json out = Json::array();
    for (const auto layer : judged_) {
      const auto costs = costs_.find(layers_.all[layer].label);
      if (costs == costs_.end()) continue;
      Json row = {{"layer", costs->first}};
      row.update(costs->second);
      row["log_ratio"] = num_ratios_ == 0 ? Json() : Json(row["log_ratio"].get<double>() / static_cast<double>(num_ratios_));
      row["on_front"] =
          std::none_of(costs_.begin(), costs_.end(), [&](const auto& other) { return dominates(other.second, costs->second); });
      row["config"] = documents_.ffn_of(tasks_[0], layer);
      out.push_back(std::move(row));
    }
    return out;
  }

  Json layer_json(std::size_t index) const {
    const auto& layer = layers_.all[index];
    Json out = {{"layer", layer.label},
                {"named", layer.named},
                {"gated", layer.gated},
                {"formula", layer.candidate ? expression_of(*layer.candidate) : ""},
                {"parent", layer.parent ? Json(*layer.parent) : Json()},
                {"change", layer.change},
                {"generation", layer.generation},
                {"rounds", layer.rounds}};
    const auto at = std::find(finalists_.begin(), finalists_.end(), index);
    if (at != finalists_.end()) out["mean_rank"] = final_ranks_[static_cast<std::size_t>(at - finalists_.begin())];
    return out;
  }

  Json document(const Json& judged, const Json& sizes) {
    final_ranks_ = layers_.mean_ranks(finalists_, race_rounds(config_).back());
    Json layers = Json::array();
    for (std::size_t i = 0; i < layers_.all.size(); ++i) layers.push_back(layer_json(i));
    return {{"schema_version", kSchemaVersion},
            {"search", search_.name},
            {"question", search_.question},
            {"reference", layers_.all[0].label},
            {"start", layers_.num_start},
            {"alpha", config_.alpha},
            {"races",
             {{"generations", num_generations_},
              {"layers", layers_.all.size()},
              {"left_out", layers_.left_out},
              {"finalists", finalists_.size()},
              {"runs", num_runs_},
              {"flops", flops_},
              {"seconds", seconds_},
              {"ended", ended_}}},
            {"judgement", judged},
            {"sizes", sizes},
            {"front", front()},
            {"layers", layers}};
  }

  const LayerSearch& search_;
  const SearchConfig& config_;
  const SearchRequest& request_;
  SearchedLayers layers_;
  SearchDocuments documents_;
  const std::vector<SearchTask>& tasks_ = documents_.tasks;
  std::vector<std::size_t> finalists_, judged_;
  std::vector<double> final_ranks_;
  std::map<std::string, Json> costs_;  ///< of judged layers, by label
  std::size_t num_generations_ = 0, num_runs_ = 0;
  std::size_t num_ratios_ = 0;  ///< tasks on which every judged layer has a ratio of losses
  double seconds_ = 0, flops_ = 0;
  std::string ended_;
  StudyOutcome unfinished_;
};

}  // namespace

SearchOutcome run_search(const LayerSearch& search, const SearchRequest& request, SearchObserver& observer) {
  if (request.study.shard.count > 1)
    throw UsageError("--shard divides a known number of runs, and a search goes by what it finds",
                     "start the same command wherever the directory is seen: processes share the runs");
  Searching(search, request).plan();
  auto out = Searching(search, request).run(observer);
  if (!out.document->is_null())
    write_file_atomically(request.study.out / search.name / kSearchFile, dump_json_lossy(*out.document, 2) + "\n");
  return out;
}

SearchPlan plan_search(const LayerSearch& search, const SearchRequest& request) { return Searching(search, request).plan(); }

}  // namespace ffn
