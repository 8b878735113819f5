#include "ffn/layers/package_torch.hpp"

#include <functional>
#include <nlohmann/json.hpp>

#include "ffn/base/files.hpp"
#include "ffn/base/safetensors.hpp"
#include "ffn/config/metrics.hpp"
#include "ffn/config/run_config.hpp"
#include "ffn/layers/feed_forward_torch.hpp"
#include "ffn/layers/parameter_row_torch.hpp"

namespace ffn {

namespace {

constexpr char kSource[] = "the layer's config";

/// The FFN of a run's config, so that every rule of configs holds here, too.
ModelConfig read_model(std::int64_t d_model, const std::string& layer) {
  Document run = parse_document("{}", kSource, "");
  const Json ffn = parse_document(layer, kSource, "").tree();
  if (ffn.value(Json::json_pointer("/router/bias_step"), Json(0)) != 0)
    throw UsageError(std::string(kSource) + ": router.bias_step moves a bias after each step of ffn-train's own trainer",
                     "use balance_weight");
  run.tree()["model"] = {{"d_model", d_model}, {"ffn", ffn}};
  return read_run_config(run, kSource).model;
}

std::string with_kind(const std::string& layer, const char* kind) {
  Json config = parse_document(layer, kSource, "").tree();
  if (config.value("kind", Json(kind)) != kind)
    throw UsageError(std::string(kSource) + ": this class is of kind " + kind + ", not " + dump_json(config["kind"]),
                     "use FeedForward for any kind");
  config["kind"] = kind;
  return dump_json(config);
}

}  // namespace

struct FeedForwardImpl::Layer {
  Layer(std::int64_t d_model, const std::string& layer, std::uint64_t seed_)
      : model(read_model(d_model, layer)), seed(seed_), module(modules::make_ffn(1, d_model, model.ffn, 0)) {
    if (!module) throw UsageError(std::string(kSource) + ": kind none is not a layer", "name another kind");
    row = std::make_unique<modules::ParameterRow>(*module);
    row->initialise({seed});
    for (auto& p : module->parameters()) p.mutable_grad() = torch::Tensor();  // in place of views of the row's gradients
  }
  /// Each parameter with its place in the row, which `to(device)` leaves behind.
  void for_each(const std::function<void(torch::Tensor parameter, torch::Tensor place)>& visit) const {
    const torch::NoGradGuard no_grad;
    auto entry = row->entries().begin();
    for (const auto& p : module->parameters()) {
      visit(p, row->values().narrow(1, entry->offset, entry->count).view_as(p));
      ++entry;
    }
  }

  ModelConfig model;
  std::uint64_t seed;
  std::shared_ptr<modules::FeedForward> module;
  std::unique_ptr<modules::ParameterRow> row;
  std::int64_t calls = 0;  ///< in training: each has its own dropout masks
};

FeedForwardImpl::FeedForwardImpl(std::int64_t d_model, const std::string& config, std::uint64_t seed)
    : layer_(std::make_shared<Layer>(d_model, config, seed)) {
  for (const auto& p : layer_->module->named_parameters(/*recurse=*/false)) register_parameter(p.key(), p.value());
  for (const auto& child : layer_->module->named_children()) register_module(child.key(), child.value());
}

torch::Tensor FeedForwardImpl::forward(const torch::Tensor& x) { return forward_with_loss(x).first; }

std::pair<torch::Tensor, torch::Tensor> FeedForwardImpl::forward_with_loss(const torch::Tensor& x) {
  const auto d_model = layer_->model.d_model;
  TORCH_CHECK(x.dim() >= 2 && x.size(-1) == d_model, "the input has to be (B, T, ", d_model, ") or (N, ", d_model, "), and is ", x.sizes());
  modules::ForwardContext context;
  if (is_training()) {
    const FfnSize* size = size_of(layer_->model.ffn);
    context = modules::training_context({size ? size->dropout : 0}, {layer_->seed}, layer_->calls++);
    for (auto* facts : {&context.step_number, &context.seeds, &context.rates})
      if (facts->defined()) *facts = facts->to(x.device());
  }
  context.sequence_length = x.dim() > 2 ? x.size(-2) : 1;
  const auto out = layer_->module->forward(x.reshape({1, -1, d_model}), context);
  torch::Tensor loss = torch::zeros({}, x.options());
  const auto losses = auxiliary_losses(layer_->model);
  for (std::size_t i = 0; i < out.auxiliary.size(); ++i)
    if (losses[i].weight > 0) loss = loss + losses[i].weight * out.auxiliary[i].sum();
  return {out.y.view_as(x), loss};
}

void FeedForwardImpl::load(const std::string& path, const std::string& prefix) {
  std::vector<TensorData> tensors;
  for (auto& tensor : read_safetensors(path).tensors) {
    if (tensor.name.rfind(prefix, 0) != 0) continue;
    tensor.name.erase(0, prefix.size());
    tensors.push_back(std::move(tensor));
  }
  layer_->row->import_run(0, tensors);
  layer_->for_each([](torch::Tensor parameter, const torch::Tensor& place) { parameter.copy_(place); });
}

void FeedForwardImpl::save(const std::string& path, const std::string& prefix) const {
  layer_->for_each([](const torch::Tensor& parameter, torch::Tensor place) { place.copy_(parameter); });
  TensorFile file{layer_->row->export_run(0), {{"format", "pt"}}};
  for (auto& tensor : file.tensors) tensor.name = prefix + tensor.name;
  add_checksum(file);
  write_file_atomically(path, safetensors_bytes(file));
}

PositionwiseFeedForwardImpl::PositionwiseFeedForwardImpl(std::int64_t d_model, const std::string& config, std::uint64_t seed)
    : FeedForwardImpl(d_model, with_kind(config, PositionwiseConfig::kKind), seed) {}
GatedFeedForwardImpl::GatedFeedForwardImpl(std::int64_t d_model, const std::string& config, std::uint64_t seed)
    : FeedForwardImpl(d_model, with_kind(config, GatedConfig::kKind), seed) {}
MoEImpl::MoEImpl(std::int64_t d_model, const std::string& config, std::uint64_t seed)
    : FeedForwardImpl(d_model, with_kind(config, MoeConfig::kKind), seed) {}
FormulaImpl::FormulaImpl(std::int64_t d_model, const std::string& config, std::uint64_t seed)
    : FeedForwardImpl(d_model, with_kind(config, FormulaConfig::kKind), seed) {}

}  // namespace ffn
