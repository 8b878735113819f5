// Config → task. A kind without an overload does not compile.
#include <algorithm>
#include <numeric>

#include "ffn/base/error.hpp"
#include "ffn/base/text.hpp"
#include "ffn/data/ceiling.hpp"
#include "ffn/data/facts.hpp"
#include "ffn/data/function.hpp"
#include "ffn/data/images.hpp"
#include "ffn/data/sequence.hpp"
#include "ffn/data/sequence_xor.hpp"
#include "ffn/data/table.hpp"
#include "ffn/data/table_summary.hpp"
#include "ffn/data/text.hpp"
#include "ffn/data/xor.hpp"

namespace ffn {

namespace {

struct Build {
  const std::vector<DataSeeds>& seeds;
  std::unique_ptr<Task> operator()(const XorConfig& c) const { return std::make_unique<XorTask>(c, seeds); }
  std::unique_ptr<Task> operator()(const SequenceXorConfig& c) const { return std::make_unique<SequenceXorTask>(c, seeds); }
  std::unique_ptr<Task> operator()(const TextConfig& c) const { return std::make_unique<TextTask>(c, seeds); }
  std::unique_ptr<Task> operator()(const FunctionConfig& c) const { return std::make_unique<FunctionTask>(c, seeds); }
  std::unique_ptr<Task> operator()(const TableConfig& c) const { return std::make_unique<TableTask>(c, seeds); }
  std::unique_ptr<Task> operator()(const ImagesConfig& c) const { return std::make_unique<ImagesTask>(c, seeds); }
  std::unique_ptr<Task> operator()(const SequenceConfig& c) const { return std::make_unique<SequenceTask>(c, seeds); }
  std::unique_ptr<Task> operator()(const FactsConfig& c) const { return std::make_unique<FactsTask>(c, seeds); }
};

}  // namespace

TaskShape task_shape(const TaskConfig& config) {
  return std::visit([](const auto& c) { return shape_of(c); }, config);
}

namespace {

using Metadata = std::map<std::string, std::string>;

TaskShape trained(const TextConfig& c, const Metadata& metadata) {
  const auto characters = static_cast<std::int64_t>(alphabet_of(metadata).size());
  return {true, characters, c.context, characters};
}

TaskShape trained(const TableConfig&, const Metadata& metadata) { return trained_table(metadata).shape(); }
TaskShape trained(const ImagesConfig&, const Metadata& metadata) { return trained_images_shape(metadata); }

// A task whose shape is in its data has an overload of its own.
template <class Config>
TaskShape trained(const Config& c, const Metadata&) {
  return shape_of(c);
}

}  // namespace

TaskShape trained_shape(const TaskConfig& config, const Metadata& metadata) {
  return std::visit([&](const auto& c) { return trained(c, metadata); }, config);
}

bool has_bytes_alphabet(const Metadata& metadata) {
  const auto found = metadata.find("alphabet");
  return found != metadata.end() && found->second == kBytesAlphabet;
}

std::vector<std::uint32_t> alphabet_of(const Metadata& metadata) {
  const auto found = metadata.find("alphabet");
  if (found == metadata.end()) throw CheckpointError("the weights name no alphabet; they are not from a text task");
  if (!has_bytes_alphabet(metadata)) return decode_utf8(found->second);
  std::vector<std::uint32_t> bytes(256);
  std::iota(bytes.begin(), bytes.end(), 0u);
  return bytes;
}

std::string describe_data(const TaskConfig& config) {
  if (const auto* images = std::get_if<ImagesConfig>(&config)) return describe_images(*read_images(images->directory), *images);
  const auto* function = std::get_if<FunctionConfig>(&config);
  if (const std::string targets = function ? describe_targets(*function) : ""; !targets.empty()) return targets;
  const auto* table = std::get_if<TableConfig>(&config);
  return table ? describe_table(*read_table(*table), *table) : known_ceiling(config);
}

std::optional<std::int64_t> distinct_inputs(const TaskConfig& config) {
  if (const auto* function = std::get_if<FunctionConfig>(&config))
    return function->jitter == 0 ? function_task(*function).patterns() : std::nullopt;
  const auto* bits = std::get_if<XorConfig>(&config);
  return bits && bits->jitter == 0 ? std::optional<std::int64_t>(std::int64_t{1} << std::min<std::int64_t>(bits->bits, 62)) : std::nullopt;
}

bool all_bits(const TaskConfig& config) {
  const auto* function = std::get_if<FunctionConfig>(&config);
  if (!function) return std::holds_alternative<XorConfig>(config);
  const auto inputs = function_task(*function).inputs;
  return function->features.empty() &&
         std::all_of(inputs.begin(), inputs.end(), [](const FunctionInput& input) { return input.kind == FunctionInput::Kind::bit; });
}

std::unique_ptr<Task> make_task(const TaskConfig& config, const std::vector<DataSeeds>& seeds) { return std::visit(Build{seeds}, config); }

}  // namespace ffn
