// A run's log against the same training written out with LibTorch's modules, autograd and plain gradient descent in
// float64: every metric at every evaluation. Whatever reaches the objective or a metric under a wrong name, with a wrong
// weight or not at all, shows here.
#include "cases.hpp"
#include "ffn/base/random.hpp"
#include "ffn/base/text.hpp"
#include "ffn/config/parameters.hpp"
#include "ffn/layers/loss_torch.hpp"
#include "ffn/layers/network_torch.hpp"
#include "ffn/layers/parameter_row_torch.hpp"
#include "observer.hpp"
#include "support/batches.hpp"
#include "support/catch.hpp"
#include "support/worst.hpp"

using namespace ffn;

namespace {

constexpr double kRate = 0.05, kClip = 0.4, kBalanceWeight = 0.9;
constexpr std::int64_t kSteps = 7, kEvery = 3;

using Metrics = std::map<std::string, double>;

RunConfig plain_descent(RunConfig config) {
  config.seed = 4;
  config.train.steps = kSteps;
  config.train.eval_every = kEvery;
  config.train.clip_norm = kClip;  // below the norms here, so that clipping acts on the weights and not on the metric
  SgdConfig sgd;
  sgd.lr = kRate;
  sgd.momentum = 0;
  config.train.optimizer = sgd;
  if (config.model.init == "mup") config.model.init = "torch";  // its rates are Adam's
  config.train.schedule = ConstantSchedule{};
  if (auto* moe = std::get_if<MoeConfig>(&config.model.ffn)) moe->balance_weight = kBalanceWeight;
  return config;
}

// Their reference is networks made by hand: test_layer_meter.cpp.
bool is_of_layers(const std::string& metric) { return metric.rfind("ffn/", 0) == 0 || metric.rfind("moe/", 0) == 0; }

class Reference {
 public:
  explicit Reference(const RunConfig& config)
      : config_(config),
        task_(make_task(config.task, {{sub_seed(4, "data"), sub_seed(4, "validation")}})),
        network_(1, config.model, task_->shape()),
        row_(*network_, torch::kFloat64) {
    std::vector<float> start(static_cast<std::size_t>(row_.layout().width()));  // a run starts from floats
    initialise(config.model, row_.layout(), sub_seed(4, "init"), start.data());
    const torch::NoGradGuard no_grad;
    row_.values().copy_(torch::tensor(start).unsqueeze(0));
  }

  std::vector<Metrics> train() {
    std::vector<Metrics> out{validate()};
    double loss = 0;
    AuxiliaryValues auxiliary = {};
    const auto losses = auxiliary_losses(config_.model);
    std::int64_t count = 0;
    for (std::int64_t step = 0; step < kSteps; ++step) {
      const auto [step_loss, step_auxiliary, norm] = take(step);
      loss += step_loss;
      for (std::size_t i = 0; i < losses.size(); ++i) auxiliary.at(i) += step_auxiliary.at(i);
      ++count;
      if ((step + 1) % kEvery != 0 && step + 1 != kSteps) continue;
      auto metrics = validate();
      metrics["train/loss"] = loss / static_cast<double>(count);
      for (std::size_t i = 0; i < losses.size(); ++i) metrics[losses[i].logged_as->name] = auxiliary.at(i) / static_cast<double>(count);
      metrics["train/grad_norm"] = norm;
      out.push_back(metrics);
      loss = 0;
      auxiliary = {};
      count = 0;
    }
    return out;
  }

 private:
  struct Step {
    double loss;
    AuxiliaryValues auxiliary;
    double norm;
  };

  Step take(std::int64_t step) {
    const auto context = modules::training_context({test::kDropout}, {sub_seed(4, "dropout")}, step);
    const auto batch = test::train_batch(*task_, step, config_.train.batch_size);
    row_.gradients().zero_();
    const auto out = network_(test::as_double(batch.inputs), context);
    const auto loss = modules::compute_loss(config_.loss(), out.outputs, test::as_double(batch.labels)).mean.sum();
    const auto losses = auxiliary_losses(config_.model);
    torch::Tensor objective = loss;
    AuxiliaryValues auxiliary = {};
    for (std::size_t i = 0; i < losses.size(); ++i) {
      objective = objective + losses[i].weight * out.auxiliary.at(i).sum();
      auxiliary.at(i) = out.auxiliary.at(i).sum().item<double>();
    }
    objective.backward();
    const double norm = row_.gradients().norm().item<double>();
    const torch::NoGradGuard no_grad;
    row_.values().sub_(row_.gradients() * (kRate * std::min(1.0, kClip / norm)));
    network_->update_buffers(out.loads, torch::ones({1, 1}, torch::kBool));
    return {loss.item<double>(), auxiliary, norm};
  }

  Metrics validate() {
    const torch::NoGradGuard no_grad;
    const auto set = test::validation(*task_, config_.train.most_eval_examples());
    const torch::Tensor outputs = network_(test::as_double(set.inputs), modules::ForwardContext{}).outputs;
    const auto loss = modules::compute_loss(config_.loss(), outputs, test::as_double(set.labels));
    const double mean = loss.mean.item<double>();
    Metrics out{{"val/loss", mean}};
    if (target_of(config_.task) == Target::vectors) {
      const bool is_table = std::holds_alternative<TableConfig>(config_.task);
      const double unit = is_table ? Json::parse(task_->metadata(0).at("table"))["output"]["deviation"].get<double>() : 1;
      const double squared_error = torch::mse_loss(outputs, test::as_double(set.labels)).item<double>();
      out["val/rmse"] = unit * std::sqrt(squared_error);
      if (is_table) out["val/mean_rmse"] = unit * std::sqrt(test::as_double(set.labels).square().mean().item<double>());
      out["val/r2"] = 1 - squared_error / test::as_double(set.labels).var(/*unbiased=*/false).item<double>();
      return out;
    }
    out["val/accuracy"] = loss.correct.item<double>() / loss.scored.item<double>();
    if (std::holds_alternative<TableConfig>(config_.task)) {  // iris: 50 rows a class, so the rarest here is the most frequent in training
      const auto counts = torch::bincount(set.labels.flatten(), {}, 3);
      out["val/majority_accuracy"] = counts.min().item<double>() / counts.sum().item<double>();
      const torch::Tensor shares = (50 - counts).to(torch::kFloat64) / (150 - counts.sum());
      out["val/frequency_loss"] = -(counts * shares.log()).sum().item<double>() / counts.sum().item<double>();
    }
    if (const auto* facts = std::get_if<FactsConfig>(&config_.task)) {
      double parameters = 0;
      for (const auto& entry : row_.layout().entries())
        parameters += entry.name.find(".ffn.") != std::string::npos ? static_cast<double>(entry.count) : 0;
      const auto keys = static_cast<double>(facts->facts), values = static_cast<double>(facts->values);
      if (parameters > 0) {
        out["val/bits_per_param"] = keys * std::log2(values * std::exp(-mean)) / parameters;
        out["val/most_bits_per_param"] = keys * std::log2(values) / parameters;
      }
    }
    if (std::holds_alternative<TextConfig>(config_.task)) {
      out["val/bits_per_char"] = mean / std::log(2.0);
      const auto alphabet = alphabet_of(task_->metadata(0));
      std::string validated;
      for (std::int64_t i = 0; i < set.labels.numel(); ++i)
        append_utf8(validated, alphabet.at(static_cast<std::size_t>(set.labels.flatten()[i].item<std::int64_t>())));
      out["val/bits_per_byte"] = out["val/bits_per_char"] * static_cast<double>(set.labels.numel()) / static_cast<double>(validated.size());
      out["val/gzip_bits_per_byte"] = *task_->compressed(0);  // tests/data/test_corpus.cpp computes it otherwise
      out["val/perplexity"] = std::exp(mean);
    }
    return out;
  }

  const RunConfig& config_;
  std::unique_ptr<Task> task_;
  modules::Network network_;
  modules::ParameterRow row_;
};

}  // namespace

TEST_CASE("every logged metric is what plain gradient descent with LibTorch's modules measures", "[train][metrics]") {
  int checked = 0;
  for (const auto& [name, config] : test::cpu_cases_with({"gelu"})) {
    INFO(name);
    const auto run = plain_descent(config);
    const auto collected = test::train({run});
    const auto expected = Reference(run).train();
    const auto& found = collected.evaluations.at(0);
    REQUIRE(found.size() == expected.size());
    test::Worst worst;
    for (std::size_t i = 0; i < found.size(); ++i) {
      CHECK(found[i].step == std::min<std::int64_t>(kSteps, static_cast<std::int64_t>(i) * kEvery));
      std::size_t of_layers = 0;
      for (const auto& [metric, value] : found[i].metrics) {
        of_layers += is_of_layers(metric);
        if (is_of_layers(metric)) continue;
        INFO(metric << ": the reference lacks it? compute it in Reference of tests/train/test_metrics_torch.cpp");
        REQUIRE(expected[i].count(metric) == 1);
        worst.add((value - expected[i].at(metric)) / std::max(1.0, std::abs(value)), metric + " at step " + std::to_string(found[i].step));
      }
      CHECK(found[i].metrics.size() - of_layers == expected[i].size());
    }
    INFO("worst: " << worst.where());
    CHECK(worst.error() < 1e-5);  // seven steps of float32 against float64
    ++checked;
  }
  CHECK(checked > 50);
}
