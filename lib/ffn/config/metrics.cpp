#include "ffn/config/metrics.hpp"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <iterator>

#include "ffn/config/coverage.hpp"
#include "ffn/config/run_config.hpp"
#include "ffn/formula/activation_formula.hpp"
#include "ffn/kernels/kernels.hpp"

namespace ffn {

namespace {

bool has_hidden_layer(const ModelConfig& model) {
  const FfnSize* size = size_of(model.ffn);
  const auto text = layer_formula(model.ffn);
  if (!text || !activation_problem(size->activation).empty()) return false;
  std::vector<FormulaProblem> problems;  // said elsewhere
  const auto graph = compile_formula(*text, model.d_model, size->hidden_width(model.d_model), size->activation, problems);
  return problems.empty() && hidden_layer(graph);
}

// Layers are measured in the CPU network, whichever engine trains (train/layer_meter.hpp).
bool measures_layers(const RunConfig& config) { return config.train.layer_metrics && not_covered(config).empty(); }

}  // namespace

const std::vector<OutputMetric>& output_metrics() {
  static const std::vector<OutputMetric> rows{};
  return rows;
}

void add_output_metrics(std::int64_t rows, std::int64_t classes, const float* outputs, const std::int64_t* labels, LossSums& sums) {
  for (std::size_t m = 0; m < output_metrics().size(); ++m) {
    for (std::int64_t i = 0; i < rows; ++i) {
      if (labels[i] >= 0) sums.of_outputs[m] += output_metrics()[m].of_position(outputs + i * classes, classes, labels[i]);
    }
  }
}

const std::vector<MetricRow>& metric_catalogue() {
  static const std::vector<MetricRow> rows = [] {
    using namespace metric;
    // clang-format off
    std::vector<MetricRow> all{
        kTrainLoss, kTrainBalanceLoss, kTrainZLoss, kTrainImportanceLoss, kTrainLoadLoss, kTrainSequenceBalanceLoss, kTrainDropped,
        kTrainSlotsUsed, kTrainUsageEntropy, kTrainGradNorm,
        kValLoss, kValAccuracy, kValRmse, kValR2, kValMajorityAccuracy, kValFrequencyLoss, kValMeanRmse, kValBitsPerChar,
        kValBitsPerByte, kValGzipBitsPerByte, kValPerplexity};
    for (const auto& metric : output_metrics()) all.push_back(metric.row);
    all.insert(all.end(), {
        kValBitsPerParam, kValMostBitsPerParam,
        kFfnZeroFraction, kFfnNearZeroFraction, kFfnDeadUnits, kFfnEffectiveRank,
        kMoeMaxViolation, kMoeLoadEntropy, kMoeTokenEntropy, kMoeDeadExperts, kMoePurity});
    // clang-format on
    return all;
  }();
  return rows;
}

std::string without_best(const std::string& metric) { return metric.rfind("best ", 0) == 0 ? metric.substr(5) : metric; }

const MetricRow* find_metric_row(const std::string& given) {
  const std::string name = without_best(given);
  const auto dot = name.rfind('.');
  const bool of_block =
      dot != std::string::npos && dot + 1 < name.size() && name.find_first_not_of("0123456789", dot + 1) == std::string::npos;
  for (const auto& row : metric_catalogue()) {
    const bool of_layers = row.logged_by == LoggedBy::measured_layers || row.logged_by == LoggedBy::measured_mixtures ||
                           row.logged_by == LoggedBy::measured_groups;
    if (name == row.name || (of_block && of_layers && name.compare(0, dot, row.name) == 0)) return &row;
  }
  return nullptr;
}

std::optional<bool> usual_direction(std::string name) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto has_any = [&](std::initializer_list<const char*> words) {
    return std::any_of(words.begin(), words.end(), [&](const char* word) { return name.find(word) != std::string::npos; });
  };
  if (has_any({"per_sec", "throughput"})) return true;
  if (has_any({"loss", "bpb", "bits", "ppl", "perplexity", "err", "nll", "mse", "mae", "rmse", "time", "second", "step"})) return false;
  if (has_any({"acc", "auc", "f1", "score", "reward", "return", "bleu", "iou", "psnr", "r2", "precision", "recall"})) return true;
  return std::nullopt;
}

std::optional<bool> metric_direction(const std::string& name) {
  const MetricRow* row = find_metric_row(name);
  return row ? std::optional(row->higher_is_better) : usual_direction(name);
}

std::vector<AuxiliaryLoss> auxiliary_losses(const MoeConfig& c) {
  std::vector<AuxiliaryLoss> losses{{Auxiliary::balance, &metric::kTrainBalanceLoss, c.balance_weight}};
  const auto add = [&](bool is_set, Auxiliary kind, const MetricRow& logged_as, double weight) {
    if (is_set) losses.push_back({kind, &logged_as, weight});
  };
  const auto* noisy = std::get_if<NoisyTopKConfig>(&c.router);
  add(c.z_loss_weight > 0, Auxiliary::z, metric::kTrainZLoss, c.z_loss_weight);
  add(c.importance_weight > 0, Auxiliary::importance, metric::kTrainImportanceLoss, c.importance_weight);
  add(noisy && noisy->load_weight > 0, Auxiliary::load, metric::kTrainLoadLoss, noisy ? noisy->load_weight : 0);
  add(c.sequence_balance_weight > 0, Auxiliary::sequence_balance, metric::kTrainSequenceBalanceLoss, c.sequence_balance_weight);
  add(c.capacity_factor.has_value(), Auxiliary::dropped, metric::kTrainDropped, 0);
  return losses;
}

std::vector<AuxiliaryLoss> auxiliary_losses(const ModelConfig& model) {
  const auto* moe = std::get_if<MoeConfig>(&model.ffn);
  if (moe) return auxiliary_losses(*moe);
  if (!has_memory(model.ffn)) return {};
  return {{Auxiliary::slots_used, &metric::kTrainSlotsUsed, 0}, {Auxiliary::usage_entropy, &metric::kTrainUsageEntropy, 0}};
}

namespace {

struct Rule {
  LoggedBy logged_by;
  LoggedByText text;
  bool (*holds)(const RunConfig& config);
};

bool is_table_of(const RunConfig& config, Target target) {
  return std::holds_alternative<TableConfig>(config.task) && target_of(config.task) == target;
}
bool has_mixture(const RunConfig& config) { return std::holds_alternative<MoeConfig>(config.model.ffn); }
bool measures_mixture(const RunConfig& config) { return measures_layers(config) && has_mixture(config); }

const Rule kRules[] = {
    {LoggedBy::every_run, {"every run", "task.kind"}, [](const RunConfig&) { return true; }},
    {LoggedBy::class_tasks, {"tasks of classes", "task.kind"}, [](const RunConfig& c) { return target_of(c.task) == Target::classes; }},
    {LoggedBy::vector_tasks, {"tasks of vectors", "task.kind"}, [](const RunConfig& c) { return target_of(c.task) == Target::vectors; }},
    {LoggedBy::text_tasks,
     {"text tasks", "task.kind"},
     [](const RunConfig& c) { return writes_text(c.task) && std::holds_alternative<CrossEntropy>(c.loss()); }},
    {LoggedBy::class_tables, {"tables with a label", "task.kind"}, [](const RunConfig& c) { return is_table_of(c, Target::classes); }},
    {LoggedBy::number_tables, {"tables with a target", "task.kind"}, [](const RunConfig& c) { return is_table_of(c, Target::vectors); }},
    {LoggedBy::facts,
     {"facts tasks with a feed-forward layer", "task.kind"},
     [](const RunConfig& c) {
       return std::holds_alternative<FactsConfig>(c.task) && std::holds_alternative<CrossEntropy>(c.loss()) &&
              !std::holds_alternative<NoFfnConfig>(c.model.ffn);
     }},
    {LoggedBy::mixtures, {"models with a mixture of experts", "model.ffn.kind"}, has_mixture},
    {LoggedBy::mixtures_so_set,
     {"mixtures of experts whose config sets what it measures (`ffn-train list metrics`)", "model.ffn"},
     has_mixture},
    {LoggedBy::memories, {"memory layers (pkm, peer)", "model.ffn.kind"}, [](const RunConfig& c) { return has_memory(c.model.ffn); }},
    {LoggedBy::measured_layers,
     {"runs with train.layer_metrics and layers or experts that end in a map from a hidden layer, which the cpu engine covers",
      "train.layer_metrics"},
     [](const RunConfig& c) { return measures_layers(c) && has_hidden_layer(c.model); }},
    {LoggedBy::measured_mixtures,
     {"runs with train.layer_metrics and a mixture of experts that the cpu engine covers", "train.layer_metrics"},
     measures_mixture},
    {LoggedBy::measured_groups, {"such runs of a function task with task.group", "task.group"}, [](const RunConfig& c) {
       const auto* task = std::get_if<FunctionConfig>(&c.task);
       return task && !task->group.empty() && measures_mixture(c);
     }}};

const Rule& rule_of(LoggedBy logged_by) {
  return *std::find_if(std::begin(kRules), std::end(kRules), [&](const Rule& rule) { return rule.logged_by == logged_by; });
}

}  // namespace

bool is_logged(const MetricRow& row, const RunConfig& config) {
  const auto losses = row.logged_by == LoggedBy::mixtures_so_set ? auxiliary_losses(config.model) : std::vector<AuxiliaryLoss>();
  const auto is_row = [&](const AuxiliaryLoss& loss) { return std::string(loss.logged_as->name) == row.name; };
  return row.logged_by == LoggedBy::mixtures_so_set ? std::any_of(losses.begin(), losses.end(), is_row)
                                                    : rule_of(row.logged_by).holds(config);
}

LoggedByText text_of(LoggedBy logged_by) { return rule_of(logged_by).text; }

}  // namespace ffn
