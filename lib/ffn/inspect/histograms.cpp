#include "ffn/inspect/histograms.hpp"

#include <algorithm>
#include <cstring>

#include "ffn/base/safetensors.hpp"
#include "ffn/inspect/inspection.hpp"
#include "ffn/store/event_records.hpp"
#include "ffn/store/run_check.hpp"
#include "ffn/store/run_directory.hpp"
#include "ffn/train/trained.hpp"

namespace ffn::exports {

namespace {

constexpr std::int64_t kMostTokens = 4096;  // enough for forty bins

std::vector<double> numbers_of(const TensorData& tensor) {
  const std::size_t width = dtype_size(tensor.dtype);
  std::vector<double> out(tensor.bytes.size() / width);
  for (std::size_t i = 0; i < out.size(); ++i) {
    float single = 0;
    if (tensor.dtype == DType::f64) std::memcpy(&out[i], &tensor.bytes[i * width], width);
    else {
      std::memcpy(&single, &tensor.bytes[i * width], sizeof single);
      out[i] = single;
    }
  }
  return out;
}

std::vector<double> doubles(const std::vector<float>& values) { return {values.begin(), values.end()}; }

std::string activation_events(const FoundRun& run, const TensorFile& weights, double wall_time) {
  const RunDirectory directory(run.path);
  const auto config = config_of(read_record(run.path).value(), directory);
  inspect::TrainedNetwork trained(config, weights);
  const auto most = std::min(kMostTokens, inspect::most_tokens(config, trained_shape(config.task, weights.metadata)));
  const auto blocks = inspect::capture(trained.model(), trained.network(), trained.row(), inspect::training_inputs(config, weights, most));
  std::string events;
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    const auto& parts = blocks[block].hidden;
    for (std::size_t part = 0; part < parts.size(); ++part) {
      const std::string layer = "block" + std::to_string(block) + (parts.size() > 1 ? ".expert" + std::to_string(part) : "");
      if (!parts[part].pre_activation.empty())
        events += histogram_event(wall_time, run.summary->steps, "pre_activation/" + layer, doubles(parts[part].pre_activation));
      events += histogram_event(wall_time, run.summary->steps, "hidden/" + layer, doubles(parts[part].hidden));
    }
  }
  return events;
}

}  // namespace

Histograms histograms_of(const FoundRun& run, double wall_time) {
  Histograms out;
  try {
    require_trained(RunDirectory(run.path), RunDirectory(run.path).weights_path());
  } catch (const DataError& error) {
    out.note = std::string("no histograms: ") + error.what();
    return out;
  }
  const auto weights = read_safetensors(RunDirectory(run.path).weights_path());
  for (const auto& tensor : weights.tensors) {
    if (tensor.dtype == DType::f32 || tensor.dtype == DType::f64)
      out.events += histogram_event(wall_time, run.summary->steps, "weights/" + tensor.name, numbers_of(tensor));
  }
  try {
    out.events += activation_events(run, weights, wall_time);
  } catch (const Error& error) {
    out.note = std::string("no histograms of activations: ") + error.what();
  }
  return out;
}

}  // namespace ffn::exports
