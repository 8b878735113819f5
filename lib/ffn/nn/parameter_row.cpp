#include "ffn/nn/parameter_row.hpp"

#include <cstring>

#include "ffn/core/error.hpp"
#include "ffn/core/random.hpp"

namespace ffn::nn {

namespace {

constexpr std::int64_t kAlignment = 16;  // floats: every parameter starts on a cache line of its row

std::int64_t padded(std::int64_t count) { return (count + kAlignment - 1) / kAlignment * kAlignment; }

std::int64_t product(const std::vector<std::int64_t>& shape) {
  std::int64_t n = 1;
  for (const auto size : shape) n *= size;
  return n;
}

// (module, dotted prefix) pairs, parents first, in registration order.
void collect(RunModule& module, const std::string& prefix, std::vector<std::pair<RunModule*, std::string>>& out) {
  out.emplace_back(&module, prefix);
  for (const auto& child : module.named_children()) {
    auto* run_module = dynamic_cast<RunModule*>(child.value().get());
    TORCH_CHECK(run_module, "module ", child.key(), " has no run axis");
    collect(*run_module, prefix + child.key() + ".", out);
  }
}

std::string expert_name(const std::string& name, std::int64_t e) {
  const std::string marker = "experts.";
  const auto at = name.find(marker);
  return name.substr(0, at + marker.size()) + std::to_string(e) + "." + name.substr(at + marker.size());
}

TensorData to_data(const std::string& name, const Tensor& tensor) {
  const Tensor t = tensor.detach().contiguous();
  TensorData data{name, t.scalar_type() == torch::kFloat64 ? DType::f64 : DType::f32, t.sizes().vec(), {}};
  data.bytes.assign(static_cast<const char*>(t.data_ptr()), static_cast<size_t>(t.numel()) * t.element_size());
  return data;
}

// The tensors of one entry of one run as a weight file holds them, as views of `value` (shape without run axis).
std::vector<std::pair<std::string, Tensor>> exported(const RowEntry& entry, const Tensor& value) {
  switch (entry.info.layout) {
    case Export::as_is:
      return {{entry.name, value}};
    case Export::linear:
      return {{entry.name, value.t()}};
    case Export::expert_bias:
    case Export::expert_linear: {
      std::vector<std::pair<std::string, Tensor>> out;
      for (std::int64_t e = 0; e < value.size(0); ++e) {
        const Tensor one = value[e];
        out.emplace_back(expert_name(entry.name, e), entry.info.layout == Export::expert_linear ? one.t() : one);
      }
      return out;
    }
  }
  return {};
}

}  // namespace

ParameterRow::ParameterRow(RunModule& module, torch::Dtype dtype) {
  std::vector<std::pair<RunModule*, std::string>> modules;
  collect(module, "", modules);
  std::int64_t width = 0;
  for (const auto& [owner, prefix] : modules) {
    for (const auto& p : owner->named_parameters(/*recurse=*/false)) {
      const auto shape = p.value().sizes().slice(1).vec();
      entries_.push_back({prefix + p.key(), width, product(shape), shape, owner->info(p.key())});
      width += padded(entries_.back().count);
    }
  }
  const auto options = torch::TensorOptions().dtype(dtype);
  values_ = torch::zeros({module.num_runs(), width}, options);
  gradients_ = torch::zeros({module.num_runs(), width}, options);

  torch::NoGradGuard no_grad;
  auto entry = entries_.begin();
  for (const auto& [owner, prefix] : modules) {
    for (auto& p : owner->named_parameters(/*recurse=*/false)) {
      Tensor place = view(values_, *entry);
      place.copy_(p.value());
      p.value().set_data(place);
      p.value().mutable_grad() = view(gradients_, *entry);
      ++entry;
    }
  }
}

Tensor ParameterRow::view(const Tensor& row, const RowEntry& entry) const {
  std::vector<std::int64_t> shape = entry.shape;
  shape.insert(shape.begin(), row.size(0));
  return row.narrow(1, entry.offset, entry.count).view(shape);
}

std::int64_t ParameterRow::num_parameters() const {
  std::int64_t n = 0;
  for (const auto& entry : entries_) n += entry.count;
  return n;
}

void ParameterRow::initialise(const std::vector<std::uint64_t>& seeds) {
  TORCH_CHECK(static_cast<std::int64_t>(seeds.size()) == num_runs(), seeds.size(), " seeds for ", num_runs(), " runs");
  for (std::int64_t r = 0; r < num_runs(); ++r) {
    for (const auto& entry : entries_) {
      RandomStream random(seeds[static_cast<size_t>(r)], name_hash(entry.name));
      const auto draw = [&]() -> double {
        switch (entry.info.init.kind) {
          case Init::Kind::uniform:
            return random.uniform(-entry.info.init.scale, entry.info.init.scale);
          case Init::Kind::normal:
            return entry.info.init.scale * random.normal();
          case Init::Kind::constant:
            break;
        }
        return entry.info.init.scale;
      };
      AT_DISPATCH_FLOATING_TYPES(values_.scalar_type(), "initialise", [&] {
        auto* row = values_.data_ptr<scalar_t>() + r * values_.size(1) + entry.offset;
        for (std::int64_t i = 0; i < entry.count; ++i) row[i] = static_cast<scalar_t>(draw());
      });
    }
  }
}

std::vector<TensorData> ParameterRow::export_run(std::int64_t r) const {
  std::vector<TensorData> out;
  for (const auto& entry : entries_) {
    for (const auto& [name, tensor] : exported(entry, view(values_, entry)[r])) out.push_back(to_data(name, tensor));
  }
  return out;
}

void ParameterRow::import_run(std::int64_t r, const std::vector<TensorData>& tensors) {
  const auto differences = tensor_differences(export_run(r), tensors);
  if (!differences.empty()) {
    std::string what = "the weights do not fit the model:";
    for (const auto& line : differences) what += "\n  " + line;
    throw CheckpointError(what, "use the config.json that stands beside the weights");
  }
  std::map<std::string, const TensorData*> by_name;
  for (const auto& tensor : tensors) by_name[tensor.name] = &tensor;
  torch::NoGradGuard no_grad;
  for (const auto& entry : entries_) {
    for (auto& [name, place] : exported(entry, view(values_, entry)[r])) {
      Tensor source = torch::empty(place.sizes(), place.options());
      std::memcpy(source.data_ptr(), by_name.at(name)->bytes.data(), by_name.at(name)->bytes.size());
      place.copy_(source);
    }
  }
}

}  // namespace ffn::nn
