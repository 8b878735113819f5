#include "ffn/layers/parameter_row_torch.hpp"

namespace ffn::modules {

namespace {

// (module, dotted prefix) pairs, parents first, in registration order.
void collect(RunModule& module, const std::string& prefix, std::vector<std::pair<RunModule*, std::string>>& out) {
  out.emplace_back(&module, prefix);
  for (const auto& child : module.named_children()) {
    auto* run_module = dynamic_cast<RunModule*>(child.value().get());
    TORCH_CHECK(run_module, "module ", child.key(), " has no run axis");
    collect(*run_module, prefix + child.key() + ".", out);
  }
}

}  // namespace

ParameterRow::ParameterRow(RunModule& module, const torch::TensorOptions& options) {
  std::vector<std::pair<RunModule*, std::string>> modules;
  collect(module, "", modules);
  for (const auto& [owner, prefix] : modules) {
    for (const auto& p : owner->named_parameters(/*recurse=*/false)) {
      ParameterSpec spec = owner->spec(p.key());
      spec.name = prefix + spec.name;
      layout_.add(std::move(spec));
    }
  }
  values_ = torch::zeros({module.num_runs(), layout_.width()}, options);
  gradients_ = torch::zeros({module.num_runs(), layout_.width()}, options);

  torch::NoGradGuard no_grad;
  auto entry = entries().begin();
  for (const auto& [owner, prefix] : modules) {
    for (auto& p : owner->named_parameters(/*recurse=*/false)) {
      Tensor place = view(values_, *entry);
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

void ParameterRow::initialise(const std::vector<std::uint64_t>& seeds) {
  TORCH_CHECK(static_cast<std::int64_t>(seeds.size()) == num_runs(), seeds.size(), " seeds for ", num_runs(), " runs");
  AT_DISPATCH_FLOATING_TYPES(values_.scalar_type(), "initialise", [&] {
    for (std::size_t r = 0; r < seeds.size(); ++r)
      layout_.initialise(seeds[r], values_.data_ptr<scalar_t>() + static_cast<std::int64_t>(r) * layout_.width());
  });
}

std::vector<TensorData> ParameterRow::export_run(std::int64_t r) const {
  if (values_.scalar_type() == torch::kFloat64) return layout_.export_row(values_.data_ptr<double>() + r * layout_.width());
  return layout_.export_row(values_.data_ptr<float>() + r * layout_.width());
}

void ParameterRow::import_run(std::int64_t r, const std::vector<TensorData>& tensors) {
  if (values_.scalar_type() == torch::kFloat64) layout_.import_row(values_.data_ptr<double>() + r * layout_.width(), tensors);
  else layout_.import_row(values_.data_ptr<float>() + r * layout_.width(), tensors);
}

}  // namespace ffn::modules
