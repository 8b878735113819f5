#include "ffn/base/tensor_data.hpp"

namespace ffn {

const char* dtype_name(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "F32";
    case DType::f64:
      return "F64";
    case DType::i32:
      return "I32";
    case DType::i64:
      return "I64";
    case DType::u8:
      return "U8";
  }
  return "?";
}

std::optional<std::int64_t> tensor_bytes(DType dtype, const std::vector<std::int64_t>& shape) {
  auto bytes = static_cast<std::int64_t>(dtype_size(dtype));
  for (const std::int64_t dimension : shape) {
    if (dimension < 0 || __builtin_mul_overflow(bytes, dimension, &bytes)) return std::nullopt;
  }
  return bytes;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string out = "[";
  for (const std::int64_t dimension : shape) out += (out.size() > 1 ? ", " : "") + std::to_string(dimension);
  return out + "]";
}

static std::string described(const TensorData& tensor) {
  return tensor.name + " " + dtype_name(tensor.dtype) + " " + shape_text(tensor.shape);
}

std::vector<std::string> tensor_differences(const std::vector<TensorData>& expected, const std::vector<TensorData>& found) {
  std::map<std::string, const TensorData*> left;
  for (const auto& tensor : found) left[tensor.name] = &tensor;

  std::vector<std::string> lines;
  for (const auto& wanted : expected) {
    const auto at = left.find(wanted.name);
    if (at == left.end()) {
      lines.push_back("missing: " + described(wanted));
      continue;
    }
    const TensorData& got = *at->second;
    left.erase(at);
    if (got.shape != wanted.shape) {
      lines.push_back(wanted.name + ": expected shape " + shape_text(wanted.shape) + ", found " + shape_text(got.shape));
    }
    if (got.dtype != wanted.dtype) {
      lines.push_back(wanted.name + ": expected dtype " + dtype_name(wanted.dtype) + ", found " + dtype_name(got.dtype));
    }
  }
  for (const auto& tensor : found) {  // in the order of the file, not of the map
    if (left.count(tensor.name)) lines.push_back("unexpected: " + described(tensor));
  }
  return lines;
}

}  // namespace ffn
