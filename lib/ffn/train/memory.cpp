#include "ffn/train/memory.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <string>

#include "ffn/config/accounting.hpp"

namespace ffn {

namespace {

constexpr double kFloat = 4, kToken = 8;

// Rows of state beside each parameter: first and second moments, or the velocity.
double state_rows(const SgdConfig&) { return 1; }
double state_rows(const LionConfig&) { return 1; }
double state_rows(const AdamFields&) { return 2; }
double state_rows(const MuonConfig&) { return 2; }

// Hidden units that one token passes in a block.
double hidden_units(const ModelConfig& model) {
  const FfnSize* size = size_of(model.ffn);
  if (!size) return 0;
  const auto* mixture = std::get_if<MoeConfig>(&model.ffn);
  auto units = static_cast<double>(size->hidden_width(model.d_model));
  if (const FormulaText* text = formula_of(model.ffn)) {  // what its products give is kept for the backward pass; F may play no part
    units = 0;
    for (const auto& node : graph_of(*text, model.d_model, *size).nodes) {
      if (node.op == FormulaOp::product) units += static_cast<double>(node.width);
    }
  }
  return units * static_cast<double>(mixture ? mixture->top_k : 1);
}

double hidden_units_of_all(const ModelConfig& model) {
  double units = 0;
  for (std::int64_t b = 0; b < model.blocks && model.differs_by_block(); ++b) units += hidden_units(model.of_block(b));
  return model.differs_by_block() ? units : static_cast<double>(model.blocks) * hidden_units(model);
}

// Infinite where it is not known: the allocation itself will fail.
double sum_of_meminfo(std::initializer_list<const char*> wanted) {
  double bytes = 0;
  std::ifstream meminfo("/proc/meminfo");
  std::string name, unit;
  for (double kib = 0; meminfo >> name >> kib && std::getline(meminfo, unit);) {
    if (std::find(wanted.begin(), wanted.end(), name) != wanted.end()) bytes += 1024 * kib;
  }
  return bytes > 0 ? bytes : std::numeric_limits<double>::infinity();
}

double limit_of_container() {
  double bytes = std::numeric_limits<double>::infinity();
  for (const char* file : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    double of_group = 0;
    if (std::ifstream(file) >> of_group && of_group > 0) bytes = std::min(bytes, of_group);  // "max" is no number
  }
  return bytes;
}

}  // namespace

LeastMemory least_memory(const RunConfig& config, const TaskShape& shape) {
  LeastMemory out;
  out.parameters = static_cast<double>(model_cost(config.model, shape).total.parameters);
  out.weights = kFloat * out.parameters * (2 + std::visit([](const auto& o) { return state_rows(o); }, config.train.optimizer));
  const auto length = static_cast<double>(shape.sequence_length), width = static_cast<double>(config.model.d_model);
  const double example = shape.tokens ? kToken * length : kFloat * static_cast<double>(shape.input_width);
  const double token = kFloat * (static_cast<double>(config.model.blocks) * width + hidden_units_of_all(config.model) +
                                 static_cast<double>(shape.num_classes));
  const auto examples = static_cast<double>(config.train.batch_size);
  out.step = examples * example + examples / static_cast<double>(config.train.accumulate) * length * token;
  out.validation = static_cast<double>(config.train.eval_examples.value_or(1)) * (example + kToken * length);
  return out;
}

double least_host_memory(const RunConfig& config, const TaskShape& shape) {
  const auto least = least_memory(config, shape);
  return least.weights - kFloat * least.parameters + least.validation;
}

double usable_memory() {
  double bytes = std::min(sum_of_meminfo({"MemTotal:", "SwapTotal:"}), limit_of_container());
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) bytes = std::min(bytes, static_cast<double>(limit.rlim_cur));
  return bytes;
}

double free_memory() { return std::min(sum_of_meminfo({"MemAvailable:"}), limit_of_container()); }

std::size_t affordable_workers(std::size_t cores, double least, double free) {
  if (!(least * static_cast<double>(cores) > free)) return cores;
  return std::max<std::size_t>(1, static_cast<std::size_t>(free / least));
}

}  // namespace ffn
