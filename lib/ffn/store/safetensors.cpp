// Writes safetensors.
#include "ffn/store/safetensors.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "ffn/base/checksum.hpp"
#include "ffn/base/error.hpp"
#include "ffn/base/json.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/base/utf8.hpp"
#include "ffn/store/safetensors_checksum.hpp"
#include "ffn/store/text.hpp"

namespace ffn {
namespace {

using record_detail::kMetadata;
using record_detail::shown;

/// Place in the reference writer's order, whose enum of dtypes is sorted by alignment: tensor.rs, `enum Dtype`.
int alignment_rank(DType dtype) {
  switch (dtype) {
    case DType::i64:
      return 0;
    case DType::f64:
      return 1;
    case DType::f32:
      return 2;
    case DType::i32:
      return 3;
    case DType::u8:
      return 4;
  }
  return 5;
}

std::string quoted(const std::string& text) { return dump_json(text); }

void check_writable(const TensorFile& file) {
  std::vector<std::string> problems;
  std::set<std::string> names;
  for (const auto& tensor : file.tensors) {
    const std::string name = "tensor " + shown(tensor.name);
    if (tensor.name == kMetadata) problems.push_back(name + ": the name is reserved");
    if (first_invalid_utf8(tensor.name)) problems.push_back(name + ": the name is not valid UTF-8");
    if (!names.insert(tensor.name).second) problems.push_back(name + " stands here twice");
    const auto expected = tensor_bytes(tensor.dtype, tensor.shape);
    if (!expected || static_cast<std::uint64_t>(*expected) != tensor.bytes.size()) {
      problems.push_back(name + ": " + dtype_name(tensor.dtype) + " " + shape_text(tensor.shape) + " needs " +
                         (expected ? std::to_string(*expected) : "too many") + " bytes, got " + std::to_string(tensor.bytes.size()));
    }
  }
  for (const auto& [key, value] : file.metadata) {
    if (first_invalid_utf8(key) || first_invalid_utf8(value)) problems.push_back("metadata " + shown(key) + " is not valid UTF-8");
  }
  if (!problems.empty()) throw CheckpointError(record_detail::problem_list("cannot write these tensors", problems));
}

std::string header_text(const std::vector<const TensorData*>& tensors, const std::map<std::string, std::string>& metadata) {
  std::vector<std::string> entries;
  if (!metadata.empty()) {
    std::vector<std::string> pairs;
    for (const auto& [key, value] : metadata) pairs.push_back(quoted(key) + ":" + quoted(value));
    entries.push_back(quoted(kMetadata) + ":{" + join(pairs, ",") + "}");
  }
  std::size_t begin = 0;
  for (const auto* tensor : tensors) {
    const std::size_t end = begin + tensor->bytes.size();
    entries.push_back(quoted(tensor->name) + ":{\"dtype\":\"" + dtype_name(tensor->dtype) + "\",\"shape\":" + dump_json(tensor->shape) +
                      ",\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(end) + "]}");
    begin = end;
  }
  std::string header = "{" + join(entries, ",") + "}";
  header.append((8 - header.size() % 8) % 8, ' ');  // the data that follows is aligned for a reader that maps the file
  return header;
}

}  // namespace

namespace record_detail {

std::string content_checksum(const TensorFile& file) {
  Checksum sum;
  const auto add = [&](const std::string& text) { sum.add(text.c_str(), text.size() + 1); };  // the 0 ends it
  for (const auto& [key, value] : file.metadata) {
    if (key != kChecksum) {
      add(key);
      add(value);
    }
  }
  std::map<std::string, const TensorData*> by_name;
  for (const auto& tensor : file.tensors) by_name[tensor.name] = &tensor;
  for (const auto& [name, tensor] : by_name) {
    add(name + " " + dtype_name(tensor->dtype) + " " + shape_text(tensor->shape));
    sum.add(tensor->bytes);
  }
  return sum.text();
}

}  // namespace record_detail

void add_checksum(TensorFile& file) { file.metadata[record_detail::kChecksum] = record_detail::content_checksum(file); }
bool has_checksum(const TensorFile& file) { return file.metadata.count(record_detail::kChecksum) > 0; }

std::string safetensors_bytes(const TensorFile& file) {
  check_writable(file);
  std::vector<const TensorData*> tensors;
  for (const auto& tensor : file.tensors) tensors.push_back(&tensor);
  std::sort(tensors.begin(), tensors.end(), [](const TensorData* a, const TensorData* b) {
    const int left = alignment_rank(a->dtype), right = alignment_rank(b->dtype);
    return left != right ? left < right : a->name < b->name;
  });
  const std::string header = header_text(tensors, file.metadata);
  std::string bytes;
  for (std::size_t i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(header.size() >> 8 * i & 0xFF));
  bytes += header;
  for (const auto* tensor : tensors) bytes += tensor->bytes;
  return bytes;
}

}  // namespace ffn
