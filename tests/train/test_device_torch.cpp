// A device's own ways to compute, on the CPU: LibTorch's own kernels, batches and coefficients made as tensors, precision, parts of
// a batch.
#include <ATen/record_function.h>

#include <map>
#include <set>

#include "ffn/config/parameters.hpp"
#include "ffn/layers/activation_torch.hpp"
#include "ffn/train/cohort_config.hpp"
#include "ffn/train/learner_torch.hpp"
#include "ffn/train/verify_torch.hpp"
#include "support/catch.hpp"
#include "train/cases.hpp"

using namespace ffn;
using torch::Tensor;

namespace {

TorchOptions as_on_a_device(torch::Dtype dtype = torch::kFloat64) {
  TorchOptions options;
  options.dtype = dtype;
  options.own_kernels = true;
  return options;
}

Tensor device_gradients(const RunConfig& config, const Task& task, const TorchOptions& options) {
  TorchLearner learner({config, config}, task, options);
  std::vector<float> row(static_cast<std::size_t>(learner.layout().width()));
  for (std::size_t run = 0; run < 2; ++run) {
    learner.layout().initialise(run, row.data());
    learner.write_state(run, 0, row.data());
  }
  return learner.gradients_at(3).clone();
}

double apart(const Tensor& a, const Tensor& b) { return (a - b).abs().max().item<double>(); }

RunConfig config_of_file(const std::string& file) {
  const std::string path = FFN_SOURCE_DIR "/configs/" + file;
  return read_run_config(load_document(path), path);
}

}  // namespace

TEST_CASE("every model has the same gradient by LibTorch's own kernels", "[torch]") {
  TorchOptions exact;
  exact.dtype = torch::kFloat64;
  for (const auto& [name, config] : test::cases()) {
    INFO(name);
    const auto task = make_task(config.task, {{1, 2}, {3, 4}});
    const Tensor expected = device_gradients(config, *task, exact);
    auto options = as_on_a_device();
    CHECK(apart(expected, device_gradients(config, *task, options)) <= 1e-10);
    options.waits = true;  // of a mixture: by groups
    CHECK(apart(expected, device_gradients(config, *task, options)) <= 1e-10);
  }
}

TEST_CASE("every activation has LibTorch's own kernel or a formula in bfloat16", "[torch]") {
  const modules::OwnKernels kernels(true);
  modules::ForwardContext context;
  context.host_free = true;
  const Tensor at = torch::linspace(-3, 3, 61);
  for (const auto& phi : activations()) {
    INFO(phi.name);
    Tensor full = at.clone().requires_grad_(), lowered = at.clone().requires_grad_();
    const Tensor expected = modules::activate(phi, full, context), found = modules::activate(phi, lowered.to(torch::kBFloat16), context);
    CHECK(found.scalar_type() == torch::kBFloat16);
    expected.sum().backward();
    found.sum().backward();
    CHECK(apart(expected, found) < 0.2);  // relu2 of 3 is 9, with 8 bits
    CHECK(apart(full.grad(), lowered.grad()) < 0.2);
  }
}

TEST_CASE("a device draws the batches that the task writes, bit for bit", "[torch]") {
  XorConfig patterns;
  patterns.bits = 5;
  patterns.label_noise = 0.2;
  TextConfig text;
  text.file = test::text_file();
  text.context = 7;
  std::vector<TaskConfig> configs{patterns, text};
  for (const char* task :
       {R"({"kind": "xor", "bits": 32, "jitter": 0.3})", R"({"kind": "sequence_xor", "length": 40, "first_offset": 2, "second_offset": 5})",
        R"({"kind": "sequence", "name": "copy", "length": 8, "alphabet": 5})",
        R"({"kind": "sequence", "name": "sort", "length": 8, "alphabet": 5})",
        R"({"kind": "sequence", "name": "recall", "length": 24, "alphabet": 9})",
        R"({"kind": "sequence", "name": "memorization", "length": 24, "alphabet": 9})",
        R"({"kind": "function", "name": "sparse_parity", "label_noise": 0.3})",
        R"({"kind": "function", "name": "modular", "held_out": 0.4, "jitter": 0.1})", R"({"kind": "function", "name": "clusters"})",
        R"({"kind": "function", "name": "gauss"})", R"({"kind": "function", "name": "product", "noise": 0.2})",
        R"raw({"kind": "function", "label_noise": 0.5, "inputs": {"a": {"integer": 7, "size": 3}, "u": {"uniform": [-3, 5]}, "b": "bit"},
               "label": "(a[0] ^ a[1] | 2 & a[2]) % 5 + (!b) * (max(min(a), u) > abs(floor(u)) % 3 / 0.7)"})raw"})
    configs.push_back(read_run_config(parse_document(R"({"task": )" + std::string(task) + "}", "task", "/"), "task").task);
  int number = 0;
  for (const TaskConfig& config : configs) {
    const auto task = make_task(config, {{1, 2}, {0xFEDCBA9876543210u, 4}, {5, 6}});
    INFO("task " << number++);
    constexpr std::int64_t kBatch = 300;
    const DeviceBatches batches(*task, 4, kBatch, torch::kFloat32);
    REQUIRE(batches.drawn());
    const std::vector<std::int64_t> steps{0, 1, 77, (std::int64_t{1} << 33) + 5};
    const StackBatch drawn = batches.at(torch::tensor(steps, torch::kInt64));
    for (std::size_t k = 0; k < steps.size(); ++k) {
      for (std::size_t run = 0; run < 3; ++run) {
        const ExampleSet written = task->batch(run, steps[k], kBatch);
        const Tensor inputs = drawn.inputs[static_cast<std::int64_t>(k)][static_cast<std::int64_t>(run)].flatten(),
                     targets = drawn.targets[static_cast<std::int64_t>(k)][static_cast<std::int64_t>(run)].flatten();
        CHECK(torch::equal(targets, written.values.empty() ? torch::tensor(written.labels, torch::kInt64) : torch::tensor(written.values)));
        CHECK(torch::equal(inputs, task->shape().tokens ? torch::tensor(written.tokens, torch::kInt64) : torch::tensor(written.vectors)));
      }
    }
  }
}

TEST_CASE("a device leaves to the host what libraries round in their own way, and what it has to refuse", "[torch]") {
  const auto task_of = [](const std::string& keys) {
    return make_task(read_run_config(parse_document(R"({"task": {"kind": "function", )" + keys + "}}", "task", "/"), "task").task,
                     {{1, 2}});
  };
  CHECK_FALSE(DeviceBatches(*task_of(R"("name": "spiral")"), 1, 8, torch::kFloat32).drawn());
  const auto rarely_undefined =
      task_of(R"raw("inputs": {"u": {"uniform": [0, 1], "size": 2}}, "classes": 2, "label": "where(u[0] > 0.9999, 0 / 0, u[1] > 0.5)")raw");
  const DeviceBatches batches(*rarely_undefined, 1, 40000, torch::kFloat32);
  REQUIRE(batches.drawn());
  CHECK_FALSE(batches.at(torch::zeros({1}, torch::kInt64)).inputs.defined());
  CHECK_THROWS_AS(rarely_undefined->batch(0, 0, 40000), DataError);
}

TEST_CASE("coefficients made of what runs and what steps share are those of each run", "[torch]") {
  for (const auto& [name, config] : test::cases()) {
    INFO(name);
    const auto task = make_task(config.task, {{1, 2}});
    modules::Network network(3, config.model, task->shape());
    const modules::ParameterRow row(*network, torch::TensorOptions());
    std::vector<OptimizerConfig> configs(2, config.train.optimizer);
    std::visit(
        [](auto& c) {
          c.lr *= 3;
          c.weight_decay = 0.3;
        },
        configs[1]);
    const TensorOptimizer optimizer(row.layout(), row.values(), configs, update_rule(config));
    const auto [base, slope] = optimizer.bases_and_slopes();
    for (const std::int64_t step : {1, 2, 1000})
      CHECK(apart(optimizer.coefficients(step, 0.7), (base + slope * optimizer.shared_coefficients(step, 0.7)).narrow(0, 0, 3)) < 1e-12);
  }
}

TEST_CASE("the parts of a batch add up to its gradient, unscored positions included", "[torch]") {
  int seen = 0;
  for (auto [name, config] : test::cases()) {
    INFO(name);
    if (std::holds_alternative<MoeConfig>(config.model.ffn) || dropout_rate(config.model.ffn) > 0 || config.model.residual_dropout > 0)
      continue;
    config.train.batch_size = 6;
    const auto task = make_task(config.task, {{1, 2}, {3, 4}});
    const Tensor whole = device_gradients(config, *task, as_on_a_device());
    config.train.accumulate = 3;
    CHECK(apart(whole, device_gradients(config, *task, as_on_a_device())) <= 1e-12);
    ++seen;
  }
  CHECK(seen > 10);
}

TEST_CASE("the parts of a batch have dropout masks of their own", "[torch]") {
  auto config = config_of_file("xor.json");
  std::visit(
      [](auto& ffn) {
        if constexpr (std::is_base_of_v<FfnSize, std::decay_t<decltype(ffn)>>) ffn.dropout = 0.5;
      },
      config.model.ffn);
  config.train.batch_size = 64;
  const auto task = make_task(config.task, {{1, 2}, {3, 4}});
  const Tensor whole = device_gradients(config, *task, as_on_a_device());
  config.train.accumulate = 2;
  CHECK(apart(whole, device_gradients(config, *task, as_on_a_device())) > 1e-6);
}

TEST_CASE("bfloat16 lowers products alone, and verify knows its roundings", "[torch]") {
  for (const char* file : {"text.json", "llama.json", "gated.json"}) {
    INFO(file);
    auto config = config_of_file(file);
    const auto task = make_task(config.task, {{1, 2}, {3, 4}});
    const Tensor full = device_gradients(config, *task, as_on_a_device(torch::kFloat32));
    config.compute.precision = "bfloat16";
    const Tensor lowered = device_gradients(config, *task, as_on_a_device(torch::kFloat32));
    CHECK(lowered.scalar_type() == torch::kFloat32);
    const double off = (lowered - full).norm().item<double>() / full.norm().item<double>();
    CHECK(off > 1e-4);
    CHECK(off < 0.1);
    VerifyRequest request;
    request.steps = 2;
    const TorchOptions device;
    const auto result = verify_engines(config, request, &device);
    CHECK(result.steps == 2);
    for (const auto& p : result.parameters) {
      INFO(p.name);
      CHECK(p.gradient <= kVerifyLimit * p.gradient_unit);
      CHECK(p.weight <= kVerifyLimit * p.weight_unit);
    }
  }
}

namespace {

std::map<std::string, std::int64_t> aten_calls;

// Operations that start a kernel on a device: neither views nor allocation, nor numbers that stand for a tensor.
std::int64_t launches() {
  static const std::set<std::string> kNone{
      "as_strided",     "select",       "slice",       "narrow",       "view",   "_unsafe_view",  "reshape",
      "_reshape_alias", "expand",       "expand_as",   "transpose",    "t",      "permute",       "unsqueeze",
      "squeeze",        "unfold",       "alias",       "detach",       "empty",  "empty_strided", "empty_like",
      "resize_",        "resolve_conj", "resolve_neg", "result_type",  "to",     "_to_copy",      "fill_",
      "flatten",        "set_",         "view_as",     "broadcast_to", "unbind", "item",          "is_nonzero"};
  std::int64_t sum = -aten_calls["aten::_to_copy"];  // each has a copy_
  for (const auto& [name, count] : aten_calls) {
    if (name.rfind("aten::", 0) == 0 && kNone.count(name.substr(6)) == 0) sum += count;
  }
  return sum;
}

}  // namespace

TEST_CASE("a step of a small stack launches few kernels", "[torch]") {
  const auto config = config_of_file("xor.json");
  const auto task = make_task(config.task, {{1, 2}});
  TorchOptions options = as_on_a_device(torch::kFloat32), before = options;
  before.own_kernels = false;
  before.host_free = true;
  std::vector<double> each;
  for (const auto& how : {options, before}) {
    TorchLearner learner({config}, *task, how);
    std::vector<RunSteps> out;
    learner.advance(0, 1, {1}, out);
    const auto handle = at::addGlobalCallback(at::RecordFunctionCallback([](const at::RecordFunction& call) {
                                                ++aten_calls[call.name()];
                                                return std::unique_ptr<at::ObserverContext>();
                                              }).scopes({at::RecordScope::FUNCTION}));
    const auto counted = [&](std::int64_t begin, std::int64_t end) {
      aten_calls.clear();
      learner.advance(begin, end, {1}, out);
      return launches();
    };
    const auto few = counted(1, 2), many = counted(2, 66);
    at::removeCallback(handle);
    each.push_back(static_cast<double>(many - few) / 63);
  }
  INFO("a step: " << each[0] << ", without own kernels " << each[1]);
  CHECK(each[0] <= 120);
  CHECK(each[0] < 0.7 * each[1]);
}

TEST_CASE("runs train on a device as they do without, and one that blows up leaves its neighbours alone", "[torch]") {
  auto config = config_of_file("xor.json");
  config.train.clip_norm = 1;
  for (const bool l2 : {false, true}) {
    if (l2) {
      AdamConfig adam;
      adam.weight_decay = 0.1;
      config.train.optimizer = adam;
    }
    std::vector<RunConfig> runs(3, config);
    std::visit([](auto& c) { c.lr = 1e200; }, runs[1].train.optimizer);
    const auto task = make_task(config.task, {{1, 2}, {3, 4}, {5, 6}});
    std::vector<Tensor> ends;
    for (const bool device : {false, true}) {
      TorchOptions options = as_on_a_device();
      options.own_kernels = device;
      TorchLearner learner(runs, *task, options);
      std::vector<float> row(static_cast<std::size_t>(learner.layout().width()));
      for (std::size_t run = 0; run < runs.size(); ++run) {
        learner.layout().initialise(run, row.data());
        learner.write_state(run, 0, row.data());
      }
      std::vector<RunSteps> out;
      learner.advance(0, 40, LiveRuns(runs.size(), 1), out);
      CHECK(out[0].reports.size() == 40);
      CHECK(out[1].reports.size() < 40);
      ends.push_back(learner.parameters().clone());
    }
    for (const std::int64_t run : {0, 2}) CHECK(apart(ends[0][run], ends[1][run]) < 1e-9);
  }
}

TEST_CASE("verify compares memories of many tokens, whose choices are near a tie whatever the seed, in smaller batches", "[torch]") {
  auto config = config_of_file("text.json");
  config.model.ffn = PkmConfig();
  VerifyRequest request;
  request.steps = 1;
  TorchOptions device;
  device.host_free = true;
  const auto result = verify_engines(config, request, &device);
  CHECK(result.steps == 1);
  CHECK(result.batch_size < config.train.batch_size);
  for (const auto& p : result.parameters) CHECK((p.gradient == 0 || p.gradient <= kVerifyLimit * p.gradient_unit));
}
